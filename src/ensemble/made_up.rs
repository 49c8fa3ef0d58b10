//! Made-up samples of named tensors: what a network can take, where random numbers would not do.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::network::{Graph, NodeId, Op, TensorOp};
use crate::tensor::{DataType, TensorSpec};

use super::samples::{Samples, SamplesError};

impl Samples {
    /// Creates `rows` samples that `network` can take, the same each time: for integers that it
    /// looks up in a table, rows of that table.
    ///
    /// # Errors
    /// [`SamplesError::Empty`] if there is no row or value.
    pub fn made_up(network: &Graph, rows: usize) -> Result<Self, SamplesError> {
        let values = made_up_tensors(&network.signature().inputs, &[network], rows);
        Samples::new(values, network.input().elements(), None)
    }
}

/// Returns `rows` samples of `tensors`, the same each time: floats from −1 to 1; integers that
/// are rows of the smallest table that a network looks them up in, or 1 where there is none, as in
/// masks; booleans that are true.
pub(super) fn made_up_tensors(
    tensors: &[TensorSpec],
    networks: &[&Graph],
    rows: usize,
) -> Vec<f32> {
    let bounds: Vec<Option<usize>> = tensors.iter().map(|t| smallest(t, networks)).collect();
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut values = Vec::new();
    for _ in 0..rows {
        for (spec, bound) in tensors.iter().zip(&bounds) {
            let size = spec.elements().unwrap_or(0);
            values.extend((0..size).map(|_| match (spec.data_type, bound) {
                (_, Some(bound)) => random.random_range(0..*bound) as f32,
                (DataType::Bool, None) => 1.0,
                (integer, None) if integer.is_integer() => 1.0,
                _ => random.random_range(-1.0..1.0),
            }));
        }
    }
    values
}

/// Returns the rows of the smallest table that networks look a tensor up in, if there is any.
fn smallest(spec: &TensorSpec, networks: &[&Graph]) -> Option<usize> {
    let tables = networks.iter().filter_map(|graph| table(graph, &spec.name));
    tables.min()
}

/// Returns the rows of the smallest table that a network looks the input `name` up in.
pub(super) fn table(graph: &Graph, name: &str) -> Option<usize> {
    let inputs = graph.signature().inputs;
    let at = inputs.iter().position(|input| input.name == name)?;
    let first: usize = inputs[..at].iter().filter_map(TensorSpec::elements).sum();
    let mut same: Vec<NodeId> = match inputs.len() {
        1 => vec![NodeId::INPUT],
        _ => Vec::new(),
    };
    let mut rows = Vec::new();
    for (id, node) in graph.values() {
        let reads = node.inputs.iter().any(|input| same.contains(input));
        match node.op {
            Op::Tensor(TensorOp::Part { first: part, .. }) if part == first => same.push(id),
            Op::Tensor(TensorOp::View { .. } | TensorOp::Transpose { .. }) if reads => {
                same.push(id)
            }
            Op::Tensor(TensorOp::Embedding { rows: table, .. }) if reads => rows.push(table),
            _ => {}
        }
    }
    rows.into_iter().min()
}
