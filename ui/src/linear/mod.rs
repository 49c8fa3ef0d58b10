//! Linear mode: what changes as lines, for screen readers and logs, and commands as
//! lines. No screen and no escape codes.
//!
//! `watch` turns snapshots into lines; `desk` answers lines by the table of commands.
//! Only `run` knows time, standard input and output.

mod desk;
mod run;
mod watch;

pub use desk::{LineAnswer, LineDesk};
pub use run::run;
pub use watch::Watcher;
