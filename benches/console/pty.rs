//! The program on a terminal of 160×50 that somebody reads.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Child, Command};
use std::thread;

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Starts it with these arguments.
pub fn start(arguments: &[&str]) -> Result<Child> {
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
        .args(arguments)
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

/// Ends it and waits for that.
pub fn end(mut program: Child) -> Result<()> {
    kill_process(Pid::from_child(&program), Signal::TERM)?;
    program.wait()?;
    Ok(())
}

/// The process and those that it started: the console runs in a child of a thin parent.
pub fn family(pid: u32) -> Result<Vec<u32>> {
    let mut family = vec![pid];
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Ok(other) = name.to_string_lossy().parse::<u32>() else {
            continue;
        };
        // Processes come and go.
        let Ok(stat) = fs::read_to_string(format!("/proc/{other}/stat")) else {
            continue;
        };
        let fields = stat.rsplit(')').next().unwrap_or_default();
        if fields.split_whitespace().nth(1) == Some(pid.to_string().as_str()) {
            family.push(other);
        }
    }
    Ok(family)
}
