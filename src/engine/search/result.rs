//! The result of a search, and the comparison of two matrices. Both run alternately, so that
//! disturbances of the machine affect both equally, and a confidence interval decides. The result
//! of a search by runs is confirmed in the same way.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::allocation::Matrix;
use divisi_model::metrics::stats::{mean_and_error, t95};

use super::control::Control;
use super::error::SearchError;
use super::evaluator::{Doubt, Evaluator, Score};
use super::model::RUN;
use super::occasion::Occasion;
use super::prediction::predicted::Predicted;

/// The result of a search: a matrix with its figures.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The matrix.
    pub matrix: Matrix,
    /// The samples per second of the matrix.
    pub score: f64,
    /// The uncertainty of the score.
    pub doubt: Doubt,
    /// The samples per second of the start.
    pub start_score: f64,
    /// The uncertainty of the score.
    pub start_doubt: Doubt,
    /// The comparison with the start from alternating runs. `None` if the matrix is the start, or
    /// if nothing was run.
    pub gain: Option<Comparison>,
    /// The number of evaluations.
    pub evaluations: usize,
    /// The number of iterations.
    pub iterations: usize,
    /// The largest share of all neighbours that an iteration visited.
    pub coverage: f64,
    /// The predicted samples per second of a run of the matrix.
    pub predicted: Option<Predicted>,
    /// The samples per second of the matrix in the long run: simulated if every device is,
    /// otherwise predicted.
    pub steady: Option<Score>,
    /// An upper bound of the long-run samples per second of all matrices under the ensemble's
    /// policy, by the model.
    pub bound: Option<f64>,
    /// The latency under load, if the goal requires it. For several entries, the latency of the
    /// entry with the highest p99.
    pub latency: Option<LoadedLatency>,
    /// The latency of each entry, if there are several.
    pub by_entry: Vec<EntryLatency>,
    /// The part of the goal that no matrix reached, in words. The matrix is then the closest one.
    pub shortfall: Option<String>,
    /// The time of the measurements and the load of the host, or `None` for a quiet search.
    pub occasion: Option<Occasion>,
}

/// The distance of a matrix from the bound, as a share of the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// It is lower by this share, or 0 if the difference is not significant.
    Lacks(f64),
    /// It is higher by this share, so the assumptions of the bound do not hold.
    Exceeds(f64),
}

impl SearchResult {
    /// Returns a matrix with its score and the start's, without other figures.
    pub fn new(matrix: Matrix, score: Score, start: Score) -> Self {
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
            occasion: None,
        }
    }

    /// Returns the score with its uncertainty.
    pub fn scored(&self) -> Score {
        Score {
            samples_per_s: self.score,
            doubt: self.doubt,
        }
    }

    /// Returns the distance from the bound in the long run, or `None` if one of them is unknown.
    pub fn gap(&self) -> Option<Gap> {
        let (bound, steady) = self.bound.zip(self.steady)?;
        let share = 1.0 - steady.samples_per_s / bound.max(f64::MIN_POSITIVE);
        // The error of a single run is unknown, so there is no margin.
        let margin = Some(steady.doubt.margin()).filter(|m| m.is_finite());
        Some(match share < -margin.unwrap_or(0.0).max(ROUNDING) {
            true => Gap::Exceeds(-share),
            false => Gap::Lacks(share.max(0.0)),
        })
    }

    /// Returns the result with the figures of runs that alternated with the start.
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

/// A smaller share is rounding.
const ROUNDING: f64 = 1e-6;

/// The latencies of one entry of the catalogue, while requests to others arrive.
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
    /// Requests per second.
    pub rate: f64,
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

/// The number of pairs of runs. Fixed, because stopping at a favourable point would invalidate the
/// 95 %.
const PAIRS: usize = 6;

/// The throughput of a matrix relative to the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The matrix's samples per second divided by the start's.
    pub ratio: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The number of pairs of runs, or 0 if runs are exact.
    pub pairs: usize,
}

impl Comparison {
    /// Returns the comparison of exact figures.
    pub fn exact(start: f64, other: f64) -> Self {
        let ratio = other / start.max(f64::MIN_POSITIVE);
        Comparison {
            ratio,
            low: ratio,
            high: ratio,
            pairs: 0,
        }
    }

    /// Returns the comparison of pairs of runs, the start's samples per second and the other's:
    /// Student's interval of the mean logarithm of their ratio. With fewer than two pairs the
    /// interval is unbounded.
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

    /// Returns whether the matrix is significantly faster.
    pub fn is_better(&self) -> bool {
        self.low > 1.0
    }
}

impl fmt::Display for Comparison {
    /// Formats as `+4 … +12 % (95 %, 6 pairs of runs)` or `+8.3 % (exact)`.
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

/// Two matrices after alternating runs.
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

/// Runs `start` and `other` alternately with about `samples` samples each time, or once if runs are
/// exact. Returns `None` if one of them does not fit in memory.
///
/// # Errors
/// A run failed, or the search was cancelled.
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
        // A B, B A, A B, …: a drift affects both equally, and half of the changes between the
        // matrices are saved.
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
    Ok(Some(Compared::from_pairs(&pairs)))
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

    fn from_pairs(pairs: &[(f64, f64)]) -> Self {
        let (starts, others): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Compared {
            start: Score::of_runs(&starts),
            other: Score::of_runs(&others),
            gain: Comparison::of_pairs(pairs),
            runs: 2 * pairs.len(),
        }
    }
}

/// Runs the result of a search by runs again, alternating with the `start`, because its score was
/// the best of many and is too high. Returns the start unless the result is certainly faster. Exact
/// scores stay unchanged.
///
/// # Errors
/// A run failed, or the search was cancelled.
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

/// Scores the matrix of a rule together with the start, if the two differ.
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
        ..SearchResult::new(start.clone(), first, first)
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
