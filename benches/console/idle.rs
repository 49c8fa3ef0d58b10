//! A serving process without requests, its console on a terminal of 160×50.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The start is over by then.
const SETTLE: Duration = Duration::from_secs(10);
const WINDOW: Duration = Duration::from_secs(60);
/// A jiffy, as `/proc` counts processor time.
const TICK: f64 = 0.01;

pub fn run() -> Result<()> {
    let mut program = start()?;
    thread::park_timeout(SETTLE);
    let pid = program.id();
    let before = (ticks(pid)?, wake_ups(pid)?);
    thread::park_timeout(WINDOW);
    let after = (ticks(pid)?, wake_ups(pid)?);
    kill_process(Pid::from_child(&program), Signal::TERM)?;
    program.wait()?;
    let seconds = WINDOW.as_secs_f64();
    let rate = |a: u64, b: u64| (a - b) as f64 / seconds;
    println!(
        "console idle over {seconds:.0} s: {:.3} % of a core (to stay within 0.2), {:.2} \
         wake-ups/s of the console's thread (to stay within 2), {:.2} of all threads",
        rate(after.0, before.0) * TICK * 100.0,
        rate(after.1.0, before.1.0),
        rate(after.1.1, before.1.1)
    );
    Ok(())
}

fn start() -> Result<Child> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    let size = Winsize {
        ws_col: 160,
        ws_row: 50,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size)?;
    let program = Command::new(env!("CARGO_BIN_EXE_divisi"))
        .args(["--load", "none"])
        .env("TERM", "xterm-256color")
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(slave)
        .spawn()
        .context("the program does not start")?;
    // Whoever does not read what a terminal gets holds its writer up.
    let mut screen = File::from(master);
    thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while screen.read(&mut bytes).is_ok_and(|n| n > 0) {}
    });
    Ok(program)
}

/// Processor time of the process, user and system, in ticks.
fn ticks(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // After the name, which may have spaces: the fields from the third on.
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
}

/// Times that the console's thread, the process's first, and all threads went to sleep.
fn wake_ups(pid: u32) -> Result<(u64, u64)> {
    let (mut first, mut all) = (0, 0);
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let task = task?;
        let status = fs::read_to_string(task.path().join("status"))?;
        let line = status
            .lines()
            .find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
        let count: u64 = line.context("no count of switches")?.trim().parse()?;
        all += count;
        if task.file_name().to_string_lossy() == pid.to_string() {
            first = count;
        }
    }
    Ok((first, all))
}
