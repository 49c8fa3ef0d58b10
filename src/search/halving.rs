//! The best few matrices are run at last: all briefly, the better half longer, and who
//! leads then once more in turn with the start.

use crate::allocation::Matrix;
use crate::device::{Device, Devices};
use crate::metrics::stats::mean_and_error;

use super::comparison::{Comparison, compare};
use super::control::Control;
use super::error::SearchError;
use super::evaluator::{Evaluator, Score};

/// Samples of a round for each matrix still in it.
const SAMPLES: usize = 384;
/// Rounds that a matrix can be in.
const ROUNDS: usize = 2;

/// The winner, with the figures of the start beside it.
#[derive(Clone, Debug)]
pub(super) struct Final {
    /// The matrix.
    pub matrix: Matrix,
    /// Its score.
    pub score: Score,
    /// The score of the start.
    pub start: Score,
    /// The comparison, or `None` if there was no contender or no room to run in.
    pub gain: Option<Comparison>,
    /// The number of runs.
    pub runs: usize,
}

/// Runs the contenders, then the better half of them again (successive halving), then who
/// leads in turn with the start. What wins was faster than the start for sure in these
/// last runs, which nothing was chosen by; else the start does.
///
/// # Errors
/// A run broke down, or the search was cancelled.
pub(super) fn halving(
    start: &Matrix,
    contenders: Vec<Matrix>,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<Final, SearchError> {
    let others = contenders.into_iter().filter(|m| m != start);
    let mut field: Vec<Contender> = others.map(|m| (m, Vec::new())).collect();
    let mut runs = 0;
    control.update(|p| p.expect(field.len() + field.len().div_ceil(2)));
    control.begin_phase(0);
    for _ in 0..ROUNDS {
        for (matrix, rates) in &mut field {
            control.checkpoint()?;
            rates.push(judge.glance(matrix, SAMPLES)?.samples_per_s);
            runs += 1;
            control.update(|p| p.scored(mean_and_error(rates).0));
        }
        field.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        field.truncate(field.len().div_ceil(2));
    }
    let mut won = match field.into_iter().next() {
        Some(leader) => challenged(start, leader, judge, control)?,
        None => alone(start, judge)?,
    };
    won.runs += runs;
    Ok(won)
}

/// The start against who leads.
fn challenged(
    start: &Matrix,
    (matrix, rates): Contender,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<Final, SearchError> {
    let Some(compared) = compare(start, &matrix, SAMPLES, judge, control)? else {
        // One of the two has no room beside what serves.
        return Ok(Final {
            score: Score::of_runs(&rates),
            start: Score::NONE,
            gain: None,
            runs: 1,
            matrix,
        });
    };
    let (matrix, score) = match compared.gain.is_better() {
        true => (matrix, compared.other),
        false => (start.clone(), compared.start),
    };
    Ok(Final {
        matrix,
        score,
        start: compared.start,
        gain: Some(compared.gain),
        runs: compared.runs,
    })
}

/// Nobody challenges the start.
fn alone(start: &Matrix, judge: &mut dyn Evaluator) -> Result<Final, SearchError> {
    let score = judge.score(start, 0.0)?;
    Ok(Final {
        matrix: start.clone(),
        score,
        start: score,
        gain: None,
        runs: 1,
    })
}

/// A matrix and the samples a second of its runs.
type Contender = (Matrix, Vec<f64>);

fn mean((_, rates): &Contender) -> f64 {
    mean_and_error(rates).0
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
