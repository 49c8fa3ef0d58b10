//! Reads samples from a file, in the form of the network's input.

use std::path::Path;

use anyhow::Result;
use divisi_model::ensemble::{SampleForm, Samples};
use divisi_runtime::network::Graph;
use divisi_runtime::tensor::RowCheck;

use crate::cli::args::SampleFiles;
use crate::cli::open;

/// Reads a file of samples for a network. Samples have named tensors if the network takes several,
/// others than float32 or some of varying length, or if the file holds requests.
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
    open::read_samples(path, &SampleFiles::default(), form)
}
