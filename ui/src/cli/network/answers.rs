//! The file that `divisi network run` writes: one array, or named tensors in JSON.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use divisi_model::ensemble::Samples;
use divisi_model::ensemble::samples::to_npy;
use divisi_runtime::network::Graph;
use divisi_runtime::tensor::{
    DataType, Dimension, Signature, TensorValue, WrittenOutputs, WrittenTensor,
};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::cli::tables::tensors_in_words;

/// A kind of file of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerFile {
    /// One array of float32.
    Npy,
    /// Named tensors, in the form of an Open Inference Protocol response.
    Json,
    /// A response per line, one for each sample.
    JsonLines,
}

impl AnswerFile {
    /// Returns the kind of a file by its name, or `None` for another ending.
    pub(super) fn named(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_ascii_lowercase();
        match end.to_str()? {
            "npy" => Some(AnswerFile::Npy),
            "json" => Some(AnswerFile::Json),
            "jsonl" => Some(AnswerFile::JsonLines),
            _ => None,
        }
    }

    /// Chooses the kind by the name of the file, for the answers of `graph`.
    ///
    /// # Errors
    /// The name has another ending, or one array cannot hold the answers: several tensors, or
    /// tensors of varying length.
    pub(super) fn for_graph(path: &Path, graph: &Graph) -> Result<Self> {
        let shown = path.display();
        let Some(file) = AnswerFile::named(path) else {
            bail!("--output: expected a .npy, .json or .jsonl file, found {shown}");
        };
        let outputs = graph.signature().outputs;
        let fits = outputs.len() == 1 && outputs[0].elements().is_some();
        if file.is_json() || fits {
            return Ok(file);
        }
        let tensors = tensors_in_words(&outputs);
        bail!("--output: expected a .json or .jsonl file for {tensors}, found {shown}")
    }

    /// Returns whether the file holds named tensors.
    pub(super) fn is_json(self) -> bool {
        self != AnswerFile::Npy
    }

    /// Returns the bytes of the file for the rows of answers to `samples`.
    ///
    /// # Errors
    /// The answers are not tensors of the network, or a tensor has answers of different lengths.
    pub(super) fn bytes(self, graph: &Graph, samples: &Samples, rows: Vec<f32>) -> Result<Vec<u8>> {
        let signature = graph.signature();
        let length = |sample: usize| length(&signature, samples, sample);
        match self {
            AnswerFile::Npy => {
                let dims = signature.outputs.iter().flat_map(|output| &output.dims);
                let dims = dims.copied().filter_map(Dimension::size);
                let dims: Vec<usize> = std::iter::once(samples.len()).chain(dims).collect();
                Ok(to_npy(rows.into_iter(), &dims))
            }
            AnswerFile::Json => {
                let varies = signature.outputs.iter().any(|o| o.elements().is_none());
                if varies && (1..samples.len()).any(|sample| length(sample) != length(0)) {
                    bail!("--output: expected a .jsonl file for answers of different lengths");
                }
                response(&signature, &rows, samples.len(), length(0))
            }
            AnswerFile::JsonLines => {
                let each = rows.chunks(graph.output().elements()).enumerate();
                let lines = each.map(|(at, row)| response(&signature, row, 1, length(at)));
                Ok(lines.collect::<Result<Vec<_>>>()?.join(&b'\n'))
            }
        }
    }
}

/// Returns the length of a sample, or `None` if lengths do not vary.
fn length(signature: &Signature, samples: &Samples, sample: usize) -> usize {
    let lengths = signature.lengths.as_ref();
    let of_row = lengths.and_then(|lengths| lengths.row_length(&samples.rows(sample, 1)));
    of_row.unwrap_or(signature.largest_length())
}

/// Returns rows of answers to samples of one length as JSON.
fn response(signature: &Signature, rows: &[f32], samples: usize, length: usize) -> Result<Vec<u8>> {
    let named = signature.answers_at(rows, samples, length);
    let named = named.map_err(|e| anyhow!("answers: {e}"))?;
    let words = named.iter().flat_map(|(_, value)| non_finite(value));
    let outputs = named
        .iter()
        .map(|(name, value)| WrittenTensor::new(name.clone(), value));
    let outputs = outputs.collect();
    let mut json = Vec::new();
    let mut to = Serializer::with_formatter(&mut json, FloatWords(words));
    WrittenOutputs { outputs }.serialize(&mut to)?;
    Ok(json)
}

/// Writes a server's words for non-finite floats, one after another, since JSON has no such
/// numbers.
struct FloatWords<I>(I);

impl<I: Iterator<Item = &'static str>> Formatter for FloatWords<I> {
    fn write_null<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(self.0.next().unwrap_or("null").as_bytes())
    }
}

/// Returns the words for the non-finite values of a tensor, in their order.
fn non_finite(value: &TensorValue) -> Vec<&'static str> {
    let is_float = matches!(
        value.data_type(),
        DataType::Fp16 | DataType::Bf16 | DataType::Fp32 | DataType::Fp64
    );
    let floats = is_float.then(|| value.floats().ok()).flatten();
    let words = floats.into_iter().flatten().filter_map(|v| match v {
        f32::INFINITY => Some("Infinity"),
        f32::NEG_INFINITY => Some("-Infinity"),
        v => v.is_nan().then_some("NaN"),
    });
    words.collect()
}
