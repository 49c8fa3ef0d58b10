//! Whether answers depend on what samples are padded with: convolutions over tokens, say, see more
//! than a mask of the attention hides.

use super::ComputeError;
use super::batch_arenas::BatchArenas;
use super::family::Family;
use super::lowered::Lowered;
use super::predictor::zeroed;
use super::shared::KnownWeights;
use super::varying::{VaryingNetwork, failed};
use crate::network::{Graph, NetworkByLength, Weights};
use crate::tensor::{DataType, Lengths, Signature};

/// The largest difference that rounding makes, as a share of the largest value.
const ROUNDING: f32 = 1e-4;

/// Checks that a network answers a sample alike at its own length and padded to the first bucket.
/// `graph` is the network for the largest length.
///
/// # Errors
/// [`ComputeError::Padding`], [`ComputeError::OutOfMemory`], or there is no network of a length.
pub fn check_padding(
    graph: &Graph,
    weights: &Weights,
    by_length: &dyn NetworkByLength,
) -> Result<(), ComputeError> {
    let signature = graph.signature();
    let Some(trial) = signature.lengths.as_ref().and_then(PaddingTrial::of) else {
        return Ok(());
    };
    let made = |length: usize| {
        let made = by_length.network(length, weights);
        made.map_err(|reason| failed(length, reason))
    };
    let (graph, held) = made(trial.padded)?;
    let padded = Lowered::with(&graph, &held, Family::best())?;
    let known = KnownWeights::of(&graph, &held, &padded);
    let (short, weights) = made(trial.length)?;
    let alone = Lowered::sharing((&short, &weights), padded.kernels().into(), &known)?;
    trial.check(&signature, &alone, &padded)
}

impl VaryingNetwork {
    /// Checks that a sample is answered alike at its own length and padded to the first bucket.
    ///
    /// # Errors
    /// [`ComputeError::Padding`], or there is no network of that length.
    pub(super) fn check_padding(&self) -> Result<(), ComputeError> {
        let Some(trial) = PaddingTrial::of(self.lengths()) else {
            return Ok(());
        };
        let (alone, padded) = (self.lower(trial.length)?, self.at(trial.padded)?);
        trial.check(self.signature(), &alone, &padded)
    }
}

/// A made-up sample that is run at its own length, and padded.
struct PaddingTrial<'a> {
    mask: &'a str,
    length: usize,
    padded: usize,
}

impl<'a> PaddingTrial<'a> {
    /// Returns the trial of a network of these lengths, or `None` if no sample is padded.
    fn of(lengths: &'a Lengths) -> Option<Self> {
        let (mask, padded) = (lengths.mask()?, *lengths.buckets().first()?);
        Some(PaddingTrial {
            mask,
            length: padded.div_ceil(2),
            padded,
        })
    }

    fn check(
        &self,
        signature: &Signature,
        alone: &Lowered,
        padded: &Lowered,
    ) -> Result<(), ComputeError> {
        let row = made_up(signature, self.length)?;
        let alone = self.answer(signature, &row, (self.length, alone))?;
        let answer = self.answer(signature, &row, (self.padded, padded))?;
        let largest = alone.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        let pairs = alone.iter().zip(&answer);
        let apart = pairs.fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
        let difference = apart / largest;
        // Of NaN nothing can be said.
        match difference > ROUNDING {
            true => Err(ComputeError::Padding {
                mask: self.mask.to_owned(),
                difference,
            }),
            false => Ok(()),
        }
    }

    /// Returns the answer to the sample where it is run at length `ran`.
    fn answer(
        &self,
        signature: &Signature,
        row: &[f32],
        (ran, lowered): (usize, &Lowered),
    ) -> Result<Vec<f32>, ComputeError> {
        let mut input = zeroed(lowered.inputs())?;
        let mut answer = zeroed(lowered.outputs())?;
        let mut whole = zeroed(signature.output_width(signature.most()))?;
        signature.narrow(row, ran, &mut input);
        BatchArenas::new(lowered, 1, 1)?.run(lowered, None, 1, &input, &mut answer)?;
        signature.widen(&answer, (self.length, ran), &mut whole);
        Ok(whole)
    }
}

/// Returns the row of a sample of `length`: integers of 1, which masks are where nothing is padded
/// and most tables have, and floats from −0.5 to 0.5.
fn made_up(signature: &Signature, length: usize) -> Result<Vec<f32>, ComputeError> {
    let values = signature.inputs.iter().map(|spec| {
        let count = spec.elements_at(length).unwrap_or(0);
        let float = |at: usize| (at * 7 % 13) as f32 / 13.0 - 0.5;
        let value = |at: usize| match spec.data_type {
            DataType::Bool => 1.0,
            integer if integer.is_integer() => 1.0,
            _ => float(at),
        };
        (0..count).map(value).collect::<Vec<f32>>()
    });
    let values: Vec<Vec<f32>> = values.collect();
    let mut row = zeroed(signature.input_width(signature.most()))?;
    signature.fill(&mut row, (length, length), |input| &values[input]);
    Ok(row)
}
