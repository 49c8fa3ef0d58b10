//! Bounded greedy (the paper, algorithm 2): from a start, moves to the best neighbour while it is
//! strictly better. One member alone often limits the throughput of a run, so dozens of neighbours
//! have equal scores. The paper stops there. The default continues with the long-run throughput
//! ([`Ties::LongRun`]). The search never moves to an equal neighbour.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use divisi_model::allocation::Matrix;

use super::control::Control;
use super::error::SearchError;
use super::evaluator::Evaluator;
use super::progress::{SearchProgress, Tried, changes};
use super::result::SearchResult;

/// The limits of a search, and its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The most iterations.
    pub max_iter: usize,
    /// The most neighbours of an iteration.
    pub max_neighs: usize,
    /// The seed of the choice of neighbours.
    pub seed: u64,
}

/// The rule for matrices of equal score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Stop: an equal matrix is not better, as in the paper.
    Stop,
    /// Prefer more samples per second in the long run.
    LongRun,
}

impl Default for Bounds {
    /// Returns the paper's bounds (section III): 10 iterations, 100 neighbours.
    fn default() -> Self {
        Bounds {
            max_iter: 10,
            max_neighs: 100,
            seed: 1,
        }
    }
}

impl Bounds {
    /// Returns the iterations for a matrix: at least devices − members, so that every device can be
    /// used (the paper, section III).
    pub fn iterations(&self, matrix: &Matrix) -> usize {
        let frame = matrix.frame();
        let spare = frame.devices.len().saturating_sub(frame.members.len());
        self.max_iter.max(spare)
    }
}

/// Improves `start` within `bounds`, and reports progress in `control`. If scores are not exact,
/// the result's score is the best of many and too high: measure it again.
///
/// # Errors
/// The evaluator failed, or the search was cancelled (`control` keeps the best matrix).
pub fn greedy(
    start: Matrix,
    bounds: Bounds,
    evaluator: &mut dyn Evaluator,
    control: &Control,
) -> Result<SearchResult, SearchError> {
    greedy_by(start, bounds, Ties::LongRun, evaluator, control)
}

/// Improves `start` like [`greedy`], with the given rule for `ties`. [`Ties::Stop`] is the paper's
/// algorithm 2.
///
/// # Errors
/// See [`greedy`].
pub fn greedy_by(
    start: Matrix,
    bounds: Bounds,
    ties: Ties,
    evaluator: &mut dyn Evaluator,
    control: &Control,
) -> Result<SearchResult, SearchError> {
    control.checkpoint()?;
    let first = evaluator.score(&start, 0.0)?;
    let mut found = SearchResult {
        evaluations: 1,
        ..SearchResult::new(start, first, first)
    };
    let mut random = ChaCha8Rng::seed_from_u64(bounds.seed);
    announce(control, &found);
    let iterations = bounds.iterations(&found.matrix);
    control.begin_phase(iterations);
    for iteration in 0..iterations {
        let neighbours = draw(&found, bounds.max_neighs, &mut random);
        found.coverage = found.coverage.min(neighbours.coverage);
        control.update(|p| begin(p, iteration, &neighbours));
        let from = found.matrix.clone();
        let better = best_of(
            &from,
            neighbours.matrices,
            ties,
            &mut found,
            evaluator,
            control,
        )?;
        found.iterations = iteration + 1;
        control.update(|p| {
            p.history.push(found.score);
            if better {
                p.accept(changes(&from, &found.matrix), found.score);
            }
        });
        if !better {
            break;
        }
    }
    Ok(found)
}

struct Drawn {
    matrices: Vec<Matrix>,
    coverage: f64,
}

fn draw(found: &SearchResult, most: usize, random: &mut ChaCha8Rng) -> Drawn {
    let mut matrices = found.matrix.neighbours();
    let all = matrices.len().max(1);
    if matrices.len() > most {
        matrices.shuffle(random);
        matrices.truncate(most);
    }
    Drawn {
        coverage: matrices.len() as f64 / all as f64,
        matrices,
    }
}

/// Scores that differ by less than this share are equal except for rounding.
const EQUAL: f64 = 1e-9;

/// Scores every neighbour and moves to the best one if it is strictly better: by its score, or for
/// equal scores by `ties`.
fn best_of(
    from: &Matrix,
    neighbours: Vec<Matrix>,
    ties: Ties,
    found: &mut SearchResult,
    evaluator: &mut dyn Evaluator,
    control: &Control,
) -> Result<bool, SearchError> {
    let mut moved = false;
    let long_run = |matrix: &Matrix, evaluator: &mut dyn Evaluator| match ties {
        Ties::Stop => 0.0,
        Ties::LongRun => evaluator.steady(matrix),
    };
    let mut steady = long_run(&found.matrix, evaluator);
    for matrix in neighbours {
        control.checkpoint()?;
        let score = evaluator.score(&matrix, found.score)?;
        found.evaluations += 1;
        let equal = (score.samples_per_s - found.score).abs() <= EQUAL * found.score;
        let long = match equal {
            true => long_run(&matrix, evaluator),
            false => 0.0,
        };
        let better = match equal {
            true => long > steady * (1.0 + EQUAL),
            false => score.samples_per_s > found.score,
        };
        let tried = Tried::from_neighbour(from, &matrix, score.samples_per_s);
        if better {
            steady = match equal {
                true => long,
                false => long_run(&matrix, evaluator),
            };
            moved = true;
            found.matrix = matrix;
            found.score = score.samples_per_s;
            found.doubt = score.doubt;
        }
        control.update(|p| {
            p.neighbour += 1;
            p.evaluations = found.evaluations;
            p.scores.push(score.samples_per_s);
            tried.into_iter().for_each(|tried| p.tried(tried));
            if better {
                p.lead(&found.matrix, score);
            }
        });
    }
    Ok(moved)
}

fn announce(control: &Control, found: &SearchResult) {
    control.update(|p| {
        p.evaluations = found.evaluations;
        p.set_out(&found.matrix, found.scored());
    });
}

fn begin(progress: &mut SearchProgress, iteration: usize, drawn: &Drawn) {
    progress.iteration = iteration + 1;
    progress.expect(drawn.matrices.len());
    progress.coverage = drawn.coverage;
    progress.scores.clear();
}
