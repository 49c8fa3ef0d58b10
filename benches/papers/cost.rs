//! The cost of simulating: time of this machine, not of what is simulated.

use std::time::Instant;

use divisi_engine::search::worst_fit;
use divisi_engine::simulation::Workload;
use divisi_model::ensemble::PolicyKind;

use super::stage::{Stage, fixture};

const SAMPLES: usize = 1024;
const RUNS: usize = 9;

/// IMN12 on sixteen devices, by the clock of this machine.
pub fn section() -> String {
    let stage = Stage::new(&fixture("imn12"), "sim:v100*16,sim:cpu");
    let matrix = worst_fit(&stage.frame, &stage.devices, &stage.footprints).expect("fits");
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let workload = Workload::Saturate { samples: SAMPLES };
            stage.run(&matrix, PolicyKind::NoWait, workload);
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    format!(
        "## What simulating costs\n\n\
         A run of IMN12 on 16 V100s, {} workers, {SAMPLES} samples, takes {:.2} s of this machine's time\n\
         (median of {RUNS}). That says nothing of how long such a run would take on GPUs.\n",
        matrix.workers().count(),
        times[RUNS / 2]
    )
}
