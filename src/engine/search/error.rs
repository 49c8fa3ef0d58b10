//! The errors of a search.

use thiserror::Error;

use crate::load::{MissingSamples, RunError};
use crate::serving::{ApplyError, BuildError, EngineError};
use crate::simulation::SimulationError;
use divisi_model::allocation::{DoesNotFit, InvalidMatrix};
use divisi_model::codes::{Code, Coded};
use divisi_model::profile::NotMeasured;
use divisi_model::ranged::FieldOutOfRange;
use divisi_runtime::compute::ComputeError;
use divisi_runtime::device::{DeviceError, NoThread, format_bytes};

use super::precisions::AccuracyLossError;

/// The search was cancelled.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the search was cancelled")]
pub struct Stopped;

/// The reason why a search found no matrix.
///
/// A message that contains its cause does not return the cause as its source, because a printed
/// chain of errors would repeat it.
#[derive(Debug, Error)]
pub enum SearchError {
    /// A member fits on no device.
    #[error("no device is large enough: {0}")]
    NoDevice(DoesNotFit),
    /// A matrix would break a rule.
    #[error(transparent)]
    Matrix(#[from] InvalidMatrix),
    /// The evaluation of a matrix failed.
    #[error("the evaluation failed: {0}")]
    Evaluation(EvaluationError),
    /// The search order cannot be carried out.
    #[error(transparent)]
    Asked(#[from] AskedError),
    /// The search was cancelled.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<DoesNotFit> for SearchError {
    fn from(error: DoesNotFit) -> Self {
        SearchError::NoDevice(error)
    }
}

impl From<AccuracyLossError> for SearchError {
    fn from(error: AccuracyLossError) -> Self {
        SearchError::Asked(AskedError::AccuracyLoss(error))
    }
}

/// Converts errors of evaluations to errors of searches.
macro_rules! of_evaluations {
    ($($error:ty),*) => {
        $(impl From<$error> for SearchError {
            fn from(error: $error) -> Self {
                SearchError::Evaluation(error.into())
            }
        })*
    };
}

of_evaluations!(
    EvaluationError,
    EngineError,
    ApplyError,
    RunError,
    SimulationError,
    BuildError,
    ComputeError,
    NoThread,
    NotMeasured
);

/// The reason why a matrix could not be evaluated.
#[derive(Debug, Error)]
pub enum EvaluationError {
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine could not run the matrix.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run in virtual time failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// A worker to measure could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A network to measure did not run.
    #[error(transparent)]
    Compute(#[from] ComputeError),
    /// The threads for measuring could not be started.
    #[error(transparent)]
    Threads(#[from] NoThread),
    /// The measured times do not form a profile.
    #[error(transparent)]
    Times(#[from] NotMeasured),
    /// A measurement of a simulated device was requested.
    #[error("`{0}` is simulated and cannot be measured")]
    FollowsLaw(String),
    /// A network or the search panicked.
    #[error("{0} panicked")]
    Panicked(&'static str),
    /// The model has no costs for some member and device.
    #[error("expected a profile of every member on every device")]
    NotProfiled,
    /// There is no matrix to simulate.
    #[error("expected a matrix to try, found none")]
    NoMatrix,
}

/// The reason why a search order cannot be carried out.
#[derive(Debug, Error)]
pub enum AskedError {
    /// The parts of the method contradict each other.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// There are no samples for measuring.
    #[error(transparent)]
    NoSamples(#[from] MissingSamples),
    /// A device has less memory than the requested reserve.
    #[error(
        "spare memory: expected at most the {} that `{device}` has, found {}",
        format_bytes(*.most), format_bytes(*.found)
    )]
    SpareMemory {
        /// The device's memory in bytes.
        most: u64,
        /// The device's name.
        device: String,
        /// The requested bytes.
        found: u64,
    },
    /// A quiet search has no costs for a worker, and may not measure it.
    #[error(
        "a quiet search does not measure: expected a profile of `{member}` on `{device}`, \
         found none; serve some load first, or run a search that is not quiet"
    )]
    NotProfiled {
        /// The member's name.
        member: String,
        /// The device's name.
        device: String,
    },
    /// Precisions cannot be chosen by their accuracy loss.
    #[error("accuracy loss: {0}")]
    AccuracyLoss(AccuracyLossError),
    /// A plan has no kind of device, or a limit of 0 devices.
    #[error("expected at least one kind of device and at least one device")]
    NoFleet,
    /// A plan has too many fleets to examine.
    #[error("devices at most: expected 1 to {most} with {kinds} kinds of device, found {found}")]
    ManyDevices {
        /// The largest possible number of devices.
        most: usize,
        /// The number of kinds.
        kinds: usize,
        /// The requested number.
        found: usize,
    },
    /// A plan has too many kinds of device.
    #[error("kinds of device: expected fewer, found {0}")]
    ManyKinds(usize),
    /// The devices of a fleet cannot be created.
    #[error(transparent)]
    Devices(#[from] DeviceError),
}

/// The reason why a method is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MethodError {
    /// A number is too large.
    #[error("{field}: expected at most {most}, found {found}")]
    TooMany {
        /// The number's name.
        field: &'static str,
        /// The largest allowed number.
        most: usize,
        /// The number.
        found: usize,
    },
    /// A number of the goal is out of range.
    #[error(transparent)]
    Goal(#[from] FieldOutOfRange),
    /// A setting requires evaluator `model`, but the evaluator is `bench`; holds the setting.
    #[error("{0} requires evaluator model, found bench")]
    NeedsModel(String),
}

impl Coded for MethodError {
    fn code(&self) -> Code {
        match self {
            MethodError::TooMany { .. } => Code::SearchInvalid,
            MethodError::Goal(_) => Code::SearchGoalInvalid,
            MethodError::NeedsModel(_) => Code::SearchNeedsModel,
        }
    }
}
