//! The console and command line of Divisi.
//!
//! `cli` is what is said on the command line, `console` the screen. Both ask the
//! engine library and hold none of its decisions.

pub mod cli;
pub mod console;
