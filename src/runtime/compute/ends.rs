//! Finds out by a trial whether a network answers probabilities. A softmax or a sigmoid can be
//! written in more ways than patterns of operations can detect.

use super::ComputeError;
use super::batch_arenas::BatchArenas;
use super::family::Family;
use super::lowered::Lowered;
use super::padding::synthetic_row;
use super::predictor::zeroed;
use crate::network::{Graph, NetworkEnd, Probabilities, Weights};

/// The samples of a trial, and the factors of their floats. Numbers other than probabilities leave
/// the range from 0 to 1 as values grow.
const FACTORS: [f32; 6] = [1.0, -1.0, 4.0, -4.0, 16.0, -16.0];

/// Larger than the effect of rounding to half precision on a number from 0 to 1 and on a sum of
/// such numbers.
const ROUNDING: f32 = 5e-3;

/// Returns the probabilities that a network answers, in rows of `row` numbers, or `None` if it
/// answers other numbers. The last operations decide; if they are not conclusive, a trial with
/// synthetic samples does. A network that cannot be tried counts as answering other numbers.
pub fn probabilities(graph: &Graph, weights: &Weights, row: usize) -> Option<Probabilities> {
    match graph.end() {
        NetworkEnd::Probabilities(found) => Some(found),
        NetworkEnd::Scores => None,
        NetworkEnd::Unknown => tried(graph, weights, row).unwrap_or_default(),
    }
}

fn tried(
    graph: &Graph,
    weights: &Weights,
    row: usize,
) -> Result<Option<Probabilities>, ComputeError> {
    let lowered = Lowered::with(graph, weights, Family::best())?;
    let mut found = Some(Probabilities::Shares { row });
    for (sample, factor) in FACTORS.into_iter().enumerate() {
        let answer = answer(graph, &lowered, sample, factor)?;
        found = found.and_then(|found| still_possible(found, &answer));
    }
    Ok(found)
}

/// Returns the answer to a made-up sample whose floats are multiplied by a factor.
fn answer(
    graph: &Graph,
    lowered: &Lowered,
    sample: usize,
    factor: f32,
) -> Result<Vec<f32>, ComputeError> {
    let signature = graph.signature();
    let row = synthetic_row(&signature, signature.largest_length(), sample + 1, factor)?;
    let mut answer = zeroed(lowered.outputs())?;
    BatchArenas::new(lowered, 1, 1)?.run(lowered, None, 1, &row, &mut answer)?;
    Ok(answer)
}

/// Returns the probabilities that are possible for this answer too.
fn still_possible(found: Probabilities, answer: &[f32]) -> Option<Probabilities> {
    let is_one = |p: &f32| (-ROUNDING..=1.0 + ROUNDING).contains(p);
    if !answer.iter().all(is_one) {
        return None;
    }
    match found {
        Probabilities::Shares { row } => {
            let sums = answer.chunks(row.max(1)).map(|row| row.iter().sum::<f32>());
            let mut off = sums.map(|sum| (sum - 1.0).abs());
            Some(match off.all(|off| off <= ROUNDING) {
                true => found,
                false => Probabilities::Each,
            })
        }
        Probabilities::Each => Some(found),
    }
}
