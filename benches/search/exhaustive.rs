//! Every matrix of an instance small enough, run for real: two partitions, three
//! members of digits, two batch sizes.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use divisi_engine::search::{Control, Evaluator, Method};
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::{BatchSize, BatchSizes, Ensemble};
use divisi_model::metrics::stats::median;

use crate::agreement::bench;
use crate::common::Bed;

/// About half a second each.
const SAMPLES: usize = 2048;
const BEST: usize = 20;
const TURNS: usize = 10;

pub fn run() -> Result<()> {
    let bed = small()?;
    let mut bench = bench(&bed)?;
    let mut scored = Vec::new();
    for matrix in all(&bed)? {
        let score = bench.glance(&matrix, SAMPLES)?.samples_per_s;
        scored.push((score, matrix));
    }
    let count = scored.len();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(BEST);
    let ours = found(&bed)?;
    let field: Vec<Matrix> = scored.into_iter().map(|s| s.1).chain([ours]).collect();
    let mut rates = vec![Vec::new(); field.len()];
    for _ in 0..TURNS {
        for (matrix, rates) in field.iter().zip(&mut rates) {
            rates.push(bench.glance(matrix, SAMPLES)?.samples_per_s);
        }
    }
    let medians: Vec<f64> = rates.iter().map(|r| median(r)).collect();
    let best = medians[..BEST].iter().copied().fold(0.0, f64::max);
    let ours = medians[medians.len() - 1];
    println!(
        "exhaustive, {count} matrices: the best {best:.0} samples/s, the model's {ours:.0}: {:.3}",
        ours / best
    );
    Ok(())
}

fn small() -> Result<Bed> {
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let mut ensemble = Ensemble::clone(&bed.ensemble);
    ensemble.members = [2, 3, 5]
        .map(|m| Arc::clone(&bed.ensemble.members[m]))
        .to_vec();
    ensemble.batch_sizes = BatchSizes::new(&[8, 64]).map_err(|e| anyhow!(e))?;
    Ok(Bed {
        ensemble: Arc::new(ensemble),
        devices: bed.devices,
    })
}

fn all(bed: &Bed) -> Result<Vec<Matrix>> {
    let frame = bed.frame();
    let sizes: Vec<Option<BatchSize>> = std::iter::once(None)
        .chain(frame.batch_sizes.iter().map(Some))
        .collect();
    let cells = frame.devices.len() * frame.members.len();
    let matrices = (0..sizes.len().pow(cells as u32)).filter_map(|number| {
        let digit = |place: usize| number / sizes.len().pow(place as u32) % sizes.len();
        let entries = (0..cells).map(|place| sizes[digit(place)]).collect();
        Matrix::new(Arc::clone(&frame), entries).ok()
    });
    Ok(matrices.collect())
}

fn found(bed: &Bed) -> Result<Matrix> {
    let job = bed.job(Method::quick(), None);
    Ok(job.run(&Arc::new(Control::default()))?.found.matrix)
}
