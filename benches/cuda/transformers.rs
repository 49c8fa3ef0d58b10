//! Transformers: the GPU's answers against the CPU's, and samples a second, in each precision.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use divisi_runtime::compute::gpu::{LaneProgram, Precision, Program, lower};
use divisi_runtime::compute::{CpuPredictor, Lowered, Predictor, host_rows, read_rows, write_rows};
use divisi_runtime::device::gpu::{DeviceSlice, Gpu, PinnedBlock, open};
use divisi_runtime::device::{Host, thread_team};
use divisi_runtime::network::{Graph, Shape, Weights};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::answers::difference;
use crate::bed::networks;
use crate::lane::Lane;
use crate::transformer::Transformer;

/// Rows whose answers are compared: more than one, and odd.
const ROWS: usize = 3;

const BATCHES: [usize; 4] = [1, 8, 32, 128];

/// A network for checks where computing takes long: `CUDA_BENCH_NETWORKS=encoder-small`.
const SMALL: &str = "encoder-small";

/// How long batches of one size are run.
const TURN: Duration = Duration::from_millis(300);

/// Words of BERT's vocabulary.
const WORDS: usize = 30_522;

/// Measures in the precisions that `words` name, or in all.
pub fn run(words: &[String]) -> Result<()> {
    let asked: Result<Vec<Precision>, _> = words.iter().map(|word| word.parse()).collect();
    let precisions = match asked.map_err(|error| anyhow!("{error}"))? {
        none if none.is_empty() => Precision::ALL.to_vec(),
        asked => asked,
    };
    let all = [
        "bert-base-128",
        "bert-base-512",
        "vit-base",
        "encoder-small",
    ];
    for name in networks(&all[..3]) {
        let Some(graph) = graph(&name)? else { continue };
        if let Err(error) = measure(&name, &graph, &precisions) {
            println!(
                "{}",
                json!({ "network": name, "error": format!("{error:#}") })
            );
        }
    }
    Ok(())
}

fn graph(name: &str) -> Result<Option<Graph>> {
    let small = Transformer {
        tokens: 70,
        width: 64,
        heads: 4,
        inner: 128,
        layers: 2,
    };
    Ok(Some(match name {
        "bert-base-128" => Transformer::bert_base(128).text(WORDS)?,
        "bert-base-512" => Transformer::bert_base(512).text(WORDS)?,
        "vit-base" => Transformer::vit_base().image(224, 16, 1000)?,
        SMALL => small.text(400)?,
        _ => return Ok(None),
    }))
}

fn measure(name: &str, graph: &Graph, precisions: &[Precision]) -> Result<()> {
    let weights = Weights::synthetic(graph, 7);
    let values = samples(graph, ROWS);
    let expected = on_cpu(graph, &weights, &values)?;
    for &precision in precisions {
        let gpu = open(0)?;
        let program = lower(&gpu, graph, &weights, precision)?;
        let found = on_gpu(&gpu, &program, &values)?;
        // What is for checks alone is not timed.
        let batches = if name == SMALL {
            &BATCHES[..0]
        } else {
            &BATCHES
        };
        let rates = batches
            .iter()
            .map(|&rows| rate(&gpu, &program, graph, rows).ok());
        let line = json!({
            "network": name,
            "precision": precision.name(),
            "error": difference(&found, &expected),
            "batches": batches,
            "samples_per_s": rates.collect::<Vec<_>>(),
            "gflops_a_sample": graph.flops() as f64 / 1e9,
        });
        println!("{line}");
    }
    Ok(())
}

/// Ids of words and masks of 0, or pixels.
fn samples(graph: &Graph, rows: usize) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let width = graph.input().elements();
    let is_text = !matches!(graph.input(), Shape::Image { .. });
    let mut value = |at: usize| match is_text {
        true if at % width >= width / 2 => 0.0,
        true => random.random_range(0.0_f32..400.0).floor(),
        false => random.random_range(-2.0..2.0),
    };
    (0..rows * width).map(&mut value).collect()
}

fn on_cpu(graph: &Graph, weights: &Weights, values: &[f32]) -> Result<Vec<f32>> {
    let lowered = Arc::new(Lowered::new(graph, weights)?);
    let pool = thread_team(&Host::discover().cores, None)?;
    let mut predictor = CpuPredictor::new(lowered, ROWS, pool)?;
    let input = host_rows(ROWS, graph.input().elements())?;
    let output = host_rows(ROWS, graph.output().elements())?;
    write_rows(&input, |to| to.copy_from_slice(values))?;
    predictor.predict(ROWS, &input, &output)?;
    Ok(read_rows(&output, <[f32]>::to_vec)?)
}

/// A lane with samples in the GPU's memory.
fn lane(
    gpu: &Arc<dyn Gpu>,
    program: &Arc<dyn Program>,
    values: &[f32],
    rows: usize,
) -> Result<Lane> {
    let program: Box<dyn LaneProgram> = program.lane(rows)?;
    let mut block: PinnedBlock = gpu.pinned(values.len())?;
    block.values_mut().copy_from_slice(values);
    let from = block.slice(0, values.len());
    let samples = DeviceSlice::whole(gpu.allocate(from.bytes())?);
    program.stream().copy_in(&from, &samples)?;
    program.stream().synchronize()?;
    Ok(Lane {
        program,
        samples,
        rows,
    })
}

fn on_gpu(gpu: &Arc<dyn Gpu>, program: &Arc<dyn Program>, values: &[f32]) -> Result<Vec<f32>> {
    let mut lane = lane(gpu, program, values, ROWS)?;
    lane.launch()?.wait()?;
    let answers = lane.program.answers(ROWS);
    let block = gpu.pinned(answers.bytes / size_of::<f32>())?;
    let to = block.slice(0, answers.bytes / size_of::<f32>());
    lane.program.stream().copy_out(&answers, &to)?;
    lane.program.stream().synchronize()?;
    Ok(block.values().to_vec())
}

/// Samples a second, by the median of batches.
fn rate(gpu: &Arc<dyn Gpu>, program: &Arc<dyn Program>, graph: &Graph, rows: usize) -> Result<f64> {
    let mut lane = lane(gpu, program, &samples(graph, rows), rows)?;
    let mut seconds = lane.turn(TURN)?;
    seconds.sort_by(f64::total_cmp);
    Ok(rows as f64 / seconds[seconds.len() / 2])
}
