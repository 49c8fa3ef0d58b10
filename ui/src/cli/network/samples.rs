//! The samples of one network: of a file, in the form that the network takes.

use std::path::Path;

use anyhow::{Context, Result};
use divisi_model::ensemble::{SampleForm, Samples};
use divisi_runtime::network::Graph;
use divisi_runtime::tensor::RowCheck;

/// Reads a file of samples for a network: of named tensors where it takes several, others than
/// float32 or some of varying length, or where the file holds requests.
pub(super) fn read_samples(path: &Path, graph: &Graph, are_requests: bool) -> Result<Samples> {
    let signature = graph.signature();
    let named = are_requests || !signature.takes_floats() || signature.lengths.is_some();
    let check = RowCheck::new(&signature);
    let form = SampleForm {
        check: Some(&check),
        tensors: named.then_some(&signature.inputs[..]),
        lengths: signature.lengths.as_ref(),
        ..SampleForm::new(graph.input())
    };
    Samples::read(path, &form).with_context(|| path.display().to_string())
}
