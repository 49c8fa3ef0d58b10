//! The console and command line of Divisi.

pub mod cli;
pub mod console;
