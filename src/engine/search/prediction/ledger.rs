//! The past errors of predictions, and the correction and interval of a new prediction.
//!
//! An error is the logarithm of measured over predicted throughput. The median of the recent errors
//! corrects a new prediction, and so do the earlier errors of the same setup. The interval is
//! conformal: the ledger replays the past, corrects each prediction by the errors before it, and
//! takes the order statistic of the errors that remain (Vovk, Gammerman and Shafer, *Algorithmic
//! Learning in a Random World*, 2005, chapter 2). Errors on a quiet and on a disturbed host count
//! separately (Mondrian predictors, chapter 4).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::predicted::{ENOUGH, Predicted, PredictionBasis};
use divisi_model::metrics::stats::median;

/// A measured throughput and the uncorrected prediction of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastError {
    /// The time of the measurement, in seconds since 1970.
    pub at: u64,
    /// The prediction's subject and conditions.
    pub question: Question,
    /// The predicted samples per second or seconds, without correction.
    pub predicted: f64,
    /// The measured samples per second or seconds: the middle of the runs.
    pub measured: f64,
    /// The number of runs.
    pub runs: u32,
}

/// The predicted figure. The errors of each figure count separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PredictedFigure {
    /// The samples per second at capacity.
    #[default]
    Throughput,
    /// The 99th percentile of latency under the served load, in seconds.
    P99,
}

/// The size of recent errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypicalError {
    /// The median factor between predictions and measurements, at least 1.
    pub factor: f64,
    /// The number of errors.
    pub errors: usize,
}

/// The subject and the conditions of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The number of the models and devices.
    pub subject: u64,
    /// The number of the matrix with its settings, or `None` for any.
    pub setup: Option<u64>,
    /// The source of the batch costs.
    pub basis: PredictionBasis,
    /// Whether other programs use the devices.
    pub disturbed: bool,
    /// The predicted figure.
    #[serde(default)]
    pub figure: PredictedFigure,
}

/// Past errors, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictionLedger {
    errors: Vec<PastError>,
}

/// The correction of predictions and the width of their intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// The factor from uncorrected to corrected throughput.
    pub factor: f64,
    /// The half-width of the interval as a factor, above 1.
    pub spread: f64,
    /// The source of the batch costs.
    pub basis: PredictionBasis,
    /// The number of past errors behind the interval.
    pub errors: usize,
}

/// Runs of one setup within this many seconds count as one measurement, because their errors are
/// alike.
const ONE_MEASUREMENT_S: u64 = 120;
/// The number of recent errors whose median corrects a prediction. Fewer follow the machine faster,
/// more average out noise.
const RECENT: usize = 9;
/// The number of replayed errors behind an interval.
const REPLAYED: usize = 48;
/// The share of measurements that an interval contains.
const LEVEL: f64 = 0.9;
/// The smallest half-width, as a logarithm.
const LEAST_SPREAD: f64 = 0.01;
/// The largest credible error, as a factor. A larger one comes from a damaged file.
const CREDIBLE: f64 = 1e4;

impl PastError {
    fn is_credible(&self) -> bool {
        let is_rate = |rate: f64| rate.is_finite() && rate > 0.0;
        let ratio = self.measured / self.predicted;
        is_rate(self.predicted)
            && is_rate(self.measured)
            && (1.0 / CREDIBLE..=CREDIBLE).contains(&ratio)
            && self.runs > 0
    }

    fn log(&self) -> f64 {
        (self.measured / self.predicted).ln()
    }

    /// Returns whether `other` is a repetition of this measurement.
    fn is_repeated_by(&self, other: &PastError) -> bool {
        let near = other.at.abs_diff(self.at) <= ONE_MEASUREMENT_S;
        self.question == other.question && self.question.setup.is_some() && near
    }

    /// Adds the runs of `other`.
    fn add(&mut self, other: &PastError) {
        let share = f64::from(other.runs) / f64::from(self.runs.saturating_add(other.runs));
        let log = self.log() + share * (other.log() - self.log());
        self.measured = self.predicted * log.exp();
        self.runs = self.runs.saturating_add(other.runs);
    }
}

impl PredictionLedger {
    /// The most errors kept of each basis. The oldest are dropped first.
    pub const MOST: usize = 256;
    /// The fewest errors for an interval.
    pub const ENOUGH: usize = ENOUGH;

    /// Creates a ledger of the credible errors, in the order of their times.
    pub fn from_errors(errors: impl IntoIterator<Item = PastError>) -> Self {
        let mut errors: Vec<PastError> = errors.into_iter().filter(|e| e.is_credible()).collect();
        errors.sort_by_key(|error| error.at);
        let mut ledger = PredictionLedger::default();
        errors.into_iter().for_each(|error| ledger.record(error));
        ledger
    }

    /// Returns the errors, oldest first.
    pub fn errors(&self) -> impl Iterator<Item = &PastError> {
        self.errors.iter()
    }

    /// Adds an error. A repetition joins the measurement that it repeats.
    pub fn record(&mut self, error: PastError) {
        if !error.is_credible() {
            return;
        }
        let repeated = self.errors.iter_mut().rev();
        if let Some(known) = repeated.into_iter().find(|e| e.is_repeated_by(&error)) {
            known.add(&error);
            return;
        }
        let Question { basis, figure, .. } = error.question;
        let is_of_basis = |e: &PastError| e.question.basis == basis && e.question.figure == figure;
        if self.errors.iter().filter(|e| is_of_basis(e)).count() >= Self::MOST
            && let Some(oldest) = self.errors.iter().position(is_of_basis)
        {
            self.errors.remove(oldest);
        }
        self.errors.push(error);
    }

    /// Returns the correction of predictions for `question`.
    pub fn correction(&self, question: &Question) -> Correction {
        let Question {
            subject,
            basis,
            disturbed,
            figure,
            ..
        } = *question;
        let of_subject = |e: &PastError| e.question.subject == subject;
        let of_load = |e: &PastError| e.question.disturbed == disturbed;
        let alike = self.chosen(basis, figure, |e| of_subject(e) && of_load(e));
        // Errors of other models on this machine replace missing ones.
        let of_others = || self.chosen(basis, figure, of_load);
        for errors in [alike, of_others()] {
            let replayed = ErrorReplay::new(&errors, basis);
            if replayed.left.len() >= ENOUGH {
                return replayed.correction(question);
            }
        }
        let nearest = self.chosen(basis, figure, of_subject);
        let nearest = match nearest.is_empty() {
            true => of_others(),
            false => nearest,
        };
        let corrected = ErrorReplay::new(&nearest, basis).correction(question);
        Correction {
            spread: basis.prior(),
            // Errors under another load are not behind this interval, however many there are.
            errors: corrected.errors.min(ENOUGH - 1),
            ..corrected
        }
    }

    /// Returns the size of the recent errors of corrected predictions of this figure, from this
    /// basis and for these models and devices, or `None` without such errors.
    pub fn typical_error(&self, question: &Question) -> Option<TypicalError> {
        let of_subject = |e: &PastError| e.question.subject == question.subject;
        let alike = self.chosen(question.basis, question.figure, of_subject);
        let left = ErrorReplay::new(&alike, question.basis).left;
        let recent = &left[left.len().saturating_sub(RECENT)..];
        let sizes: Vec<f64> = recent.iter().map(|left| left.abs()).collect();
        (!sizes.is_empty()).then(|| TypicalError {
            factor: median(&sizes).exp(),
            errors: sizes.len(),
        })
    }

    fn chosen(
        &self,
        basis: PredictionBasis,
        figure: PredictedFigure,
        is_chosen: impl Fn(&PastError) -> bool,
    ) -> Vec<&PastError> {
        let all = self.errors.iter().filter(|e| e.question.basis == basis);
        all.filter(|e| e.question.figure == figure && is_chosen(e))
            .collect()
    }
}

/// Predictions corrected by the errors before them, in the order of time.
struct ErrorReplay {
    basis: PredictionBasis,
    /// The errors without the part that their setups explain.
    common: Vec<f64>,
    /// The errors that remained after the correction.
    left: Vec<f64>,
    /// The sum and number of each setup's errors relative to the others' median.
    setups: HashMap<(u64, u64), (f64, u32)>,
}

impl ErrorReplay {
    fn new(errors: &[&PastError], basis: PredictionBasis) -> Self {
        let mut replay = ErrorReplay {
            basis,
            common: Vec::new(),
            left: Vec::new(),
            setups: HashMap::new(),
        };
        errors.iter().for_each(|error| replay.add(error));
        replay
    }

    fn add(&mut self, error: &PastError) {
        let (log, common) = (error.log(), self.common());
        let own = self.own(&error.question);
        // The first error has nothing to be compared with.
        let is_first = self.common.is_empty();
        if !is_first || !self.basis.is_corrected() {
            self.left.push(log - self.estimate(&error.question));
        }
        if let (Some(setup), false) = (error.question.setup, is_first) {
            let key = (error.question.subject, setup);
            let sums = self.setups.entry(key).or_default();
            *sums = (sums.0 + log - common, sums.1 + 1);
        }
        self.common.push(log - own);
    }

    /// Returns the median of the recent errors.
    fn common(&self) -> f64 {
        median(&self.common[self.common.len().saturating_sub(RECENT)..])
    }

    /// Returns the mean error of the same setup relative to the median. It counts one more error, at
    /// the median.
    fn own(&self, question: &Question) -> f64 {
        let key = question.setup.map(|setup| (question.subject, setup));
        let own = key.and_then(|key| self.setups.get(&key));
        own.map_or(0.0, |(sum, count)| sum / f64::from(count + 1))
    }

    /// Returns the expected error.
    fn estimate(&self, question: &Question) -> f64 {
        match self.basis.is_corrected() {
            true => self.common() + self.own(question),
            false => 0.0,
        }
    }

    fn correction(&self, question: &Question) -> Correction {
        Correction {
            factor: self.estimate(question).exp(),
            spread: self.spread().exp(),
            basis: self.basis,
            errors: self.left.len().min(REPLAYED),
        }
    }

    /// Returns the order statistic of the remaining errors that contains [`LEVEL`] of the next
    /// ones.
    fn spread(&self) -> f64 {
        let last = &self.left[self.left.len().saturating_sub(REPLAYED)..];
        let mut sizes: Vec<f64> = last.iter().map(|left| left.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let rank = (LEVEL * (sizes.len() + 1) as f64).ceil() as usize;
        let size = sizes.get(rank.saturating_sub(1)).or(sizes.last());
        size.copied().unwrap_or(0.0).max(LEAST_SPREAD)
    }
}

impl Correction {
    /// Returns the correction without past errors.
    pub fn unlearnt(basis: PredictionBasis) -> Self {
        Correction {
            factor: 1.0,
            spread: basis.prior(),
            basis,
            errors: 0,
        }
    }

    /// Corrects `samples_per_s`, predicted from the batch costs alone.
    pub fn apply(&self, samples_per_s: f64) -> Predicted {
        let rate = samples_per_s * self.factor;
        Predicted {
            samples_per_s: rate,
            low: rate / self.spread,
            high: rate * self.spread,
            basis: self.basis,
            errors: self.errors,
        }
    }
}
