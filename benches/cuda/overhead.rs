//! The system against a bare loop on the GPU that does the same.

use std::time::Duration;

use anyhow::Result;
use divisi_model::ensemble::{PolicyKind, Wait};
use divisi_model::metrics::stats::median;
use divisi_runtime::compute::gpu::Precision;
use serde_json::json;

use crate::bare::Bare;
use crate::bed::{BUILTIN, Bed, networks};
use crate::flood::Clients;

const SIZE: usize = 64;
const TURN: Duration = Duration::from_millis(800);
const TURNS: usize = 5;
const CLIENTS: Clients = Clients {
    threads: 4,
    under_way: 2,
    samples: SIZE,
};

pub fn run() -> Result<()> {
    let all = Bed::open(BUILTIN, Precision::Bf16)?;
    for network in networks(&["resnet50", "resnet152"]) {
        let bed = all.only(&network)?;
        for overlapped in [false, true] {
            let (ours, bare) = alternate(&bed, overlapped)?;
            let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(a, b)| b / a - 1.0).collect();
            let line = json!({
                "network": network,
                "overlapped": overlapped,
                "samples_per_s": median(&ours),
                "bare": median(&bare),
                "overhead": median(&ratios),
            });
            println!("{line}");
        }
    }
    Ok(())
}

/// Samples a second of both, in turns.
fn alternate(bed: &Bed, overlapped: bool) -> Result<(Vec<f64>, Vec<f64>)> {
    let wait = Wait::millis(20);
    let policy = match overlapped {
        true => PolicyKind::PipelinedOptWait { wait },
        false => PolicyKind::OptWait { wait },
    };
    let engine = bed.serve(&["cuda:0"], SIZE as i64)?;
    engine.apply_setup(&engine.setup().with_policy(policy), &mut |_| {})?;
    let samples = bed.samples()?;
    let mut loops = Bare::new(bed, SIZE)?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let served = CLIENTS.flood(&engine, &samples, TURN)?.samples_per_s;
        let alone = match overlapped {
            true => loops.overlapped(TURN)?,
            false => loops.in_sequence(TURN)?,
        };
        if turn > 0 {
            ours.push(served);
            bare.push(alone);
        }
    }
    Ok((ours, bare))
}
