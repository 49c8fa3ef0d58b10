//! The progress of a search: tried neighbours, steps, and the growth of the best score.

use serde::{Deserialize, Serialize};

use divisi_model::allocation::{Cell, Matrix};
use divisi_model::ensemble::BatchSize;

use super::evaluator::{Doubt, Score};
use super::prediction::predicted::Predicted;
use super::result::{Comparison, SearchResult};

/// The most neighbours kept per iteration.
const MOST_TRIED: usize = 4096;
/// The most steps kept. The oldest are dropped first.
const MOST_ACCEPTED: usize = 256;
/// The most points of the curve.
const MOST_POINTS: usize = 512;

/// How far a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetProgress {
    /// Sets of devices searched.
    pub tried: usize,
    /// Sets of devices that the bounds do not rule out: the most that are searched.
    pub candidates: usize,
}

/// A scored neighbour, which differs in one entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The entry.
    pub cell: Cell,
    /// The new value.
    pub to: Option<BatchSize>,
    /// The neighbour's score.
    pub score: f64,
}

/// A step that a search took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// Evaluations up to this step.
    pub evaluations: usize,
    /// The score of the matrix after the step.
    pub score: f64,
    /// The changed entries. Empty at the start, and when a predicted result is run.
    pub changes: Vec<(Cell, Option<BatchSize>)>,
    /// Whether the matrix was run after predictions. Its score is not comparable with theirs.
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
    /// All neighbours of this iteration.
    pub neighbours: usize,
    /// The share of all neighbours that an iteration visits.
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
    /// The comparison with the start, after alternating runs.
    #[serde(default)]
    pub gain: Option<Comparison>,
    /// The best matrix so far.
    pub best: Option<Matrix>,
    /// Scores of this iteration's neighbours so far.
    pub scores: Vec<f64>,
    /// The best score after each iteration.
    pub history: Vec<f64>,
    /// Matrices scored.
    pub evaluations: usize,
    /// The progress of a plan.
    #[serde(default)]
    pub fleets: FleetProgress,
    /// Whether the search occupies this machine's devices. Predictions do not.
    pub measuring: bool,
    /// Members profiled for this search, counted once per kind of device.
    pub profiled: usize,
    /// The known profiles, including kept ones, and the needed profiles.
    #[serde(default)]
    pub profiles: (usize, usize),
    /// Scored neighbours of this iteration's matrix.
    pub tried: Vec<Tried>,
    /// Steps taken, oldest first, bounded.
    pub accepted: Vec<Accepted>,
    /// The best score by number of evaluations, thinned out to a bounded number of points.
    pub curve: Vec<(usize, f64)>,
    /// An upper bound of the samples per second of all matrices under the policy, by the model.
    pub bound: Option<f64>,
    /// The prediction of the result before it was measured.
    #[serde(default)]
    pub predicted: Option<Predicted>,
    /// For local search: completed climbs, and all climbs.
    #[serde(default)]
    pub climbs: (usize, usize),
}

impl SearchProgress {
    /// Resets the progress for a search from `matrix`.
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

    /// Records the score of a matrix that is not a neighbour.
    pub(super) fn scored(&mut self, score: f64) {
        self.evaluations += 1;
        self.neighbour += 1;
        self.scores.push(score);
    }

    /// Makes `matrix` the best.
    pub(super) fn lead(&mut self, matrix: &Matrix, best: Score) {
        let score = best.samples_per_s;
        self.best_score = Some(score);
        self.best_doubt = best.doubt;
        if self.best.as_ref() != Some(matrix) {
            self.best = Some(matrix.clone());
        }
        let point = (self.evaluations, score);
        match self.curve.last_mut() {
            // Of several points at the same evaluation, only the last counts.
            Some(last) if last.0 == point.0 => *last = point,
            _ => self.curve.push(point),
        }
        thin(&mut self.curve);
    }

    /// Makes `matrix` the best and records the step to it.
    pub(super) fn step_to(&mut self, matrix: &Matrix, score: Score) {
        let old = self.best.as_ref();
        let changes = old.map_or_else(Vec::new, |old| changes(old, matrix));
        self.lead(matrix, score);
        self.accept(changes, score.samples_per_s);
    }

    /// Makes `matrix` the best after it was run together with the start, on a scale other than the
    /// predictions.
    pub(super) fn run(&mut self, matrix: &Matrix, score: Score) {
        self.curve.clear();
        self.step_to(matrix, score);
        if let Some(last) = self.accepted.last_mut() {
            last.run = true;
        }
    }

    /// Shows the final result.
    pub(super) fn show(&mut self, found: &SearchResult) {
        let known = self.best.as_ref() == Some(&found.matrix);
        let measured_anew = self.start_score != Some(found.start_score);
        self.start_score = Some(found.start_score);
        self.start_doubt = found.start_doubt;
        self.gain = found.gain;
        self.predicted = found.predicted;
        if known && self.best_score == Some(found.score) {
            return;
        }
        match measured_anew && self.best_score.is_some() {
            true => self.run(&found.matrix, found.scored()),
            false => self.step_to(&found.matrix, found.scored()),
        }
    }

    /// Records a step.
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

    /// Records a scored neighbour of this iteration's matrix.
    pub(super) fn tried(&mut self, tried: Tried) {
        if self.tried.len() < MOST_TRIED {
            self.tried.push(tried);
        }
    }

    /// Shows the scored neighbours of the current position.
    pub(super) fn show_tried(&mut self, tried: &[Tried]) {
        let most = tried.len().min(MOST_TRIED);
        self.tried.clear();
        self.tried.extend_from_slice(&tried[..most]);
    }

    /// Begins an iteration with this number of neighbours.
    pub(super) fn expect(&mut self, neighbours: usize) {
        self.neighbour = 0;
        self.neighbours = neighbours;
        self.tried.clear();
    }

    /// Returns the expected number of neighbours still to score: the rest of this iteration, and
    /// the same number for each later iteration.
    pub(super) fn left(&self, max_iter: usize) -> usize {
        let iterations = max_iter.saturating_sub(self.iteration);
        let rest = self.neighbours.saturating_sub(self.neighbour);
        rest + iterations * self.neighbours
    }
}

impl Tried {
    /// Returns the change of `neighbour`, or `None` if it does not differ in exactly one entry of
    /// `matrix`.
    pub(super) fn from_neighbour(matrix: &Matrix, neighbour: &Matrix, score: f64) -> Option<Self> {
        match changes(matrix, neighbour)[..] {
            [(cell, to)] => Some(Tried { cell, to, score }),
            _ => None,
        }
    }
}

/// Returns the entries of `new` that differ from `old`. Empty if the matrices are for other
/// devices.
pub(super) fn changes(old: &Matrix, new: &Matrix) -> Vec<(Cell, Option<BatchSize>)> {
    if old.frame() != new.frame() {
        return Vec::new();
    }
    let changed = |cell: &Cell| old.get(*cell) != new.get(*cell);
    let cells = new.cells().filter(changed);
    cells.map(|cell| (cell, new.get(cell))).collect()
}

/// Drops every other point except the first and the last if there are too many.
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
