//! What the targets that read networks have in common.

#[path = "../../tests/runtime/onnx_made.rs"]
pub mod onnx_made;

use std::sync::Arc;

use divisi_runtime::compute::{CpuPredictor, Lowered, Predictor, host_rows};
use divisi_runtime::network::{Graph, Weights};
use divisi_runtime::onnx::{OnnxError, OnnxModel};

/// Networks of more than so many operations or values are not run: that would only be slow.
const FLOPS: u64 = 1 << 20;
const VALUES: usize = 1 << 16;

/// Imports a model that was decoded, and runs its network.
///
/// # Panics
/// An error is long.
pub fn import(model: Result<OnnxModel, OnnxError>) {
    let network = model.and_then(|model| model.network(None));
    match network {
        Ok(network) => run(&network.graph, &network.weights),
        Err(error) => assert!(error.to_string().len() < 1 << 20, "{error}"),
    }
}

/// Runs a small network on a batch of two samples of zeros.
///
/// # Panics
/// It cannot be run.
pub fn run(graph: &Graph, weights: &Weights) {
    let ends = graph.input().elements().max(graph.output().elements());
    let most = graph.values().map(|(_, node)| node.shape.elements()).max();
    if graph.flops() > FLOPS || ends > VALUES || most.is_none_or(|most| most > VALUES) {
        return;
    }
    run_lowered(Lowered::new(graph, weights).expect("lowers"));
}

/// Runs a network that was lowered on a batch of two samples of zeros.
///
/// # Panics
/// It cannot be run.
pub fn run_lowered(lowered: Lowered) {
    let lowered = Arc::new(lowered);
    let input = host_rows(2, lowered.inputs()).expect("memory");
    let output = host_rows(2, lowered.outputs()).expect("memory");
    let mut predictor = CpuPredictor::new(lowered, 2, None).expect("memory");
    predictor.predict(2, &input, &output).expect("runs");
}
