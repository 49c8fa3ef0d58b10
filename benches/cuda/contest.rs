//! Our side of the comparison with PyTorch: answers lines of JSON, so that both take turns.

use std::io::{BufRead, stdin};
use std::time::Duration;

use anyhow::{Context, Result};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::MemberIndex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bed::{BUILTIN, Bed};
use crate::lane::Lane;

/// One line of standard input.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
enum Ask {
    /// Lower a network for batches of `rows`, in place of what was there.
    Load {
        network: String,
        precision: String,
        rows: usize,
    },
    /// Run batches for so long; seconds of each.
    Run { seconds: f64 },
}

pub fn run() -> Result<()> {
    let mut lane = None;
    for line in stdin().lock().lines() {
        let line = line?;
        let ask = serde_json::from_str(&line).context(line)?;
        let said = answer(&mut lane, ask);
        println!(
            "{}",
            said.unwrap_or_else(|error| json!({ "error": format!("{error:#}") }))
        );
    }
    Ok(())
}

fn answer(lane: &mut Option<Lane>, ask: Ask) -> Result<Value> {
    match ask {
        Ask::Load {
            network,
            precision,
            rows,
        } => {
            // Its memory first: both may not fit.
            *lane = None;
            *lane = Some(load(&network, &precision, rows)?);
            Ok(json!({}))
        }
        Ask::Run { seconds } => {
            let lane = lane.as_mut().context("no network was loaded")?;
            let batches = lane.turn(Duration::from_secs_f64(seconds))?;
            Ok(json!({ "batches": batches }))
        }
    }
}

fn load(network: &str, precision: &str, rows: usize) -> Result<Lane> {
    let precision: Precision = precision.parse().map_err(anyhow::Error::msg)?;
    let bed = Bed::open(BUILTIN, precision)?.only(network)?;
    let mut lane = Lane::new(&bed, MemberIndex::new(0), rows)?;
    // Whatever is made at the first batch is made now.
    lane.turn(Duration::ZERO)?;
    Ok(lane)
}
