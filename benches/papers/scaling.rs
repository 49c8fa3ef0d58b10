//! What the system itself costs: sixteen devices over one, and the time a run takes.

use std::time::Instant;

use divisi::allocation::{Cell, Matrix};
use divisi::ensemble::PolicyKind;
use divisi::search::worst_fit;
use divisi::simulation::Workload;

use super::stage::{Stage, ensemble};

pub fn run() {
    let imn1 = ensemble("imn1");
    let of = |devices: &str, samples: usize| {
        let stage = Stage::new(&imn1, devices);
        let rows = vec![vec![128]; stage.devices.count()];
        let matrix = Matrix::from_rows(stage.frame.clone(), &rows).expect("valid");
        stage.throughput(&matrix, PolicyKind::NoWait, samples)
    };
    let (one, sixteen) = (of("sim:v100", 8192), of("sim:v100*16", 16 * 8192));
    println!(
        "scaling: imn1 at 128 on 16 devices over 16 × one: {:.3} ({sixteen:.0} over 16 × {one:.0})",
        sixteen / (16.0 * one)
    );
    let stage = Stage::new(&ensemble("imn12"), "sim:v100*16");
    let matrix = worst_fit(&stage.frame, &stage.devices, &stage.footprints).expect("fits");
    let matrix = everywhere_else(&stage, matrix);
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            stage.run(
                &matrix,
                PolicyKind::NoWait,
                Workload::Saturate { samples: 1024 },
            );
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "wall time: imn12 on 16 devices, {} workers, 1 024 samples: {:.3} s (median of 9)",
        matrix.workers().count(),
        times[4]
    );
}

/// The devices that worst-fit leaves empty serve the slowest member.
fn everywhere_else(stage: &Stage, matrix: Matrix) -> Matrix {
    let empty: Vec<usize> = (0..stage.devices.count())
        .filter(|&d| matrix.workers().all(|(c, _)| c.device != d))
        .collect();
    let size = stage.frame.batch_sizes.smallest();
    empty.into_iter().fold(matrix, |matrix, device| {
        let cell = Cell { device, member: 0 };
        matrix.with(cell, Some(size)).expect("valid")
    })
}
