//! The result of a search, and whether one matrix is faster than another: both run in turn, so that
//! whatever else the machine does meets both alike, and an interval decides. So is confirmed whatever
//! a search found by choosing.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::allocation::Matrix;
use divisi_model::metrics::stats::{mean_and_error, t95};

use super::control::Control;
use super::error::SearchError;
use super::evaluator::{Doubt, Evaluator, Score};
use super::model::RUN;

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
    /// Under load, where the goal asks for it; of several entries that with the highest p99.
    pub latency: Option<LoadedLatency>,
    /// The same of each entry, where several are asked.
    pub by_entry: Vec<EntryLatency>,
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
            by_entry: Vec::new(),
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
    fn or(self, start: &Matrix) -> Self {
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

/// Latencies of an entry of the catalogue, among requests to others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryLatency {
    /// The entry's name.
    pub name: String,
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

/// Latencies under Poisson arrivals of one sample each, in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadedLatency {
    /// Requests a second.
    pub rate: f64,
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

/// Pairs of runs. Fixed, since stopping once it looks well would not keep the 95 %.
const PAIRS: usize = 6;

/// How many times as fast as the start a matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Samples a second over the start's.
    pub ratio: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Pairs of runs that it comes from; 0 where runs are exact.
    pub pairs: usize,
}

impl Comparison {
    /// That of exact figures.
    pub fn exact(start: f64, other: f64) -> Self {
        let ratio = other / start.max(f64::MIN_POSITIVE);
        Comparison {
            ratio,
            low: ratio,
            high: ratio,
            pairs: 0,
        }
    }

    /// That of pairs of runs, the start's samples a second and the other's: Student's
    /// interval of the mean logarithm of their ratio. Everything is possible with fewer
    /// than two pairs.
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Self {
        let logs = pairs.iter().map(|(start, other)| (other / start).ln());
        let (mean, error) = mean_and_error(&logs.collect::<Vec<f64>>());
        let (low, high) = match pairs.len() {
            0 | 1 => (0.0, f64::MAX),
            n => ((mean - t95(n) * error).exp(), (mean + t95(n) * error).exp()),
        };
        Comparison {
            ratio: mean.exp(),
            low,
            high,
            pairs: pairs.len(),
        }
    }

    /// Whether it is faster with more than the chance of a coin.
    pub fn is_better(&self) -> bool {
        self.low > 1.0
    }
}

impl fmt::Display for Comparison {
    /// `+4 … +12 % (95 %, 6 pairs of runs)`, `+8.3 % (exact)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        match self.pairs {
            0 => write!(f, "{:+.1} % (exact)", percent(self.ratio)),
            pairs => write!(
                f,
                "{:+.1} … {:+.1} % (95 %, {pairs} pairs of runs)",
                percent(self.low),
                percent(self.high)
            ),
        }
    }
}

/// Two matrices after runs in turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    /// The score of the start.
    pub start: Score,
    /// The score of the other.
    pub other: Score,
    /// The comparison.
    pub gain: Comparison,
    /// The number of runs.
    pub runs: usize,
}

/// Runs `start` and `other` in turn, about `samples` samples each time; once where runs
/// are exact. `None` where one of them has no room to run in.
///
/// # Errors
/// A run broke down, or the search was cancelled.
pub(super) fn compare(
    start: &Matrix,
    other: &Matrix,
    samples: usize,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<Option<Compared>, SearchError> {
    let mut pairs = Vec::new();
    control.update(|p| p.expect(2 * PAIRS));
    control.begin_phase(0);
    for pair in 0..PAIRS {
        // A B, B A, A B, …: what drifts meets both alike, and half of the changes from
        // one matrix to the other are saved.
        let order = match pair % 2 {
            0 => [start, other],
            _ => [other, start],
        };
        let mut scores = [Score::NONE; 2];
        for (score, matrix) in scores.iter_mut().zip(order) {
            control.checkpoint()?;
            *score = judge.glance(matrix, samples)?;
            control.update(|p| p.scored(score.samples_per_s));
        }
        if scores.iter().any(|s| s.samples_per_s <= 0.0) {
            return Ok(None);
        }
        if pair % 2 == 1 {
            scores.reverse();
        }
        if scores.iter().all(|s| s.doubt == Doubt::Exact) {
            return Ok(Some(Compared::exact(scores)));
        }
        pairs.push((scores[0].samples_per_s, scores[1].samples_per_s));
    }
    Ok(Some(Compared::of(&pairs)))
}

impl Compared {
    fn exact([start, other]: [Score; 2]) -> Self {
        Compared {
            gain: Comparison::exact(start.samples_per_s, other.samples_per_s),
            start,
            other,
            runs: 2,
        }
    }

    fn of(pairs: &[(f64, f64)]) -> Self {
        let (starts, others): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Compared {
            start: Score::of_runs(&starts),
            other: Score::of_runs(&others),
            gain: Comparison::of_pairs(pairs),
            runs: 2 * pairs.len(),
        }
    }
}

/// Runs the result of a search over runs once more in turn with the `start`: its score was
/// the best of many and is too good. Returns the start unless the result is certainly faster.
/// Exact scores stay as they are.
///
/// # Errors
/// A run broke down, or the search was cancelled.
pub fn confirm(
    start: &Matrix,
    found: SearchResult,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<SearchResult, SearchError> {
    if found.matrix == *start {
        return Ok(found);
    }
    if found.doubt == Doubt::Exact {
        let gain = Comparison::exact(found.start_score, found.score);
        return Ok(SearchResult {
            gain: Some(gain),
            ..found
        });
    }
    Ok(match compare(start, &found.matrix, RUN, judge, control)? {
        Some(compared) => found.compared(compared).or(start),
        None => found,
    })
}

/// Scores the matrix of a rule beside the start, if the two differ.
pub(super) fn measured(
    start: &Matrix,
    matrix: Matrix,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<SearchResult, SearchError> {
    control.checkpoint()?;
    let first = judge.score(start, 0.0)?;
    control.update(|p| {
        p.evaluations += 1;
        p.set_out(start, first);
    });
    let found = SearchResult {
        evaluations: 1,
        ..SearchResult::of(start.clone(), first, first)
    };
    if matrix == *start {
        return Ok(found);
    }
    let compared = compare(start, &matrix, RUN, judge, control)?;
    let found = SearchResult { matrix, ..found };
    Ok(match compared {
        Some(compared) => found.compared(compared),
        None => {
            let score = judge.score(&found.matrix, 0.0)?;
            SearchResult {
                score: score.samples_per_s,
                doubt: score.doubt,
                ..found
            }
        }
    })
}
