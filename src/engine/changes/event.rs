//! The events that the machine of changes takes and the actions that it returns.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::deployment::{Applied, CatalogueChange, ChangePlan, DeploymentError, Handover};
use crate::serving::{ApplyError, ApplyStep, FaultError, LogLevel, PlanError, Setup};
use divisi_model::codes::{Code, Coded};
use divisi_model::metrics::{Distribution, Reading};
use divisi_model::ranged::FieldOutOfRange;
use divisi_runtime::device::DeviceIndex;

use super::change_log::MarkKind;
use super::goals::GoalEvidence;
use super::judge::{Baseline, JudgeVerdict, Terms};

/// The origin of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOrigin {
    /// An operator applied a setup.
    Applied,
    /// An operator applied the result of a search.
    Search,
    /// An operator restored the setup before the last change.
    Undo,
    /// An operator restored the setup before the last undo.
    Redo,
    /// A probation was ended by rolling back; holds the reason.
    RolledBack(String),
    /// Workers move away from a lost device.
    Evacuation,
    /// A member starts or stops voting; holds the description.
    Vote(String),
    /// An operator, a client or a poll changes the models.
    Models(CatalogueChange),
    /// A scaling policy follows the load.
    Policy,
}

impl fmt::Display for ChangeOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeOrigin::Applied => f.write_str("applied"),
            ChangeOrigin::Search => f.write_str("search"),
            ChangeOrigin::Undo => f.write_str("undo"),
            ChangeOrigin::Redo => f.write_str("redo"),
            ChangeOrigin::RolledBack(why) => write!(f, "rolled back: {why}"),
            ChangeOrigin::Evacuation => f.write_str("evacuation"),
            ChangeOrigin::Vote(text) => f.write_str(text),
            ChangeOrigin::Models(change) => change.fmt(f),
            ChangeOrigin::Policy => f.write_str("follow the load"),
        }
    }
}

/// A planned change: from the running setup to another one.
#[derive(Clone, Debug)]
pub struct PlannedChange {
    /// The setup that ran when the change was planned.
    pub old: Setup,
    /// The setup to apply.
    pub new: Setup,
    /// Whether the new setup is running with all its workers.
    pub is_empty: bool,
    /// Whether the plan is made. Otherwise it is made together with the change.
    pub is_planned: bool,
    /// How the engine of other models takes over.
    pub handover: Handover,
}

impl PlannedChange {
    /// Creates a change whose plan is made together with it.
    pub fn unplanned(old: Setup, new: Setup) -> Self {
        PlannedChange {
            is_empty: old == new,
            old,
            new,
            is_planned: false,
            handover: Handover::Beside,
        }
    }
}

impl From<&ChangePlan> for PlannedChange {
    fn from(plan: &ChangePlan) -> Self {
        PlannedChange {
            old: plan.old_setup().clone(),
            new: plan.new_setup().clone(),
            is_empty: plan.is_empty(),
            is_planned: true,
            handover: Handover::Beside,
        }
    }
}

/// How the probation of a change is watched.
#[derive(Clone, Debug)]
pub enum WatchedBy {
    /// By the requests of the engine, until the terms are met or broken.
    Requests(Terms),
    /// By the goals of queries.
    Goals {
        /// The evidence from before the change.
        evidence: Box<GoalEvidence>,
        /// Whether the change is judged together with the policy's change on probation.
        continues: bool,
    },
}

/// An event or a request for the machine.
#[derive(Clone, Debug)]
pub enum ChangeEvent {
    /// Make a change, on probation if it is to be watched.
    Requested {
        /// The change.
        change: Box<PlannedChange>,
        /// How its probation is watched, or `None` for no probation.
        watch: Option<WatchedBy>,
        /// The origin of the change.
        origin: ChangeOrigin,
    },
    /// Apply the settings of a plan at once. Workers stay unchanged.
    Adjusted {
        /// The change of settings.
        change: Box<PlannedChange>,
        /// The origin of the change.
        origin: ChangeOrigin,
        /// The current reading.
        reading: Box<Reading>,
    },
    /// An operator ends the probation and keeps the change.
    Kept,
    /// An operator ends the probation and rolls the change back.
    TakenBack,
    /// An operator makes a device disappear.
    LoseRequested(DeviceIndex),
    /// A device stopped working; its workers have to move.
    DeviceLost {
        /// The number of the device.
        device: DeviceIndex,
        /// The reason that its driver reported.
        reason: String,
    },
    /// Another event that affects serving.
    Marked(MarkKind, String),
    /// The work begins.
    Began {
        /// Recent figures of the running setup, if the new one goes on probation.
        baseline: Option<Box<Baseline>>,
        /// Latencies until now.
        latency: Box<Distribution>,
    },
    /// The work made a step.
    Stepped(ApplyStep),
    /// The work is over.
    Ended {
        /// The outcome of the change, or the error.
        result: Result<Applied, Arc<DeploymentError>>,
        /// The running setup.
        running: Box<Setup>,
        /// The last reading of the engine of the old setup.
        before: Box<Reading>,
        /// The current reading of the engine of the running setup.
        reading: Box<Reading>,
        /// Whether answers can be compared with labels.
        graded: bool,
    },
    /// It is time to check the running probation.
    Looked {
        /// The current reading.
        reading: Box<Reading>,
        /// Requests that are not answered yet.
        in_flight: usize,
        /// Whether other programs took more of the host since the last check than before the change.
        is_disturbed: bool,
    },
    /// A policy has more evidence about its change on probation.
    GoalsSeen(Box<GoalEvidence>),
    /// Nothing changes any more after the change under way.
    Closed,
}

/// An action for the driver of the machine. Actions are carried out in order. All except
/// [`ChangeAction::Run`] are quick and are done before the new state is visible.
#[derive(Clone, Debug)]
pub enum ChangeAction {
    /// Write a line to the log.
    Log(LogLevel, String),
    /// Forget the latencies measured so far.
    ClearLatencies,
    /// Apply the settings of the requested plan at once.
    SetSettings,
    /// Run work in the background. Events report its begin, steps and end.
    Run(ChangeWork),
    /// Check the probation at this time after the engine's start.
    LookAt(Duration),
    /// Tell the policy the verdict on its change. The policy rolls a failed change back, because it
    /// may have to keep a part of it.
    Judged(JudgeVerdict),
}

/// Work that takes time, run in the background.
#[derive(Clone, Debug)]
pub enum ChangeWork {
    /// Apply the requested plan, unless it is stale.
    Apply(Handover),
    /// Plan and apply a setup.
    ApplySetup(Box<Setup>, Handover),
    /// Move the workers of a lost device elsewhere.
    Evacuate(DeviceIndex),
    /// Remove the workers of a lost device without starting others.
    Abandon(DeviceIndex),
}

/// The reason for refusing a change.
#[derive(Clone, Debug, Error)]
pub enum ChangeRefusal {
    /// The same setup is already running.
    #[error("this setup is already running")]
    Nothing,
    /// Another change is under way.
    #[error("another change is under way; try again when it is done")]
    UnderWay,
    /// Nothing changes any more.
    #[error("the server is ending; nothing changes any more")]
    Closed,
    /// Nothing is on probation.
    #[error("nothing is on probation")]
    NoProbation,
    /// There is no change to undo.
    #[error("there is no change to undo")]
    NoUndo,
    /// There is no undone change.
    #[error("there is no undone change to redo")]
    NoRedo,
    /// The device cannot be lost on demand.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// The terms of the probation are invalid.
    #[error("{0}")]
    Terms(FieldOutOfRange),
    /// The plan cannot be applied.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The models cannot be changed, or the change failed.
    #[error(transparent)]
    Models(Arc<DeploymentError>),
    /// Another change of the models is planned or made.
    #[error("another change of the models is in progress ({0}); try again when it is done")]
    ModelsChanging(String),
    /// No change of the models is planned under this number.
    #[error("this planned change of the models is out of date; plan it again")]
    NothingPlanned,
    /// The thread that makes changes did not start; holds the reason.
    #[error("{0}")]
    NoThread(String),
}

impl PartialEq for ChangeRefusal {
    fn eq(&self, other: &Self) -> bool {
        // For tests alone: errors of sources and devices cannot be compared otherwise.
        self.code() == other.code() && self.to_string() == other.to_string()
    }
}

impl From<DeploymentError> for ChangeRefusal {
    fn from(error: DeploymentError) -> Self {
        Arc::new(error).into()
    }
}

impl From<Arc<DeploymentError>> for ChangeRefusal {
    fn from(error: Arc<DeploymentError>) -> Self {
        match &*error {
            DeploymentError::Setup(ApplyError::Plan(error)) => error.clone().into(),
            _ => ChangeRefusal::Models(error),
        }
    }
}

impl ChangeRefusal {
    /// Returns whether other models were to serve.
    pub(super) fn is_of_models(&self) -> bool {
        let ChangeRefusal::Models(error) = self else {
            return false;
        };
        !matches!(**error, DeploymentError::Setup(_))
    }

    /// Returns whether another change is under way or came first, so that a new plan may succeed.
    pub(super) fn is_for_now(&self) -> bool {
        matches!(self, ChangeRefusal::UnderWay) || self.is_stale()
    }

    /// Returns whether something else runs than when the change was planned.
    pub fn is_stale(&self) -> bool {
        matches!(self, ChangeRefusal::Models(error) if error.is_stale())
    }
}

impl Coded for ChangeRefusal {
    fn code(&self) -> Code {
        match self {
            ChangeRefusal::Nothing => Code::ChangeNothing,
            ChangeRefusal::UnderWay | ChangeRefusal::Closed | ChangeRefusal::ModelsChanging(_) => {
                Code::ChangeUnderWay
            }
            ChangeRefusal::NothingPlanned => Code::PlanStale,
            ChangeRefusal::Models(error) => error.code(),
            ChangeRefusal::NoProbation => Code::NoProbation,
            ChangeRefusal::NoUndo => Code::NoUndo,
            ChangeRefusal::NoRedo => Code::NoRedo,
            ChangeRefusal::Fault(error) => error.code(),
            ChangeRefusal::Terms(_) => Code::TermsInvalid,
            ChangeRefusal::Plan(error) => error.code(),
            ChangeRefusal::NoThread(_) => Code::ThreadNotStarted,
        }
    }
}
