//! The engine of a console that goes on in the background.
//!
//! The console runs in a child of a thin parent. When it hands its engine over, the
//! parent ends, so that the shell has its prompt; the child, the same process that
//! served before, leaves the terminal and serves at its socket.

mod detach;
mod parent;

pub use detach::go_on;
pub use parent::{parent, run_in_child};

/// Tells a child whose it is.
const OF: &str = "DIVISI_CONSOLE_OF";
