//! Job control: whose turn it is at the terminal, and who could continue a stopped program.

use std::io;

use rustix::termios::tcgetpgrp;

/// Returns whether this program may use the terminal: no shell has put it into the background.
pub(super) fn is_foreground() -> bool {
    // A terminal that controls nobody is everybody's.
    let Ok(group) = tcgetpgrp(io::stdin()) else {
        return true;
    };
    ids::is_own_group(group)
}

/// The script that starts a program may itself be started by others, so far up at most.
const DEEPEST: usize = 16;

/// Returns whether a shell is there that could continue this program once it is stopped. The
/// system asks the same before it lets a terminal stop a program.
pub(crate) fn can_be_continued() -> bool {
    let Some(own) = ids::own() else { return false };
    let mut below = own;
    for _ in 0..DEEPEST {
        match ids::of_parent(&below) {
            Some(above) if above.session != own.session => return false,
            Some(above) if above.group != own.group => return true,
            Some(above) => below = above,
            None => return false,
        }
    }
    false
}

/// A process as job control sees it.
#[derive(Clone, Copy)]
struct JobIds {
    /// Zero if it is outside of this container, as are the others.
    parent: i32,
    group: i32,
    session: i32,
}

/// Linux names processes by several numbers, one in each container around them. A group or a
/// session that began outside has none inside, which the system calls return as zero and rustix
/// takes for a fault. All numbers here are of one file system, so that they can be compared.
#[cfg(target_os = "linux")]
mod ids {
    use std::fs;

    use rustix::process::Pid;

    use super::JobIds;

    /// Returns whether the group in the foreground is this process's.
    pub(super) fn is_own_group(_: Pid) -> bool {
        // The number of the call is this container's, that of the file may be another's.
        let Some(fields) = fields("self") else {
            return true;
        };
        fields[GROUP] == fields[FOREGROUND]
    }

    pub(super) fn own() -> Option<JobIds> {
        fields("self").map(ids)
    }

    pub(super) fn of_parent(child: &JobIds) -> Option<JobIds> {
        let known = child.parent > 0;
        known.then(|| fields(&child.parent.to_string()).map(ids))?
    }

    /// The numbers behind the state in `/proc/PID/stat` (proc_pid_stat(5)): the parent, the group,
    /// the session, the terminal and the group in its foreground.
    type StatFields = [i32; 5];
    const GROUP: usize = 1;
    const FOREGROUND: usize = 4;

    fn ids([parent, group, session, ..]: StatFields) -> JobIds {
        JobIds {
            parent,
            group,
            session,
        }
    }

    fn fields(pid: &str) -> Option<StatFields> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // A process may give itself any bytes as its name.
        parse(&String::from_utf8_lossy(&stat))
    }

    fn parse(stat: &str) -> Option<StatFields> {
        // After the name, which may hold anything: the state, then the numbers.
        let (_, rest) = stat.rsplit_once(')')?;
        let numbers = rest.split_whitespace().skip(1).take(5);
        let numbers: Vec<i32> = numbers.map_while(|n| n.parse().ok()).collect();
        numbers.try_into().ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod ids {
    use rustix::process::{Pid, getpgid, getpgrp, getppid, getsid};

    use super::JobIds;

    pub(super) fn is_own_group(group: Pid) -> bool {
        group == getpgrp()
    }

    pub(super) fn own() -> Option<JobIds> {
        let ids = of(None)?;
        let parent = getppid().map_or(0, raw);
        Some(JobIds { parent, ..ids })
    }

    pub(super) fn of_parent(child: &JobIds) -> Option<JobIds> {
        of(Some(Pid::from_raw(child.parent)?))
    }

    /// Other systems do not say who a process's parent is: here it is the session's leader, a
    /// shell if there is one.
    fn of(pid: Option<Pid>) -> Option<JobIds> {
        let session = raw(getsid(pid).ok()?);
        Some(JobIds {
            parent: session,
            group: raw(getpgid(pid).ok()?),
            session,
        })
    }

    fn raw(pid: Pid) -> i32 {
        pid.as_raw_nonzero().get()
    }
}
