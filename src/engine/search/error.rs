//! Why a search ends without a matrix.

use rayon::ThreadPoolBuildError;
use thiserror::Error;

use crate::load::{MissingSamples, RunError};
use crate::serving::{ApplyError, BuildError, EngineError};
use crate::simulation::SimulationError;
use divisi_model::allocation::{DoesNotFit, InvalidMatrix};
use divisi_model::codes::{Code, Coded};
use divisi_model::profile::NotMeasured;
use divisi_model::ranged::FieldOutOfRange;
use divisi_runtime::compute::ComputeError;
use divisi_runtime::device::{DeviceError, format_bytes};

use super::precisions::AccuracyLossError;

/// The search was cancelled.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the search was cancelled")]
pub struct Stopped;

/// Why a search found no matrix.
///
/// A message that names its cause does not return it as its source: whoever prints the
/// chain of sources would name it again.
#[derive(Debug, Error)]
pub enum SearchError {
    /// A member fits on no device.
    #[error("no device is large enough: {0}")]
    NoDevice(DoesNotFit),
    /// A matrix would break a rule.
    #[error(transparent)]
    Matrix(#[from] InvalidMatrix),
    /// The evaluation of a matrix failed.
    #[error("the evaluation broke down: {0}")]
    Evaluation(EvaluationError),
    /// The search asks for something that cannot be done.
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

/// Converts errors of evaluations to those of searches.
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
    ThreadPoolBuildError,
    NotMeasured
);

/// Why a matrix could not be evaluated.
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
    /// The threads to measure with could not be started.
    #[error(transparent)]
    Threads(#[from] ThreadPoolBuildError),
    /// The times measured are no batch times.
    #[error(transparent)]
    Times(#[from] NotMeasured),
    /// The times of a simulated device were to be measured.
    #[error("`{0}` follows a law, and is not measured")]
    FollowsLaw(String),
    /// Something panicked: a network, or the search itself.
    #[error("{0} panicked")]
    Panicked(&'static str),
    /// The model lacks costs.
    #[error("expected a profile of every member on every device")]
    NotProfiled,
    /// There is no matrix to simulate.
    #[error("expected a matrix to try, found none")]
    NoMatrix,
}

/// Why a search cannot be done as asked.
#[derive(Debug, Error)]
pub enum AskedError {
    /// The parts of the method do not go together.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// There are no samples to measure with.
    #[error(transparent)]
    NoSamples(#[from] MissingSamples),
    /// A device has less memory than is to stay free.
    #[error(
        "spare memory: expected at most the {} that `{device}` has, found {}",
        format_bytes(*.most), format_bytes(*.found)
    )]
    SpareMemory {
        /// Bytes that the device has.
        most: u64,
        /// The device's name.
        device: String,
        /// Bytes asked for.
        found: u64,
    },
    /// A quiet search lacks costs, which it may not measure.
    #[error(
        "a quiet search measures nothing: expected a profile of `{member}` on `{device}`, \
         found none; serve some load first, or search once with measuring"
    )]
    NotProfiled {
        /// The member's name.
        member: String,
        /// The device's name.
        device: String,
    },
    /// Precisions cannot be chosen by the accuracy that they lose.
    #[error("accuracy loss: {0}")]
    AccuracyLoss(AccuracyLossError),
    /// A plan has no kind of device, or no room for one.
    #[error("expected at least one kind of device and room for one of it")]
    NoFleet,
    /// A plan has too many fleets to look at.
    #[error("devices at most: expected 1 to {most} where there are {kinds} kinds, found {found}")]
    ManyDevices {
        /// The most devices that are possible.
        most: usize,
        /// The number of kinds.
        kinds: usize,
        /// The number asked for.
        found: usize,
    },
    /// A plan has too many kinds of device.
    #[error("kinds of device: expected fewer, found {0}")]
    ManyKinds(usize),
    /// The devices of a fleet cannot be made.
    #[error(transparent)]
    Devices(#[from] DeviceError),
}

/// Why a method cannot be followed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MethodError {
    /// A number is too large.
    #[error("{field}: expected at most {most}, found {found}")]
    TooMany {
        /// The number's name.
        field: &'static str,
        /// The largest that is allowed.
        most: usize,
        /// The number.
        found: usize,
    },
    /// A number of the goal is outside of its range.
    #[error(transparent)]
    Goal(#[from] FieldOutOfRange),
    /// Something asks for evaluator `model`, and the evaluator is `bench`.
    #[error("{0}: expected evaluator model, found bench")]
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
