//! The desktop's file dialog, in a child process that may hang, die or be killed.

use std::env;
use std::ffi::OsString;
use std::future::{Future, pending};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Output, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use crate::files::FilePick;
use crate::model::ConsoleEvent;

type PendingPick = Pin<Box<dyn Future<Output = ConsoleEvent> + Send>>;

/// The child, if there is one.
#[derive(Default)]
pub struct Native {
    running: Option<(ProcessGroup, PendingPick)>,
}

impl Native {
    /// Starts this program's dialog, replacing one that is still open.
    pub fn ask(&mut self, pick: &FilePick) {
        match env::current_exe() {
            Ok(program) => self.ask_program(&program, pick),
            Err(e) => self.fail(format!("cannot find this program's file: {e}")),
        }
    }

    /// Starts `program` as the dialog. It prints the chosen path, or nothing.
    pub fn ask_program(&mut self, program: &Path, pick: &FilePick) {
        self.stop();
        match start(program, pick) {
            Ok(running) => self.running = Some(running),
            Err(e) => self.fail(format!("cannot start it: {e}")),
        }
    }

    fn fail(&mut self, why: String) {
        let answer = Box::pin(async move { ConsoleEvent::Picked(Err(dialog_failed(&why))) });
        self.running = Some((ProcessGroup(None), answer));
    }

    /// Closes the dialog.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Waits for the answer, or for ever without a dialog. The wait can be cancelled and repeated
    /// without a loss.
    pub async fn answer(&mut self) -> ConsoleEvent {
        let Some((_, answer)) = &mut self.running else {
            return pending().await;
        };
        let event = answer.await;
        self.running = None;
        event
    }
}

/// The child's process group, killed with all processes that the child started.
struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // The group may have ended already.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

fn start(program: &Path, pick: &FilePick) -> std::io::Result<(ProcessGroup, PendingPick)> {
    let child = Command::new(program)
        .arg("__pick")
        .arg(if pick.save { "--save" } else { "--open" })
        .arg("--")
        .arg(&pick.folder)
        .arg(&pick.name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    let group = ProcessGroup(pid.and_then(Pid::from_raw));
    let answer = async move {
        let output = child.wait_with_output().await;
        let output = output.map_err(|e| dialog_failed(&e.to_string()));
        ConsoleEvent::Picked(output.and_then(chosen))
    };
    Ok((group, Box::pin(answer)))
}

fn dialog_failed(why: &str) -> String {
    format!("the desktop's dialog failed: {why}; choose here instead")
}

fn chosen(output: Output) -> Result<Option<PathBuf>, String> {
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|l| !l.trim().is_empty());
        let said = last.map_or(output.status.to_string(), str::to_owned);
        return Err(dialog_failed(&said));
    }
    let path = output.stdout;
    Ok((!path.is_empty()).then(|| PathBuf::from(OsString::from_vec(path))))
}
