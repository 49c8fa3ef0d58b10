//! The best few matrices are run at last: all briefly, the better half longer.

use crate::allocation::Matrix;
use crate::device::{Device, Devices};

use super::control::Control;
use super::evaluator::{Evaluator, Score, SearchError};

/// Samples of a round for each matrix still in it.
const SAMPLES: usize = 384;
/// Rounds that a matrix can be in.
const ROUNDS: usize = 2;

/// Who won, and how the start did beside it.
#[derive(Clone, Debug)]
pub(super) struct Final {
    pub matrix: Matrix,
    pub score: Score,
    pub start: Score,
    pub runs: usize,
}

/// Runs the start and every contender, then the start and the better half of them again
/// (successive halving). What wins was faster than the start in runs beside the start's
/// own, all taken together; else the start does.
///
/// # Errors
/// A run broke down, or the search was cancelled.
pub(super) fn finals(
    start: &Matrix,
    contenders: Vec<Matrix>,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<Final, SearchError> {
    let others = contenders.into_iter().filter(|m| m != start);
    let mut field: Vec<Contender> = others.map(|m| (m, Vec::new())).collect();
    let mut first: Contender = (start.clone(), Vec::new());
    let mut runs = 0;
    control.update(|p| p.expect(ROUNDS + field.len() + field.len().div_ceil(2)));
    control.begin_phase(0);
    for _ in 0..ROUNDS {
        for (matrix, rates) in std::iter::once(&mut first).chain(&mut field) {
            control.checkpoint()?;
            rates.push(judge.glance(matrix, SAMPLES)?.samples_per_s);
            runs += 1;
            let rate = mean(rates);
            control.update(|p| {
                p.evaluations += 1;
                p.neighbour += 1;
                p.scores.push(rate);
            });
        }
        field.sort_by(|a, b| mean(&b.1).total_cmp(&mean(&a.1)));
        field.truncate(field.len().div_ceil(2));
    }
    let start = score(&first.1);
    let best = field.into_iter().next();
    let (matrix, rates) = best
        .filter(|(_, rates)| mean(rates) > start.samples_per_s)
        .unwrap_or(first);
    Ok(Final {
        matrix,
        score: score(&rates),
        start,
        runs,
    })
}

/// A matrix and the samples a second of its runs.
type Contender = (Matrix, Vec<f64>);

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

fn score(rates: &[f64]) -> Score {
    Score {
        samples_per_s: mean(rates),
        error: crate::metrics::stats::rsd(rates) / (rates.len().max(1) as f64).sqrt(),
    }
}

/// The matrix's rows with those of like devices in order: matrices that differ only in
/// which of several like devices does what are one.
pub(super) fn canonical(matrix: &Matrix, devices: &Devices) -> Vec<Vec<usize>> {
    let mut rows = matrix.rows();
    let all: Vec<&Device> = devices.iter().collect();
    for first in 0..rows.len() {
        for other in first + 1..rows.len() {
            if all[first].kind.is_like(&all[other].kind) && rows[other] > rows[first] {
                rows.swap(first, other);
            }
        }
    }
    rows
}
