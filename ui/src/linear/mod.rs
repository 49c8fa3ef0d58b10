//! Linear mode: what changes as lines, for screen readers and logs, and commands as
//! lines. No screen and no escape codes.
//!
//! `watch` turns snapshots into lines, `parse` lines into [`ask::Ask`]s, `desk` does
//! those. Only `run` knows time, standard input and output.

mod ask;
mod desk;
mod parse;
mod run;
mod watch;
pub mod words;

pub use ask::{Ask, COMMANDS};
pub use desk::LineDesk;
pub use run::run;
pub use watch::Watcher;
