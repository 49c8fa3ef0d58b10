//! The result of a search.

use crate::allocation::Matrix;

use super::comparison::{Compared, Comparison};
use super::evaluator::{Doubt, Score};
use super::goal::LoadedLatency;

/// The result of a search: a matrix with its figures.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The matrix.
    pub matrix: Matrix,
    /// Its samples a second.
    pub score: f64,
    /// The uncertainty of that.
    pub doubt: Doubt,
    /// Samples a second of the start.
    pub start_score: f64,
    /// The uncertainty of that.
    pub start_doubt: Doubt,
    /// The comparison with the start, from runs in turn; `None` if the matrix is the start,
    /// or nothing was run.
    pub gain: Option<Comparison>,
    /// The number of evaluations.
    pub evaluations: usize,
    /// The number of iterations.
    pub iterations: usize,
    /// Share of all neighbours that an iteration visited at most.
    pub coverage: f64,
    /// Samples a second of this matrix as the model predicts.
    pub predicted: Option<f64>,
    /// Samples a second of this matrix in the long run: simulated where every device
    /// is, else as the model predicts.
    pub steady: Option<Score>,
    /// Samples a second that no matrix exceeds in the long run under the ensemble's
    /// policy, by the model.
    pub bound: Option<f64>,
    /// Under load, where the goal asks for it.
    pub latency: Option<LoadedLatency>,
    /// The part of the goal that no matrix found reaches, in words; this one comes closest.
    pub shortfall: Option<String>,
}

/// The distance of a matrix from the bound, as a share of the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// It is lower by this share; 0 if it cannot be told from the bound.
    Lacks(f64),
    /// It is higher by this share: the assumptions of the bound do not hold.
    Exceeds(f64),
}

impl SearchResult {
    /// Returns a matrix with its score and the start's, without other figures.
    pub fn of(matrix: Matrix, score: Score, start: Score) -> Self {
        SearchResult {
            matrix,
            score: score.samples_per_s,
            doubt: score.doubt,
            start_score: start.samples_per_s,
            start_doubt: start.doubt,
            gain: None,
            evaluations: 0,
            iterations: 0,
            coverage: 1.0,
            predicted: None,
            steady: None,
            bound: None,
            latency: None,
            shortfall: None,
        }
    }

    /// Returns its score.
    pub fn scored(&self) -> Score {
        Score {
            samples_per_s: self.score,
            doubt: self.doubt,
        }
    }

    /// Returns its distance from the bound in the long run, if both are known.
    pub fn gap(&self) -> Option<Gap> {
        let (bound, steady) = self.bound.zip(self.steady)?;
        let share = 1.0 - steady.samples_per_s / bound.max(f64::MIN_POSITIVE);
        // One run in the long run says nothing of its error, and excuses nothing.
        let margin = Some(steady.doubt.margin()).filter(|m| m.is_finite());
        Some(match share < -margin.unwrap_or(0.0).max(ROUNDING) {
            true => Gap::Exceeds(-share),
            false => Gap::Lacks(share.max(0.0)),
        })
    }

    /// Returns the result with the figures of runs in turn with the start.
    pub(super) fn compared(self, compared: Compared) -> Self {
        SearchResult {
            score: compared.other.samples_per_s,
            doubt: compared.other.doubt,
            start_score: compared.start.samples_per_s,
            start_doubt: compared.start.doubt,
            gain: Some(compared.gain),
            evaluations: self.evaluations + compared.runs,
            ..self
        }
    }

    /// Returns the start instead, unless this matrix is certainly faster.
    pub(super) fn or(self, start: &Matrix) -> Self {
        match self.gain {
            Some(gain) if !gain.is_better() => SearchResult {
                matrix: start.clone(),
                score: self.start_score,
                doubt: self.start_doubt,
                ..self
            },
            _ => self,
        }
    }
}

/// A share that is nothing but rounding.
const ROUNDING: f64 = 1e-6;
