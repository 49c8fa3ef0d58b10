//! The method of a search: algorithm, evaluator, bounds, and its goal.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::load::Rate;
use divisi_model::ranged::{FieldOutOfRange, checked_when_read, within};
use divisi_runtime::device::{Devices, format_bytes};

use super::error::MethodError;
use super::greedy::Bounds;

/// The algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// Worst-fit decreasing.
    WorstFit,
    /// The best batch size of each member alone.
    BestBatch,
    /// The paper's bounded greedy.
    #[default]
    Greedy,
    /// Moves of one and two entries from several starts; only the model is fast enough.
    Local,
}

impl Algorithm {
    /// All algorithms, in display order.
    pub const ALL: [Algorithm; 4] = [
        Algorithm::WorstFit,
        Algorithm::BestBatch,
        Algorithm::Greedy,
        Algorithm::Local,
    ];

    /// Returns whether the algorithm creates one matrix by a rule. The matrix is scored and not
    /// improved.
    pub fn is_rule(self) -> bool {
        matches!(self, Algorithm::WorstFit | Algorithm::BestBatch)
    }

    /// Returns the name on the command line and the screen.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::WorstFit => "worst-fit",
            Algorithm::BestBatch => "best-batch",
            Algorithm::Greedy => "greedy",
            Algorithm::Local => "local",
        }
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Algorithm::ALL.into_iter().find(|a| a.name() == text);
        found.ok_or_else(|| {
            format!("expected worst-fit, best-batch, greedy or local, found `{text}`")
        })
    }
}

/// The kind of evaluator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EvaluatorKind {
    /// Runs matrices: with real workers, or in virtual time if every device is simulated.
    #[default]
    Bench,
    /// Predicts the throughput from profiles, and runs the best matrices.
    Model,
}

impl EvaluatorKind {
    /// Returns the name on the command line and the screen.
    pub fn name(self) -> &'static str {
        match self {
            EvaluatorKind::Bench => "bench",
            EvaluatorKind::Model => "model",
        }
    }
}

impl FromStr for EvaluatorKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [EvaluatorKind::Bench, EvaluatorKind::Model]
            .into_iter()
            .find(|e| e.name() == text)
            .ok_or_else(|| format!("expected bench or model, found `{text}`"))
    }
}

/// The default number of climbs after the first.
const RESTARTS: usize = 8;
/// The default number of matrices that are run at the end.
const FINALISTS: usize = 3;

/// Everything except the ensemble and devices that influences the result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Method {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The evaluator.
    pub evaluator: EvaluatorKind,
    /// The bounds of greedy. Their seed applies to every algorithm.
    pub bounds: Bounds,
    /// Local: the number of climbs after the first.
    pub restarts: usize,
    /// Model: the number of best matrices to run, or 0 for predictions only.
    pub finalists: usize,
    /// The goal.
    pub goal: Goal,
    /// Whether serving must not be disturbed. Nothing is measured or run on this machine's devices,
    /// and predictions have the lowest priority. Requires evaluator `model`.
    #[serde(default)]
    pub quiet: bool,
    /// Whether to measure again instead of using kept results and profiles. New ones replace them.
    #[serde(default)]
    pub again: bool,
}

checked_when_read!(Method);

impl Default for Method {
    fn default() -> Self {
        Method {
            algorithm: Algorithm::default(),
            evaluator: EvaluatorKind::default(),
            bounds: Bounds::default(),
            restarts: RESTARTS,
            finalists: FINALISTS,
            goal: Goal::default(),
            quiet: false,
            again: false,
        }
    }
}

impl Method {
    /// Returns the fastest method with good results: local search by the model.
    pub fn quick() -> Self {
        Method {
            algorithm: Algorithm::Local,
            evaluator: EvaluatorKind::Model,
            bounds: Bounds {
                max_neighs: usize::MAX,
                ..Bounds::default()
            },
            ..Method::default()
        }
    }

    /// Returns the effective method on `devices`: a quiet search runs nothing on this machine's
    /// devices.
    #[must_use]
    pub fn for_devices(self, devices: &Devices) -> Self {
        match self.quiet && !devices.all_simulated() {
            true => Method {
                finalists: 0,
                ..self
            },
            false => self,
        }
    }

    /// Returns whether the method runs workers and therefore needs samples. Simulated devices need
    /// none.
    pub fn runs_on(&self, devices: &Devices) -> bool {
        let finalists = self.for_devices(devices).finalists;
        let runs = self.evaluator == EvaluatorKind::Bench || finalists > 0;
        runs && !devices.all_simulated()
    }

    /// Returns the source of scores, in words.
    pub fn evaluator_on(&self, devices: &Devices) -> &'static str {
        let virtually = devices.all_simulated();
        match (self.evaluator, self.for_devices(devices).finalists > 0) {
            (EvaluatorKind::Bench, _) if virtually => "bench, simulated",
            (EvaluatorKind::Bench, _) => "bench",
            (EvaluatorKind::Model, false) => "model",
            (EvaluatorKind::Model, true) if virtually => "model, then bench, simulated",
            (EvaluatorKind::Model, true) => "model, then bench",
        }
    }

    /// The most restarts, and the most matrices that are run at the end.
    pub const MOST_ROUNDS: usize = 100_000;

    /// Checks that the numbers are in range and that the parts fit together.
    ///
    /// # Errors
    /// A number is out of range, or a part requires evaluator `model`.
    pub fn check(&self) -> Result<(), MethodError> {
        for (field, found) in [
            ("max_iter", self.bounds.max_iter),
            ("restarts", self.restarts),
            ("finalists", self.finalists),
        ] {
            if found > Self::MOST_ROUNDS {
                return Err(MethodError::TooMany {
                    field,
                    most: Self::MOST_ROUNDS,
                    found,
                });
            }
        }
        self.goal.check()?;
        self.check_parts()
    }

    fn check_parts(&self) -> Result<(), MethodError> {
        if self.evaluator == EvaluatorKind::Model {
            return Ok(());
        }
        if self.quiet {
            return Err(MethodError::NeedsModel("a quiet search".into()));
        }
        if self.algorithm == Algorithm::Local {
            return Err(MethodError::NeedsModel("algorithm local".into()));
        }
        if self.goal.needs_latency() || self.goal.rate.is_some() {
            return Err(MethodError::NeedsModel(format!("goal `{}`", self.goal)));
        }
        Ok(())
    }
}

/// The objective of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Samples per second, regardless of latency.
    #[default]
    Throughput,
    /// The 99th percentile of latency under load.
    Latency,
}

impl Objective {
    /// Returns the name on the command line and the screen.
    pub fn name(self) -> &'static str {
        match self {
            Objective::Throughput => "throughput",
            Objective::Latency => "latency",
        }
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Objective::Throughput, Objective::Latency]
            .into_iter()
            .find(|o| o.name() == text)
            .ok_or_else(|| format!("expected throughput or latency, found `{text}`"))
    }
}

/// An objective and its constraints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The objective.
    pub objective: Objective,
    /// The highest p99 of latency.
    pub p99: Option<Duration>,
    /// The required rate of one-sample requests per second.
    pub rate: Option<f64>,
    /// Bytes that stay free in the memory of every device.
    pub spare_memory: u64,
}

impl Goal {
    /// Checks that the numbers are in range.
    ///
    /// # Errors
    /// A number is out of range.
    pub fn check(&self) -> Result<(), FieldOutOfRange> {
        let day = Duration::from_secs(86_400);
        if let Some(p99) = self.p99 {
            within("p99", p99, Duration::from_nanos(1), day)?;
        }
        match self.rate {
            Some(rate) => within("rate", rate, Rate::LEAST.get(), Rate::MOST.get()),
            None => Ok(()),
        }
    }

    /// Returns whether latencies matter. Only a simulation under load can determine them.
    pub fn needs_latency(&self) -> bool {
        self.objective == Objective::Latency || self.p99.is_some()
    }

    /// Returns whether the goal is throughput without constraints.
    pub fn is_plain(&self) -> bool {
        *self == Goal::default()
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.objective.name())?;
        if let Some(p99) = self.p99 {
            write!(f, ", p99 ≤ {} ms", p99.as_secs_f64() * 1e3)?;
        }
        if let Some(rate) = self.rate {
            write!(f, ", {rate} samples/s")?;
        }
        if self.spare_memory > 0 {
            write!(f, ", {} spare", format_bytes(self.spare_memory))?;
        }
        Ok(())
    }
}
