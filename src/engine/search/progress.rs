//! The progress of a search: neighbours tried, steps taken, the growth of the best score.

use serde::{Deserialize, Serialize};

use divisi_model::allocation::{Cell, Matrix};
use divisi_model::ensemble::BatchSize;

use super::evaluator::{Doubt, Score};
use super::result::{Comparison, SearchResult};

/// Neighbours of one iteration that are kept at most.
const MOST_TRIED: usize = 4096;
/// Steps that are kept at most; the oldest go first.
const MOST_ACCEPTED: usize = 256;
/// Points of the curve at most.
const MOST_POINTS: usize = 512;

/// One neighbour that was scored: one entry otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The entry.
    pub cell: Cell,
    /// Its new value.
    pub to: Option<BatchSize>,
    /// The neighbour's score.
    pub score: f64,
}

/// A step that a search took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// Evaluations until then.
    pub evaluations: usize,
    /// The score of the matrix after it.
    pub score: f64,
    /// Entries that differ from the matrix before; empty at the start, and where what
    /// was found is run.
    pub changes: Vec<(Cell, Option<BatchSize>)>,
    /// It was run after predictions: its score is not to be compared with theirs.
    #[serde(default)]
    pub run: bool,
}

/// The progress of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchProgress {
    /// The iteration, from 1.
    pub iteration: usize,
    /// Neighbours scored in this iteration.
    pub neighbour: usize,
    /// Neighbours of this iteration in all.
    pub neighbours: usize,
    /// Share of all neighbours that an iteration visits.
    pub coverage: f64,
    /// The score of the start.
    pub start_score: Option<f64>,
    /// The score of the best matrix.
    pub best_score: Option<f64>,
    /// The uncertainty of the start's score.
    #[serde(default)]
    pub start_doubt: Doubt,
    /// The uncertainty of the best score.
    #[serde(default)]
    pub best_doubt: Doubt,
    /// The comparison with the start, once the two were run in turn.
    #[serde(default)]
    pub gain: Option<Comparison>,
    /// The best matrix so far.
    pub best: Option<Matrix>,
    /// Scores of this iteration's neighbours so far.
    pub scores: Vec<f64>,
    /// Best score after each iteration.
    pub history: Vec<f64>,
    /// Matrices scored.
    pub evaluations: usize,
    /// Of a plan: sets of devices searched, and those that were ruled out.
    pub fleets: (usize, usize),
    /// It occupies this machine's devices; a model's predictions do not.
    pub measuring: bool,
    /// Members profiled for this search, counted once a kind of device.
    pub profiled: usize,
    /// Profiles that are known so far, kept ones among them, and those that it needs.
    #[serde(default)]
    pub profiles: (usize, usize),
    /// Neighbours of this iteration's matrix that were scored so far.
    pub tried: Vec<Tried>,
    /// Steps taken, oldest first, bounded.
    pub accepted: Vec<Accepted>,
    /// Best score after so many evaluations, thinned out to a bounded number of points.
    pub curve: Vec<(usize, f64)>,
    /// Samples a second that no matrix exceeds under the policy, by the model.
    pub bound: Option<f64>,
    /// Of local search: climbs that ended, and how many there will be.
    #[serde(default)]
    pub climbs: (usize, usize),
}

impl SearchProgress {
    /// A search sets out from `matrix`.
    pub(super) fn set_out(&mut self, matrix: &Matrix, start: Score) {
        self.start(start);
        self.lead(matrix, start);
        self.accept(Vec::new(), start.samples_per_s);
        self.history.push(start.samples_per_s);
    }

    /// Sets the score of the start.
    pub(super) fn start(&mut self, start: Score) {
        self.start_score = Some(start.samples_per_s);
        self.start_doubt = start.doubt;
    }

    /// A matrix that is no neighbour was scored.
    pub(super) fn scored(&mut self, score: f64) {
        self.evaluations += 1;
        self.neighbour += 1;
        self.scores.push(score);
    }

    /// `matrix` is the best from now on.
    pub(super) fn lead(&mut self, matrix: &Matrix, best: Score) {
        let score = best.samples_per_s;
        self.best_score = Some(score);
        self.best_doubt = best.doubt;
        if self.best.as_ref() != Some(matrix) {
            self.best = Some(matrix.clone());
        }
        let point = (self.evaluations, score);
        match self.curve.last_mut() {
            // Within one publication only the last counts.
            Some(last) if last.0 == point.0 => *last = point,
            _ => self.curve.push(point),
        }
        thin(&mut self.curve);
    }

    /// `matrix` is the best from now on, and the step to it counts.
    pub(super) fn step_to(&mut self, matrix: &Matrix, score: Score) {
        let old = self.best.as_ref();
        let changes = old.map_or_else(Vec::new, |old| changes(old, matrix));
        self.lead(matrix, score);
        self.accept(changes, score.samples_per_s);
    }

    /// Notes that `matrix` was run beside the start and is the best, by another measure than
    /// before.
    pub(super) fn run(&mut self, matrix: &Matrix, score: Score) {
        self.curve.clear();
        self.step_to(matrix, score);
        if let Some(last) = self.accepted.last_mut() {
            last.run = true;
        }
    }

    /// This is what came of it all.
    pub(super) fn show(&mut self, found: &SearchResult) {
        let known = self.best.as_ref() == Some(&found.matrix);
        let measured_anew = self.start_score != Some(found.start_score);
        self.start_score = Some(found.start_score);
        self.start_doubt = found.start_doubt;
        self.gain = found.gain;
        if known && self.best_score == Some(found.score) {
            return;
        }
        match measured_anew && self.best_score.is_some() {
            true => self.run(&found.matrix, found.scored()),
            false => self.step_to(&found.matrix, found.scored()),
        }
    }

    /// A step was taken.
    pub(super) fn accept(&mut self, changes: Vec<(Cell, Option<BatchSize>)>, score: f64) {
        if self.accepted.len() >= MOST_ACCEPTED {
            self.accepted.remove(0);
        }
        self.accepted.push(Accepted {
            evaluations: self.evaluations,
            score,
            changes,
            run: false,
        });
    }

    /// A neighbour of this iteration's matrix was scored.
    pub(super) fn tried(&mut self, tried: Tried) {
        if self.tried.len() < MOST_TRIED {
            self.tried.push(tried);
        }
    }

    /// These neighbours of where the search is were scored.
    pub(super) fn show_tried(&mut self, tried: &[Tried]) {
        let most = tried.len().min(MOST_TRIED);
        self.tried.clear();
        self.tried.extend_from_slice(&tried[..most]);
    }

    /// From now on other neighbours are scored, so many.
    pub(super) fn expect(&mut self, neighbours: usize) {
        self.neighbour = 0;
        self.neighbours = neighbours;
        self.tried.clear();
    }

    /// Neighbours that are still to be scored, as far as anybody knows: those of this
    /// iteration, and as many in each of the iterations after it.
    pub(super) fn left(&self, max_iter: usize) -> usize {
        let iterations = max_iter.saturating_sub(self.iteration);
        let rest = self.neighbours.saturating_sub(self.neighbour);
        rest + iterations * self.neighbours
    }
}

impl Tried {
    /// Returns the change of `neighbour`, or `None` unless it is one entry of `matrix`.
    pub(super) fn of(matrix: &Matrix, neighbour: &Matrix, score: f64) -> Option<Self> {
        match changes(matrix, neighbour)[..] {
            [(cell, to)] => Some(Tried { cell, to, score }),
            _ => None,
        }
    }
}

/// Entries of `new` that `old` has otherwise; none where they are on other devices.
pub(super) fn changes(old: &Matrix, new: &Matrix) -> Vec<(Cell, Option<BatchSize>)> {
    if old.frame() != new.frame() {
        return Vec::new();
    }
    let changed = |cell: &Cell| old.get(*cell) != new.get(*cell);
    let cells = new.cells().filter(changed);
    cells.map(|cell| (cell, new.get(cell))).collect()
}

/// Leaves out every other point but the first and the last where there are too many.
fn thin(curve: &mut Vec<(usize, f64)>) {
    if curve.len() <= MOST_POINTS {
        return;
    }
    let last = curve.len() - 1;
    let mut index = 0;
    curve.retain(|_| {
        index += 1;
        (index - 1) % 2 == 0 || index - 1 == last
    });
}
