//! `divisi network run` with named tensors: a file of them in, a file of them out, written as
//! the requests and responses of the Open Inference Protocol in JSON.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use divisi::network::Graph;
use divisi::reading;
use divisi::tensor::{TensorValue, WrittenInputs, WrittenOutputs, WrittenTensor};

use super::chosen::NetworkRunner;

/// The samples of a file of named tensors as rows, and how many they are.
pub(super) fn rows(path: &Path, graph: &Graph) -> Result<(Vec<f32>, usize)> {
    let file = path.display();
    let text = reading::text(path).with_context(|| format!("reading {file}"))?;
    let written: WrittenInputs = serde_json::from_str(&text)
        .with_context(|| format!("{file}: expected named tensors under `inputs`"))?;
    let tensors = written.inputs.into_iter().map(WrittenTensor::read);
    let tensors: Vec<(String, TensorValue)> = tensors
        .collect::<Result<_, _>>()
        .with_context(|| file.to_string())?;
    let rows = graph.signature().rows(&tensors);
    rows.with_context(|| file.to_string())
}

/// Runs rows in batches of at most `batch`. Returns the answers as JSON, and the seconds.
pub(super) fn answers(
    graph: &Graph,
    run: &mut NetworkRunner,
    (rows, samples): (&[f32], usize),
    batch: usize,
) -> Result<(String, f64)> {
    let start = Instant::now();
    let mut answers = Vec::with_capacity(samples * graph.output().elements());
    for rows in rows.chunks(batch * graph.input().elements()) {
        answers.extend(run(rows)?);
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    let named = graph.signature().answers(&answers, samples);
    let named = named.map_err(|e| anyhow!("answers: {e}"))?;
    let outputs = named.iter();
    let outputs = outputs.map(|(name, value)| WrittenTensor::new(name.clone(), value));
    let written = WrittenOutputs {
        outputs: outputs.collect(),
    };
    Ok((serde_json::to_string(&written)?, elapsed_s))
}
