//! The console and command line of Divisi.
//!
//! `cli` is what is said on the command line, `console` the screen, `linear` the same
//! as lines, `config` what can be configured. They ask the engine library and hold none
//! of its decisions.

#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod console;
pub mod linear;
mod replace;
