//! Lanes side by side: the same samples in one batch, or in two to six at once.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use divisi_model::metrics::stats::median;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::MemberIndex;
use serde_json::json;

use crate::bed::{BUILTIN, Bed, networks};
use crate::lane::Lane;

const NETWORKS: [&str; 3] = ["resnet50", "densenet121", "mobilenet-v2"];
/// Samples alive at once: small enough to leave the GPU empty, and enough to fill it.
const TOTALS: [usize; 2] = [12, 60];
const LANES: [usize; 6] = [1, 2, 3, 4, 5, 6];
const TURN: Duration = Duration::from_millis(300);
const TURNS: usize = 3;

pub fn run() -> Result<()> {
    let all = Bed::open(BUILTIN, Precision::Bf16)?;
    for network in networks(&NETWORKS) {
        let bed = all.only(&network)?;
        // Held, so that all lanes share its weights.
        let _program = bed.program(MemberIndex::new(0))?;
        for total in TOTALS {
            let shares = LANES.into_iter().filter(|lanes| total % lanes == 0);
            let shares: Vec<usize> = shares.collect();
            let rates = alternate(&bed, total, &shares)?;
            let line =
                json!({ "network": network, "total": total, "lanes": shares, "rates": rates });
            println!("{line}");
        }
    }
    Ok(())
}

/// Samples a second with each number of lanes: medians of turns taken one after another.
fn alternate(bed: &Bed, total: usize, shares: &[usize]) -> Result<Vec<f64>> {
    let mut sets = Vec::new();
    for &count in shares {
        let lanes: Result<Vec<Lane>> = (0..count)
            .map(|_| Lane::new(bed, MemberIndex::new(0), total / count))
            .collect();
        sets.push((lanes?, Vec::new()));
    }
    for turn in 0..=TURNS {
        for (lanes, rates) in &mut sets {
            let rate = together(lanes, TURN)?;
            // The first turn is for what is made at first use.
            if turn > 0 {
                rates.push(rate);
            }
        }
    }
    Ok(sets.iter().map(|(_, rates)| median(rates)).collect())
}

/// Samples a second of lanes that start together, a thread each.
pub fn together(lanes: &mut [Lane], time: Duration) -> Result<f64> {
    let start = Arc::new(Barrier::new(lanes.len()));
    let done: Vec<Result<(usize, Duration)>> = thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .iter_mut()
            .map(|lane| {
                let start = Arc::clone(&start);
                scope.spawn(move || {
                    start.wait();
                    let began = Instant::now();
                    let batches = lane.turn(time)?.len() + 2;
                    Ok((batches * lane.rows, began.elapsed()))
                })
            })
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|one| one.map_err(|_| anyhow!("a lane panicked"))?)
            .collect()
    });
    let mut rate = 0.0;
    for one in done {
        let (samples, time) = one?;
        rate += samples as f64 / time.as_secs_f64();
    }
    Ok(rate)
}
