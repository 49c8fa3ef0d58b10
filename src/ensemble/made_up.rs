//! Made-up samples of named tensors: what a network can take, where random numbers would not do.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::network::{Graph, NodeId, Op, TensorOp};
use crate::tensor::{DataType, Lengths, Signature, TensorSpec};

use super::samples::{Samples, SamplesError};

impl Samples {
    /// Creates `rows` samples that `network` can take, as [`Samples::of_tensors`] does.
    ///
    /// # Errors
    /// [`SamplesError::Empty`] if there is no row or value.
    pub fn made_up(network: &Graph, rows: usize) -> Result<Self, SamplesError> {
        Samples::of_tensors(&network.signature(), [network], rows)
    }

    /// Creates `rows` samples of the inputs of a signature that all of `graphs` can take, the same
    /// each time: floats from −1 to 1; integers that are rows of the smallest table that a graph
    /// looks them up in, or 1 where there is none, as in masks; booleans that are true. Where
    /// lengths vary, all that a mask allows are equally likely, and some up to the largest where
    /// there is none.
    ///
    /// # Errors
    /// [`SamplesError::Empty`] if there is no row.
    pub fn of_tensors<'g>(
        signature: &Signature,
        graphs: impl IntoIterator<Item = &'g Graph>,
        rows: usize,
    ) -> Result<Self, SamplesError> {
        let graphs: Vec<&Graph> = graphs.into_iter().collect();
        let bounds: Vec<Option<usize>> = signature
            .inputs
            .iter()
            .map(|spec| graphs.iter().filter_map(|g| table(g, &spec.name)).min())
            .collect();
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let width = signature.input_width(signature.most());
        let mut values = vec![0.0; rows * width];
        for row in values.chunks_exact_mut(width.max(1)) {
            let length = match &signature.lengths {
                None => 0,
                Some(lengths) => length(lengths, &mut random),
            };
            let tensors = signature.inputs.iter().zip(&bounds);
            let tensors: Vec<Vec<f32>> = tensors
                .map(|(spec, bound)| made_up(spec, length, *bound, &mut random))
                .collect();
            signature.fill(row, (length, length), |input| &tensors[input]);
        }
        Samples::new(values, width, None)
    }
}

/// Returns the length of a made-up sample. Where none is padded there are few, since the network is
/// lowered for each.
fn length(lengths: &Lengths, random: &mut ChaCha8Rng) -> usize {
    let most = lengths.most();
    if lengths.mask().is_some() {
        return random.random_range(1..=most);
    }
    let few = Lengths::usual_buckets(most);
    few[random.random_range(0..few.len())]
}

/// Returns the values of a tensor in a sample of `length`; `bound` is the rows of its table.
fn made_up(
    spec: &TensorSpec,
    length: usize,
    bound: Option<usize>,
    random: &mut ChaCha8Rng,
) -> Vec<f32> {
    let size = spec.elements_at(length).unwrap_or(0);
    let values = (0..size).map(|_| match (spec.data_type, bound) {
        (_, Some(bound)) => random.random_range(0..bound) as f32,
        (DataType::Bool, None) => 1.0,
        (integer, None) if integer.is_integer() => 1.0,
        _ => random.random_range(-1.0..1.0),
    });
    values.collect()
}

/// Returns the rows of the smallest table that a network looks the input `name` up in.
pub(super) fn table(graph: &Graph, name: &str) -> Option<usize> {
    let signature = graph.signature();
    let inputs = &signature.inputs;
    let at = inputs.iter().position(|input| input.name == name)?;
    let sizes = inputs[..at].iter();
    let sizes = sizes.filter_map(|spec| spec.elements_at(signature.most()));
    let first = signature.lead() + sizes.sum::<usize>();
    let mut same: Vec<NodeId> = match (inputs.len(), signature.lead()) {
        (1, 0) => vec![NodeId::INPUT],
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
