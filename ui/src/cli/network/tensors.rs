//! `divisi network run` with named tensors: a file of them in, a file of them out, written as
//! the requests and responses of the Open Inference Protocol in JSON, one or a line for each.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use divisi::ensemble::{SampleForm, Samples};
use divisi::network::Graph;
use divisi::reading;
use divisi::tensor::{TensorValue, WrittenInputs, WrittenOutputs, WrittenTensor};

use super::chosen::NetworkRunner;

/// The samples of a file's requests, one after another.
pub(super) struct Requests {
    rows: Vec<f32>,
    /// The number of samples of each request.
    samples: Vec<usize>,
}

impl Requests {
    /// Reads a file of named tensors: a request, or one a line where it ends in `.jsonl`.
    pub(super) fn read(path: &Path, graph: &Graph) -> Result<Self> {
        let file = path.display();
        let text = reading::text(path).with_context(|| format!("reading {file}"))?;
        let mut requests = Requests {
            rows: Vec::new(),
            samples: Vec::new(),
        };
        if !is_lines(path) {
            let added = requests.add(&text, graph);
            added.with_context(|| file.to_string())?;
            return Ok(requests);
        }
        for (before, line) in text.lines().enumerate() {
            if !line.trim().is_empty() {
                let added = requests.add(line, graph);
                added.with_context(|| format!("{file}, line {}", before + 1))?;
            }
        }
        if requests.samples.is_empty() {
            bail!("{file}: expected named tensors under `inputs` in each line, found none");
        }
        Ok(requests)
    }

    fn add(&mut self, text: &str, graph: &Graph) -> Result<()> {
        let written: WrittenInputs =
            serde_json::from_str(text).context("expected named tensors under `inputs`")?;
        let tensors = written.inputs.into_iter().map(WrittenTensor::read);
        let tensors: Vec<(String, TensorValue)> = tensors.collect::<Result<_, _>>()?;
        let (rows, samples) = graph.signature().rows(&tensors)?;
        self.rows.extend(rows);
        self.samples.push(samples);
        Ok(())
    }

    /// Returns the number of samples.
    pub(super) fn samples(&self) -> usize {
        self.samples.iter().sum()
    }

    /// Runs all in batches of at most `batch`. Returns the answers as JSON, a line for each
    /// request, and the seconds.
    pub(super) fn answers(
        &self,
        graph: &Graph,
        run: &mut NetworkRunner,
        batch: usize,
    ) -> Result<(String, f64)> {
        let start = Instant::now();
        let (inputs, outputs) = (graph.input().elements(), graph.output().elements());
        let mut answers = Vec::with_capacity(self.samples() * outputs);
        for rows in self.rows.chunks(batch * inputs) {
            answers.extend(run(rows)?);
        }
        let elapsed_s = start.elapsed().as_secs_f64();
        let mut first = 0;
        let mut lines = Vec::new();
        for &samples in &self.samples {
            let row = &self.rows[first * inputs..][..inputs];
            let rows = &answers[first * outputs..][..samples * outputs];
            lines.push(written(graph, row, (rows, samples))?);
            first += samples;
        }
        Ok((lines.join("\n"), elapsed_s))
    }
}

/// Returns the answers to samples as long as that of `row` as JSON.
fn written(graph: &Graph, row: &[f32], (rows, samples): (&[f32], usize)) -> Result<String> {
    let signature = graph.signature();
    let lengths = signature.lengths.as_ref();
    let length = lengths.and_then(|lengths| lengths.of_row(row));
    let length = length.unwrap_or(signature.most());
    let named = signature.answers_at(rows, samples, length);
    let named = named.map_err(|e| anyhow!("answers: {e}"))?;
    let outputs = named.iter();
    let outputs = outputs.map(|(name, value)| WrittenTensor::new(name.clone(), value));
    let written = WrittenOutputs {
        outputs: outputs.collect(),
    };
    Ok(serde_json::to_string(&written)?)
}

/// Whether a file holds a request a line.
fn is_lines(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("jsonl"))
}

/// Whether a file is one of named tensors.
pub(super) fn is_named(path: &Path) -> bool {
    let is_json = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"));
    is_json || is_lines(path)
}

/// Reads a file of samples for a network: of named tensors where it takes such.
pub(super) fn samples(path: &Path, graph: &Graph) -> Result<Samples> {
    let signature = graph.signature();
    let named = signature.inputs.len() > 1 || signature.lengths.is_some();
    let form = SampleForm {
        tensors: named.then_some(&signature.inputs[..]),
        lengths: signature.lengths.as_ref(),
        ..SampleForm::new(graph.input())
    };
    Samples::read(path, &form).with_context(|| path.display().to_string())
}
