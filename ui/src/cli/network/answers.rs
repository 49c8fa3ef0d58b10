//! The file that `divisi network run` writes: one array, or named tensors in JSON.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use divisi::ensemble::samples::to_npy;
use divisi::network::Graph;
use divisi::tensor::{Dimension, WrittenOutputs, WrittenTensor};

/// A kind of file of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerFile {
    /// One array of float32.
    Npy,
    /// Named tensors, as in a response of the Open Inference Protocol.
    Json,
}

impl AnswerFile {
    /// Chooses the kind by the name of the file, for the answers of `graph`.
    ///
    /// # Errors
    /// The network answers several tensors, which one array does not hold.
    pub(super) fn of(path: &Path, graph: &Graph) -> Result<Self> {
        if is_json(path) {
            return Ok(AnswerFile::Json);
        }
        let outputs = graph.signature().outputs;
        if outputs.len() == 1 {
            return Ok(AnswerFile::Npy);
        }
        let names: Vec<String> = outputs.into_iter().map(|output| output.name).collect();
        bail!(
            "--output: expected a .json file for the tensors {}, found {}",
            names.join(", "),
            path.display()
        )
    }

    /// Returns the bytes of the file for `samples` rows of answers.
    pub(super) fn bytes(self, graph: &Graph, rows: Vec<f32>, samples: usize) -> Result<Vec<u8>> {
        let signature = graph.signature();
        if self == AnswerFile::Npy {
            let dims = signature.outputs.iter().flat_map(|output| &output.dims);
            let dims = dims.copied().filter_map(Dimension::size);
            let dims: Vec<usize> = std::iter::once(samples).chain(dims).collect();
            return Ok(to_npy(rows.into_iter(), &dims));
        }
        let named = signature.answers(&rows, samples);
        let named = named.map_err(|e| anyhow!("answers: {e}"))?;
        let outputs = named
            .iter()
            .map(|(name, value)| WrittenTensor::new(name.clone(), value));
        let outputs = outputs.collect();
        Ok(serde_json::to_vec(&WrittenOutputs { outputs })?)
    }
}

/// Whether a file holds JSON, by its name.
pub(super) fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"))
}
