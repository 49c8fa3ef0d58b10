//! Every built-in network: the GPU's answers against the CPU's.

use std::time::Instant;

use anyhow::{Context, Result};
use divisi_engine::serving::PredictorFactory;
use divisi_model::ensemble::BatchSize;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::compute::{host_rows, read_rows, write_rows};
use divisi_runtime::device::{Host, MemberIndex, thread_team};
use serde_json::json;

use crate::bed::{BUILTIN, Bed, networks};
use crate::lane::{Lane, random_block};

/// More than one, and odd.
const ROWS: usize = 3;

pub fn run(words: &[String]) -> Result<()> {
    let asked: Result<Vec<Precision>, _> = words.iter().map(|word| word.parse()).collect();
    let precisions = match asked? {
        none if none.is_empty() => vec![Precision::F32, Precision::Bf16],
        asked => asked,
    };
    let all = Bed::open(BUILTIN, Precision::F32)?.ensemble.member_names();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for name in networks(&all) {
        // What fails is told of, and the others are compared.
        if let Err(error) = compare(&name, &precisions) {
            println!(
                "{}",
                json!({ "network": name, "error": format!("{error:#}") })
            );
        }
    }
    Ok(())
}

fn compare(name: &str, precisions: &[Precision]) -> Result<()> {
    let bed = Bed::open(BUILTIN, Precision::F32)?.only(name)?;
    let expected = on_cpu(&bed)?;
    for &precision in precisions {
        let mut ensemble = (*bed.ensemble).clone();
        ensemble.precision = precision;
        let start = Instant::now();
        let found = on_gpu(&Bed::of(ensemble)?)?;
        let line = json!({
            "network": name,
            "precision": precision.name(),
            "error": difference(&found, &expected),
            "seconds": start.elapsed().as_secs_f64(),
        });
        println!("{line}");
    }
    Ok(())
}

fn on_gpu(bed: &Bed) -> Result<Vec<f32>> {
    let mut lane = Lane::new(bed, MemberIndex::new(0), ROWS)?;
    lane.launch()?.wait()?;
    let answers = lane.program.answers(ROWS);
    let block = bed.gpu.pinned(answers.bytes / size_of::<f32>())?;
    let to = block.slice(0, answers.bytes / size_of::<f32>());
    lane.program.stream().copy_out(&answers, &to)?;
    lane.program.stream().synchronize()?;
    Ok(block.values().to_vec())
}

fn on_cpu(bed: &Bed) -> Result<Vec<f32>> {
    let width = bed.width(MemberIndex::new(0));
    let block = random_block(bed, ROWS * width)?;
    let input = host_rows(ROWS, width)?;
    write_rows(&input, |values| values.copy_from_slice(block.values()))?;
    let output = host_rows(ROWS, bed.ensemble.answer_width())?;
    let pool = thread_team(&Host::discover().cores, None)?;
    let size = BatchSize::new(ROWS as u32).context("a batch size")?;
    let mut predictor = bed
        .factory
        .build(bed.ensemble.network(MemberIndex::new(0)), size, pool)?;
    predictor.predict(ROWS, &input, &output)?;
    Ok(read_rows(&output, <[f32]>::to_vec)?)
}

/// The largest difference, relative to the largest value. What is no number differs by all.
pub fn difference(found: &[f32], expected: &[f32]) -> f64 {
    if found.len() != expected.len() || found.iter().any(|value| !value.is_finite()) {
        return f64::MAX;
    }
    let largest = expected.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
    let pairs = found.iter().zip(expected);
    let apart = pairs.fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
    f64::from(apart / largest)
}
