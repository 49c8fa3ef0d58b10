//! Synthetic samples of named tensors, with values that a network accepts.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use divisi_runtime::network::Graph;
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{DataType, IdRanges, Lengths, Signature, TensorSpec};

use super::samples::Samples;

impl Samples {
    /// Creates `rows` samples that `network` accepts.
    ///
    /// # Errors
    /// There is no row or value.
    pub fn made_up(network: &Graph, rows: usize) -> Result<Self, ReadError> {
        Samples::synthetic_tensors(&network.signature(), rows)
    }

    /// Creates `rows` samples of the inputs of a signature, reproducibly. Floats are from −1 to 1.
    /// Integers are rows of the tables in which they are looked up, or 1 without a table, as in
    /// masks. Booleans are true. With varying lengths, all lengths that a mask allows are equally
    /// likely; without a mask, the samples have a few lengths up to the largest.
    ///
    /// # Errors
    /// There is no row.
    pub fn synthetic_tensors(signature: &Signature, rows: usize) -> Result<Self, ReadError> {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let width = signature.input_width(signature.largest_length());
        let mut values = vec![0.0; rows * width];
        for row in values.chunks_exact_mut(width.max(1)) {
            let length = match &signature.lengths {
                None => 0,
                Some(lengths) => length(lengths, &mut random),
            };
            let tensors = signature.inputs.iter();
            let tensors: Vec<Vec<f32>> = tensors
                .map(|spec| made_up(spec, length, &mut random))
                .collect();
            signature.fill(row, length, length, |input| &tensors[input]);
        }
        Samples::new(values, width, None)
    }
}

/// Returns the length of a synthetic sample. Without padding there are only a few lengths, because
/// the network is lowered for each.
fn length(lengths: &Lengths, random: &mut ChaCha8Rng) -> usize {
    let most = lengths.largest();
    if lengths.mask().is_some() {
        return random.random_range(1..=most);
    }
    let few = Lengths::usual_buckets(most);
    few[random.random_range(0..few.len())]
}

/// Returns the values of a tensor in a sample of `length`.
fn made_up(spec: &TensorSpec, length: usize, random: &mut ChaCha8Rng) -> Vec<f32> {
    let size = spec.elements_at(length).unwrap_or(0);
    let rows = |at: usize| spec.ids.as_ref().and_then(|ids| rows(ids, at));
    let values = (0..size).map(|at| match (spec.data_type, rows(at)) {
        (_, Some(rows)) => random.random_range(0..rows) as f32,
        (DataType::Bool, None) => 1.0,
        (integer, None) if integer.is_integer() => 1.0,
        _ => random.random_range(-1.0..1.0),
    });
    values.collect()
}

/// Returns the number of ids, from 0, that can be looked up at a position, or `None` if any id can.
fn rows(ids: &IdRanges, at: usize) -> Option<usize> {
    let most = ids.at(at)?.most();
    Some(usize::try_from(most).map_or(1, |most| most + 1))
}
