//! Job control: whose turn it is at the terminal, and who could continue a stopped program.

use std::io;

use rustix::process::{Pid, getpgid, getpgrp, getppid, getsid};
use rustix::termios::tcgetpgrp;

/// Returns whether this program may use the terminal: no shell has put it into the background.
pub(super) fn is_foreground() -> bool {
    // A terminal that controls nobody is everybody's.
    tcgetpgrp(io::stdin()).map_or(true, |group| group == getpgrp())
}

/// The script that starts a program may itself be started by others, so far up at most.
const DEEPEST: usize = 16;

/// Returns whether a shell is there that could continue this program once it is stopped. The
/// system asks the same before it lets a terminal stop a program.
pub(crate) fn can_be_continued() -> bool {
    let (group, session) = (getpgrp(), getsid(None).ok());
    let mut ancestor = getppid();
    for _ in 0..DEEPEST {
        let Some(pid) = ancestor else { return false };
        if getsid(Some(pid)).ok() != session {
            return false;
        }
        match getpgid(Some(pid)) {
            Ok(found) if found != group => return true,
            Ok(_) => ancestor = parent(pid),
            Err(_) => return false,
        }
    }
    false
}

/// Returns the parent of another process.
#[cfg(target_os = "linux")]
fn parent(pid: Pid) -> Option<Pid> {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let stat = std::fs::read_to_string(path).ok()?;
    // After the name, which may hold anything: the state, then the parent.
    let (_, rest) = stat.rsplit_once(')')?;
    let parent = rest.split_whitespace().nth(1)?;
    Pid::from_raw(parent.parse().ok()?)
}

/// Returns the leader of the session, which is a shell where there is one: other systems do not
/// say who a process's parent is.
#[cfg(not(target_os = "linux"))]
fn parent(_: Pid) -> Option<Pid> {
    getsid(None).ok()
}
