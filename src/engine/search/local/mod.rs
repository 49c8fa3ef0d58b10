//! Local search with the model: moves of one and two entries, from several starts.
//!
//! It climbs from worst-fit's matrix and from best-batch's. For equal scores it compares the
//! long-run throughput of the linear program (`Evaluator::steady`), so that a climb does not stop
//! on a plateau. A neighbour costs one or two microseconds, because entries are numbers and memory
//! is sums.

mod moves;
mod position;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use divisi_model::allocation::Frame;

use super::control::Control;
use super::error::Stopped;
use super::evaluator::Score;
use super::prediction::predicted::PredictionBasis;
use super::progress::{SearchProgress, Tried};

use moves::{Move, pairs, promising, remove};

pub use position::{EntryEdit, MemoryBudget, Position};

/// A smaller improvement is rounding.
const BETTER: f64 = 1.0 + 1e-7;
/// A smaller loss is rounding.
const SAME: f64 = 1.0 - 1e-9;
/// The fewest entries drawn before a restart. The number grows up to half of the matrix.
const LEAST_DRAWN: usize = 3;
/// The time between two updates of the progress. At hundreds of thousands of evaluations per
/// second, an update for each would take longer than the search.
const PUBLISH_EVERY: Duration = Duration::from_millis(40);
/// The most steps of one climb. Never reached, because each step is strictly better.
const MOST_STEPS: usize = 10_000;

/// A search in progress, with its counters and its observer.
///
/// Steepest ascent over [`Position`]s. It changes one entry while that improves the score,
/// otherwise two. It climbs from the start, and again from positions drawn around the best.
pub struct LocalSearch<'a> {
    control: &'a Control,
    frame: &'a Arc<Frame>,
    /// The number of the largest batch size allowed.
    largest: usize,
    /// Matrices scored.
    pub evaluations: usize,
    /// Steps taken.
    pub steps: usize,
    /// Evaluations and steps of the earlier searches.
    before: (usize, usize),
    /// The scored moves of one entry from the current position.
    tried: Vec<Tried>,
    published: Instant,
    /// The half-width of the intervals of predictions as a factor.
    spread: f64,
}

/// The result of a climb.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalOptimum {
    /// The numbers of the entries' batch sizes.
    pub entries: Vec<Option<usize>>,
    /// The score.
    pub score: f64,
}

impl<'a> LocalSearch<'a> {
    /// Creates a search that reports progress in `control`.
    pub fn new(control: &'a Control, frame: &'a Arc<Frame>) -> Self {
        LocalSearch {
            control,
            frame,
            largest: usize::MAX,
            evaluations: 0,
            steps: 0,
            before: (control.evaluations(), control.progress().iteration),
            tried: Vec::new(),
            published: Instant::now(),
            spread: PredictionBasis::Profiles.prior(),
        }
    }

    /// Sets the half-width of the intervals of predictions, as a factor.
    #[must_use]
    pub fn with_spread(self, spread: f64) -> Self {
        LocalSearch { spread, ..self }
    }

    /// Restricts the search to batch sizes up to number `largest`.
    #[must_use]
    pub fn up_to(self, largest: usize) -> Self {
        LocalSearch { largest, ..self }
    }

    /// Climbs from `start` and from positions around the best. Returns all optima, the best first.
    ///
    /// # Errors
    /// The search was cancelled; `control` keeps the best.
    pub fn climb_all(
        &mut self,
        start: &mut Position<'_>,
        restarts: usize,
        seed: u64,
    ) -> Result<Vec<LocalOptimum>, Stopped> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let from = start.entries().to_vec();
        self.climb(start)?;
        let mut optima = vec![optimum(start)];
        for restart in 0..restarts {
            let base = if restart % 2 == 0 {
                &optima[0].entries
            } else {
                &from
            };
            start.go_to(base);
            perturb(start, restart, &mut random);
            self.climb(start)?;
            let found = optimum(start);
            if optima.iter().all(|s| s.entries != found.entries) {
                optima.push(found);
            }
            optima.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        Ok(optima)
    }

    /// Climbs until no step is better, then removes workers that contribute nothing, because their
    /// memory may make room for others.
    ///
    /// # Errors
    /// The search was cancelled.
    pub fn climb(&mut self, position: &mut Position<'_>) -> Result<(), Stopped> {
        for _ in 0..MOST_STEPS {
            self.control.checkpoint()?;
            self.tried.clear();
            let Some(step) = self.best_step(position)? else {
                if !self.dismiss(position) {
                    self.publish();
                    self.control.update(|p| p.climbs.0 += 1);
                    return Ok(());
                }
                continue;
            };
            position.go(step.edits());
            self.steps += 1;
            self.note(position);
        }
        Ok(())
    }

    /// Removes one worker that contributes nothing. Returns `false` if there is none.
    fn dismiss(&mut self, position: &mut Position<'_>) -> bool {
        let workers = position.cells();
        let workers: Vec<_> = workers.filter(|c| position.get(*c).is_some()).collect();
        for cell in workers {
            let edit = [remove(cell)];
            if !position.allows(&edit) {
                continue;
            }
            self.evaluations += 1;
            if position.score_with(&edit) >= position.score() * SAME {
                position.go(&edit);
                return true;
            }
        }
        false
    }

    fn best_step(&mut self, position: &mut Position<'_>) -> Result<Option<Move>, Stopped> {
        let mut edits = promising(position);
        edits.retain(|edit| edit.to.is_none_or(|size| size <= self.largest));
        if let Some(step) = self.best_single(position, &edits) {
            return Ok(Some(step));
        }
        for edit in edits.iter().filter(|edit| edit.to.is_some()) {
            self.control.checkpoint()?;
            self.publish_if_due();
            let pairs = pairs(position, *edit);
            // The first promising entry with room is good enough. Examining all of them takes most
            // of the time and gains almost nothing.
            if let Some(step) = self.best_of(position, pairs) {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// Returns the best change of one entry, and records all of them.
    fn best_single(&mut self, position: &mut Position<'_>, edits: &[EntryEdit]) -> Option<Move> {
        let mut best = (position.score() * BETTER, None);
        for edit in edits {
            if !position.allows(&[*edit]) {
                continue;
            }
            self.evaluations += 1;
            let score = position.score_with(&[*edit]);
            self.tried.push(Tried {
                cell: edit.cell,
                to: edit.to.map(|size| position.rates().sizes()[size]),
                score,
            });
            if score > best.0 {
                best = (score, Some(Move::from_edits(&[*edit])));
            }
        }
        best.1
    }

    fn best_of(
        &mut self,
        position: &mut Position<'_>,
        steps: impl IntoIterator<Item = Move>,
    ) -> Option<Move> {
        let mut best = (position.score() * BETTER, None);
        for step in steps {
            if !position.allows(step.edits()) {
                continue;
            }
            self.evaluations += 1;
            let score = position.score_with(step.edits());
            if score > best.0 {
                best = (score, Some(step));
            }
        }
        best.1
    }

    fn note(&mut self, position: &Position<'_>) {
        let (score, spread) = (position.score(), self.spread);
        let due = self.published.elapsed() >= PUBLISH_EVERY;
        let (evaluations, steps) = (self.before.0 + self.evaluations, self.before.1 + self.steps);
        self.control.update(|p: &mut SearchProgress| {
            p.iteration = steps;
            p.evaluations = evaluations;
            p.scores.push(score);
            if p.best_score.is_none_or(|best| score > best)
                && let Ok(matrix) = position.matrix(self.frame)
            {
                p.step_to(&matrix, Score::predicted(score, spread));
                p.history.push(score);
            }
        });
        if due {
            self.publish();
        }
    }

    fn publish_if_due(&mut self) {
        if self.published.elapsed() >= PUBLISH_EVERY {
            self.publish();
        }
    }

    /// Reports the tried moves and the counters.
    fn publish(&mut self) {
        self.published = Instant::now();
        let evaluations = self.before.0 + self.evaluations;
        self.control.update(|p: &mut SearchProgress| {
            p.evaluations = evaluations;
            p.show_tried(&self.tried);
        });
    }
}

fn optimum(position: &Position<'_>) -> LocalOptimum {
    LocalOptimum {
        entries: position.entries().to_vec(),
        score: position.score(),
    }
}

/// Changes a few or many entries at random, as far as they fit.
fn perturb(position: &mut Position<'_>, restart: usize, random: &mut ChaCha8Rng) {
    let cells: Vec<_> = position.cells().collect();
    let most = (cells.len() / 2).max(LEAST_DRAWN);
    let count = (LEAST_DRAWN << (restart / 2)).min(most);
    for _ in 0..count {
        let Some(cell) = cells.choose(random) else {
            return;
        };
        let sizes = position.rates().sizes().len();
        let to = match random.random_range(0..=sizes) {
            0 => None,
            size => Some(size - 1),
        };
        let edit = [EntryEdit { cell: *cell, to }];
        if position.get(*cell) != to && position.allows(&edit) {
            position.go(&edit);
        }
    }
}
