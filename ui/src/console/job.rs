//! Job control: the program in the terminal's foreground, and the shells that could continue a
//! stopped program.

use std::io;

use rustix::termios::tcgetpgrp;

/// Returns whether this program may use the terminal: no shell has put it into the background.
pub(super) fn is_foreground() -> bool {
    // A terminal without a foreground group is free to use.
    let Ok(group) = tcgetpgrp(io::stdin()) else {
        return true;
    };
    ids::is_own_group(group)
}

/// The limit of ancestors to check: a script may be started by other scripts.
const DEEPEST: usize = 16;

/// Returns whether a shell could continue this program after a stop. The system makes the same
/// check before a terminal may stop a program.
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

/// A process in job control.
#[derive(Clone, Copy)]
struct JobIds {
    /// The parent, or zero if it is outside of this container, like the other fields.
    parent: i32,
    group: i32,
    session: i32,
}

/// A process has a number in each container around it. A group or session from outside has none
/// inside: system calls return zero, which rustix treats as an error. All numbers here come from
/// one file system, so that they can be compared.
#[cfg(target_os = "linux")]
mod ids {
    use std::fs;

    use rustix::process::Pid;

    use super::JobIds;

    /// Returns whether the foreground group is this process's.
    pub(super) fn is_own_group(_: Pid) -> bool {
        // The number from the system call is this container's; the file's may be another
        // container's.
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

    /// The numbers after the state in `/proc/PID/stat` (proc_pid_stat(5)): the parent, the group,
    /// the session, the terminal and its foreground group.
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
        // A process name may contain any bytes.
        parse(&String::from_utf8_lossy(&stat))
    }

    fn parse(stat: &str) -> Option<StatFields> {
        // The name may contain anything, so parsing starts after it: the state, then the numbers.
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

    /// Other systems do not report a process's parent. The session's leader, usually a shell,
    /// replaces it.
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
