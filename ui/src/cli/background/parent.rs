//! The thin parent: it waits, passes signals on and gives the child's exit code.

use std::process::Command;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};

use super::OF;

/// The thin parent, where this process is such a child; its death ends this process.
pub fn parent() -> Option<Pid> {
    let told = std::env::var(OF).ok()?.parse::<i32>().ok()?;
    let parent = getppid().filter(|pid| pid.as_raw_nonzero().get() == told)?;
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    Some(parent)
}

/// Runs this program again as a child and gives its exit code; none where that cannot
/// be, and the console has to run here.
pub fn run_in_child() -> Option<i32> {
    let program = std::env::current_exe().ok()?;
    let child = Arc::new(Mutex::new(None));
    // Whoever gets a signal before there is a child waits for it.
    let mut slot = child.lock().unwrap_or_else(PoisonError::into_inner);
    pass_signals_on(&child)?;
    let spawned = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(OF, std::process::id().to_string())
        .spawn()
        .ok()?;
    let pid = Pid::from_child(&spawned);
    *slot = Some(pid);
    drop(slot);
    Some(wait(pid))
}

/// Waits for the child's end without waking up. Where it was stopped, this stops too,
/// so that the shell has its prompt.
fn wait(child: Pid) -> i32 {
    loop {
        match waitpid(Some(child), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) if status.stopped() => {
                let _ = kill_process(getpid(), Signal::STOP);
                // Continued: by a shell, which continues both, or alone.
                let _ = kill_process(child, Signal::CONT);
            }
            Ok(Some((_, status))) => return code(status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return 1,
        }
    }
}

fn code(status: WaitStatus) -> i32 {
    let signal = || status.terminating_signal().map(|s| 128 + s);
    status.exit_status().or_else(signal).unwrap_or(1)
}

/// Passes signals on to the child from a thread of its own; returns once it listens.
fn pass_signals_on(child: &Arc<Mutex<Option<Pid>>>) -> Option<()> {
    let (ready, listening) = sync_channel(1);
    let child = Arc::clone(child);
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build();
            let Ok(runtime) = runtime else { return };
            let _ = runtime.block_on(listen(&child, &ready));
        })
        .ok()?;
    listening.recv().ok()
}

async fn listen(child: &Mutex<Option<Pid>>, ready: &SyncSender<()>) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut handed_over = signal(SignalKind::user_defined1())?;
    let _ = ready.send(());
    loop {
        // Of several at once the hang-up says what happened: the child hears it first.
        let passed = tokio::select! {
            biased;
            _ = hang_up.recv() => Signal::HUP,
            _ = terminate.recv() => Signal::TERM,
            _ = interrupt.recv() => Signal::INT,
            _ = quit.recv() => Signal::QUIT,
            _ = handed_over.recv() => std::process::exit(0),
        };
        if let Some(pid) = *child.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = kill_process(pid, passed);
        }
    }
}
