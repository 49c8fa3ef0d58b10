//! A serving process without requests, its console on a terminal of 160×50.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::pty;

/// The start is over by then.
const SETTLE: Duration = Duration::from_secs(10);
const WINDOW: Duration = Duration::from_secs(60);
/// A jiffy, as `/proc` counts processor time.
const TICK: f64 = 0.01;

pub fn run() -> Result<()> {
    let program = pty::start(&["--load", "none"])?;
    thread::park_timeout(SETTLE);
    let family = pty::family(program.id())?;
    let before = look(&family)?;
    thread::park_timeout(WINDOW);
    let after = look(&family)?;
    pty::end(program)?;
    let seconds = WINDOW.as_secs_f64();
    let rate = |a: u64, b: u64| (a - b) as f64 / seconds;
    println!(
        "console idle over {seconds:.0} s: {:.3} % of a core (to stay within 0.2), {:.2} \
         wake-ups/s of the console's thread and its parent (to stay within 2), {:.2} of all threads",
        rate(after.0, before.0) * TICK * 100.0,
        rate(after.1.0, before.1.0),
        rate(after.1.1, before.1.1)
    );
    Ok(())
}

/// Ticks, and times that the console's thread and all threads went to sleep, of all
/// processes together.
fn look(family: &[u32]) -> Result<(u64, (u64, u64))> {
    let mut sum = (0, (0, 0));
    for pid in family {
        let (first, all) = wake_ups(*pid)?;
        sum = (sum.0 + ticks(*pid)?, (sum.1.0 + first, sum.1.1 + all));
    }
    Ok(sum)
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
