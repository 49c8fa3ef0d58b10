//! What a search came to.

use crate::allocation::Matrix;

use super::comparison::{Compared, Comparison};
use super::evaluator::{Doubt, Score};
use super::goal::LoadedLatency;

/// What a search found.
#[derive(Clone, Debug)]
pub struct SearchResult {
    pub matrix: Matrix,
    /// Samples a second, and how sure that is.
    pub score: f64,
    pub doubt: Doubt,
    pub start_score: f64,
    pub start_doubt: Doubt,
    /// What was found against the start, run in turn with it; `None` where that is the
    /// start itself, or nothing was run.
    pub gain: Option<Comparison>,
    pub evaluations: usize,
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
    /// What the goal asks and no matrix found gives; this one comes closest.
    pub shortfall: Option<String>,
}

/// Where a matrix stands to the bound, as a share of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// What it lacks; 0 where it cannot be told from the bound.
    Lacks(f64),
    /// It does so much more: what the bound rests on does not hold.
    Exceeds(f64),
}

impl SearchResult {
    /// A matrix with its score and the start's, and nothing else said of it.
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

    /// Its score with how sure that is.
    pub fn scored(&self) -> Score {
        Score {
            samples_per_s: self.score,
            doubt: self.doubt,
        }
    }

    /// How far it is from the bound in the long run.
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

    /// What runs in turn with the start's said of it.
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

    /// The same where the start stays unless this was faster for sure.
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
