//! Serving throughput with a console attached from another process and without, in turn.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use divisi_model::metrics::stats::{median, quantile};

use crate::pty;

const PAIRS: usize = 20;
const WINDOW: Duration = Duration::from_secs(3);
const SETTLE: Duration = Duration::from_millis(1000);
const NAME: &str = "bench-attached";

pub fn run() -> Result<()> {
    let mut server = serve()?;
    let ratios = pairs();
    // However it went, the server ends.
    let _ = divisi(&["stop", NAME]).status();
    server.wait()?;
    let ratios = ratios?;
    println!(
        "console attached over none, {PAIRS} pairs: median {:.4}, from {:.4} to {:.4} (to reach 0.97)",
        median(&ratios),
        quantile(&ratios, 0.0),
        quantile(&ratios, 1.0)
    );
    Ok(())
}

fn serve() -> Result<Child> {
    let arguments = ["serve", "digits", "--name", NAME, "--load", "closed:16x32"];
    let mut command = divisi(&arguments);
    let server = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let limit = Instant::now() + Duration::from_secs(60);
    while answered().is_err() && Instant::now() < limit {
        thread::park_timeout(SETTLE);
    }
    Ok(server)
}

fn pairs() -> Result<Vec<f64>> {
    let mut ratios = Vec::new();
    for _ in 0..PAIRS {
        thread::park_timeout(SETTLE);
        let alone = rate()?;
        let console = pty::start(&["attach", NAME])?;
        thread::park_timeout(SETTLE);
        let watched = rate()?;
        pty::end(console)?;
        ratios.push(watched / alone);
    }
    Ok(ratios)
}

/// Samples answered a second over the window, by the server's own clock.
fn rate() -> Result<f64> {
    let before = answered()?;
    thread::park_timeout(WINDOW);
    let after = answered()?;
    Ok((after.1 - before.1) / (after.0 - before.0))
}

/// The server's time in seconds, and samples answered so far.
fn answered() -> Result<(f64, f64)> {
    let output = divisi(&["report", NAME, "--format", "json"]).output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let number = |value: &serde_json::Value| value.as_f64().context("a number is missing");
    let now = &report["now"];
    let seconds = number(&now["secs"])? + number(&now["nanos"])? / 1e9;
    Ok((seconds, number(&report["accuracy"]["answered"])?))
}

fn divisi(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_divisi"));
    command.args(arguments);
    command
}
