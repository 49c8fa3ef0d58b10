//! From a console to a server: the same process, without its terminal.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::{Context, Result};
use divisi::session::remote::{BoundSocket, Hub};
use rustix::process::{Pid, Signal, kill_process, setsid};

use crate::cli::serve::log_to_stderr;
use crate::cli::signals;
use crate::cli::start::OwnSession;

/// Serves `session` at `door` in the background until it is stopped. `parent` waits for
/// this process, where there is one.
pub fn go_on(session: OwnSession, door: BoundSocket, parent: Option<Pid>) -> Result<()> {
    let name = door.name().to_string();
    let hub = Hub::start(Box::new(session), door, log_to_stderr())?;
    signals::on_stop(hub.stopper());
    let text = format!(
        "divisi: `{name}` goes on serving in the background\n  \
         divisi attach {name}    joins it\n  divisi stop {name}      ends it\n"
    );
    let _ = io::stdout().write_all(text.as_bytes());
    leave_terminal(&name, parent).context("cannot leave the terminal")?;
    hub.join();
    Ok(())
}

/// Leaves terminal and parent, which gives the shell its prompt.
fn leave_terminal(name: &str, parent: Option<Pid>) -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(None)?;
    // Without a parent the terminal is gone already, and there may be no session to leave.
    if parent.is_some() {
        setsid()?;
    }
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let log = log_file(name);
    let out = log.as_ref().unwrap_or(&null);
    rustix::stdio::dup2_stdin(&null)?;
    // What a terminal that went away did not take any more is no line of the log.
    rustix::stdio::dup2_stdout(&null)?;
    let _ = io::stdout().flush();
    rustix::stdio::dup2_stdout(out)?;
    rustix::stdio::dup2_stderr(out)?;
    if let Some(parent) = parent {
        kill_process(parent, Signal::USR1)?;
    }
    Ok(())
}

/// Where its log goes, if it can be written anywhere.
fn log_file(name: &str) -> Option<File> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    let folder = state.filter(|s| s.is_absolute()).or_else(home)?;
    let folder = folder.join("divisi");
    let made = DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&folder);
    made.ok()?;
    let mut file = OpenOptions::new();
    let file = file.create(true).append(true).mode(0o600);
    file.open(folder.join(format!("{name}.log"))).ok()
}
