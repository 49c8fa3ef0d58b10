//! The last steps where running a matrix costs milliseconds: the neighbours that the
//! model likes best are run in virtual time, and the best one taken while it is better.

use crate::allocation::{Cell, Matrix};

use super::control::Control;
use super::evaluator::{Evaluator, Score, SearchError};
use super::model::ModelEvaluator;
use super::progress::{Tried, changes};

/// Steps at most.
const STEPS: usize = 8;
/// Neighbours that are run in a step.
const NEIGHBOURS: usize = 12;

/// Improves `matrix` of score `score`; the result, its score and how often something
/// was run.
///
/// # Errors
/// A run broke down, or the search was cancelled.
pub(super) fn refine(
    matrix: Matrix,
    score: f64,
    model: &mut ModelEvaluator,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<(Matrix, f64, usize), SearchError> {
    let mut best = (matrix, score);
    let mut runs = 0;
    for _ in 0..STEPS {
        let (from, before) = best.clone();
        let neighbours = likely(&from, model)?;
        control.update(|p| p.expect(neighbours.len()));
        for neighbour in neighbours {
            control.checkpoint()?;
            runs += 1;
            let score = judge.score(&neighbour, best.1)?.samples_per_s;
            let tried = Tried::of(&from, &neighbour, score);
            control.update(|p| {
                p.evaluations += 1;
                p.neighbour += 1;
                p.scores.push(score);
                tried.into_iter().for_each(|tried| p.tried(tried));
                if score > p.best_score.unwrap_or(0.0) {
                    p.lead(&neighbour, Score::exact(score));
                }
            });
            if score > best.1 {
                best = (neighbour, score);
            }
        }
        if best.1 <= before {
            break;
        }
        control.update(|p| p.accept(changes(&from, &best.0), best.1));
    }
    Ok((best.0, best.1, runs))
}

/// The neighbours predicted best, and the matrix without its slowest worker, whose last
/// batch a prediction may take too lightly.
fn likely(matrix: &Matrix, model: &mut ModelEvaluator) -> Result<Vec<Matrix>, SearchError> {
    let mut scored = Vec::new();
    for neighbour in matrix.neighbours() {
        let score = model.score(&neighbour, 0.0)?.samples_per_s;
        if score > 0.0 {
            scored.push((score, neighbour));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(NEIGHBOURS - 1);
    let slowest = matrix.workers().max_by(|a, b| {
        let latency = |cell: Cell, size| model.latency(cell, size);
        latency(a.0, a.1).total_cmp(&latency(b.0, b.1))
    });
    let without = slowest.and_then(|(cell, _)| matrix.with(cell, None).ok());
    let likely = scored.into_iter().map(|(_, matrix)| matrix);
    Ok(without.into_iter().chain(likely).collect())
}
