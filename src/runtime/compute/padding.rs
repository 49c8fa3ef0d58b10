//! Checks whether answers depend on the padding of samples. Convolutions over tokens, for example,
//! read padding that the mask of the attention does not hide.

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
pub const PADDING_ROUNDING: f32 = 1e-4;

/// The most samples that are tried at each length. A pool of maxima, say, hides the padding from some
/// samples and not from others.
const SAMPLES: usize = 12;

/// The operations that the samples of a length may take: large networks are tried with fewer samples.
const OPERATIONS: f64 = 4e9;

/// Checks that a network returns the same answers for samples at their own length and padded to
/// a bucket. `graph` is the network for the largest length.
///
/// # Errors
/// [`ComputeError::Padding`], [`ComputeError::OutOfMemory`], or no network exists for a length.
pub fn check_padding(
    graph: &Graph,
    weights: &Weights,
    by_length: &dyn NetworkByLength,
) -> Result<(), ComputeError> {
    let signature = graph.signature();
    let Some(lengths) = &signature.lengths else {
        return Ok(());
    };
    for trials in PaddingTrial::several(lengths) {
        check_bucket(&signature, weights, by_length, &trials)?;
    }
    Ok(())
}

/// Returns the largest difference between a network's answers to two rows of each pair, as a share
/// of the largest value.
///
/// # Errors
/// [`ComputeError::OutOfMemory`], or the network cannot be lowered.
pub fn largest_difference(
    graph: &Graph,
    weights: &Weights,
    pairs: &[[Vec<f32>; 2]],
) -> Result<f32, ComputeError> {
    let lowered = Lowered::with(graph, weights, Family::best())?;
    let answer = |row: &[f32]| {
        let mut answer = zeroed(lowered.outputs())?;
        BatchArenas::new(&lowered, 1, 1)?.run(&lowered, None, 1, row, &mut answer)?;
        Ok::<_, ComputeError>(answer)
    };
    pairs.iter().try_fold(0.0f32, |most, [one, other]| {
        Ok(most.max(difference(&answer(one)?, &answer(other)?)))
    })
}

/// Returns the largest difference of two answers as a share of the largest value of the first.
/// Values that are NaN do not count.
fn difference(one: &[f32], other: &[f32]) -> f32 {
    let largest = one.iter().fold(0.0f32, |most, v| most.max(v.abs()));
    let pairs = one.iter().zip(other);
    let apart = pairs.fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
    match apart > 0.0 {
        true => apart / largest,
        false => 0.0,
    }
}

/// Tries several lengths that are padded to one bucket.
fn check_bucket(
    signature: &Signature,
    weights: &Weights,
    by_length: &dyn NetworkByLength,
    trials: &[PaddingTrial<'_>],
) -> Result<(), ComputeError> {
    let made = |length: usize| {
        let made = by_length.network(length, weights);
        made.map_err(|reason| failed(length, reason))
    };
    let Some(first) = trials.first() else {
        return Ok(());
    };
    let (graph, held) = made(first.padded)?;
    let padded = Lowered::with(&graph, &held, Family::best())?;
    let known = KnownWeights::from_lowered(&graph, &held, &padded);
    for trial in trials {
        let (short, weights) = made(trial.length)?;
        let alone = Lowered::sharing(&short, &weights, padded.kernels().into(), &known)?;
        let affordable = (OPERATIONS / (2.0 * padded.flops()).max(1.0)) as usize;
        for sample in 1..=affordable.clamp(1, SAMPLES) {
            trial.check(signature, &alone, &padded, sample)?;
        }
    }
    Ok(())
}

impl VaryingNetwork {
    /// Checks that a sample has the same answer at its own length and padded to the first bucket.
    ///
    /// # Errors
    /// [`ComputeError::Padding`], or no network exists for that length.
    pub(super) fn check_padding(&self) -> Result<(), ComputeError> {
        let Some(trial) = PaddingTrial::for_lengths(self.lengths()) else {
            return Ok(());
        };
        let (alone, padded) = (self.lower(trial.length)?, self.at(trial.padded)?);
        trial.check(self.signature(), &alone, &padded, 0)
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
    fn for_lengths(lengths: &'a Lengths) -> Option<Self> {
        let (mask, padded) = (lengths.mask()?, *lengths.buckets().first()?);
        Some(PaddingTrial {
            mask,
            length: padded.div_ceil(2),
            padded,
        })
    }

    /// Returns trials of short, middling and long samples of the first bucket, and of the shortest
    /// ones of some others up to the largest: a mask may fail from some length on.
    fn several(lengths: &'a Lengths) -> Vec<Vec<Self>> {
        let (Some(mask), [first, ..]) = (lengths.mask(), lengths.buckets()) else {
            return Vec::new();
        };
        let trial = |length, padded| PaddingTrial {
            mask,
            length,
            padded,
        };
        let mut short = vec![1, first.div_ceil(2), first.saturating_sub(1)];
        short.retain(|length| (1..*first).contains(length));
        short.dedup();
        let of_first = short.into_iter().map(|length| trial(length, *first));
        let mut all = vec![of_first.collect()];
        for pair in later(lengths.buckets()) {
            all.push(vec![trial(pair[0] + 1, pair[1])]);
        }
        all
    }

    /// Runs sample number `sample` alone and padded.
    fn check(
        &self,
        signature: &Signature,
        alone: &Lowered,
        padded: &Lowered,
        sample: usize,
    ) -> Result<(), ComputeError> {
        let row = synthetic_row(signature, self.length, sample, 1.0)?;
        let alone = self.answer(signature, &row, self.length, alone)?;
        let answer = self.answer(signature, &row, self.padded, padded)?;
        let difference = difference(&alone, &answer);
        match difference > PADDING_ROUNDING {
            true => Err(ComputeError::Padding {
                mask: self.mask.to_owned(),
                difference,
            }),
            false => Ok(()),
        }
    }

    /// Returns the answer to the sample when it runs at length `ran`.
    fn answer(
        &self,
        signature: &Signature,
        row: &[f32],
        ran: usize,
        lowered: &Lowered,
    ) -> Result<Vec<f32>, ComputeError> {
        let mut input = zeroed(lowered.inputs())?;
        let mut answer = zeroed(lowered.outputs())?;
        let mut whole = zeroed(signature.output_width(signature.largest_length()))?;
        signature.narrow(row, ran, &mut input);
        BatchArenas::new(lowered, 1, 1)?.run(lowered, None, 1, &input, &mut answer)?;
        signature.widen(&answer, self.length, ran, &mut whole);
        Ok(whole)
    }
}

/// Returns some neighbouring buckets that differ by more than 1, the last two among them.
fn later(buckets: &[usize]) -> Vec<&[usize]> {
    let pairs: Vec<&[usize]> = buckets.windows(2).collect();
    let last = pairs.len().saturating_sub(1);
    let mut chosen = vec![0, last / 3, last / 2, last];
    chosen.dedup();
    let chosen = chosen.into_iter().filter_map(|at| pairs.get(at).copied());
    chosen.filter(|pair| pair[0] + 1 < pair[1]).collect()
}

/// Returns the row of sample number `sample` with `length`: floats from −0.5 to 0.5 times a factor,
/// and integers of 1. Masks are 1 without padding, and most tables have a row 1. Samples after the
/// first have any ids of their lookup tables.
pub(super) fn synthetic_row(
    signature: &Signature,
    length: usize,
    sample: usize,
    factor: f32,
) -> Result<Vec<f32>, ComputeError> {
    let values = signature.inputs.iter().map(|spec| {
        let count = spec.elements_at(length).unwrap_or(0);
        let ids = spec.ids.as_ref().filter(|_| sample > 0);
        let value = |at: usize| {
            let number = scrambled(sample, at);
            match (spec.data_type, ids.and_then(|ids| ids.at(at))) {
                (_, Some(ids)) => (number % (ids.most().max(0) as u64 + 1)) as f32,
                (DataType::Bool, None) => 1.0,
                (integer, None) if integer.is_integer() => 1.0,
                _ => ((number % 13) as f32 / 13.0 - 0.5) * factor,
            }
        };
        (0..count).map(value).collect::<Vec<f32>>()
    });
    let values: Vec<Vec<f32>> = values.collect();
    let mut row = zeroed(signature.input_width(signature.largest_length()))?;
    signature.fill(&mut row, length, length, |input| &values[input]);
    Ok(row)
}

/// Returns a number that looks random: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn scrambled(sample: usize, at: usize) -> u64 {
    let mut bits = ((sample as u64) << 32 | at as u64).wrapping_add(1);
    bits = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
