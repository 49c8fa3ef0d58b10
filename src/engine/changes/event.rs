//! The events that the machine of changes takes and the actions that it returns.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::serving::{ApplyError, ApplyStep, FaultError, LogLevel, Plan, PlanError, Setup};
use divisi_model::codes::{Code, Coded};
use divisi_model::metrics::{Distribution, Reading};
use divisi_model::ranged::FieldOutOfRange;
use divisi_runtime::device::DeviceIndex;

use super::change_log::MarkKind;
use super::judge::{Baseline, Terms};

/// Where a change comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOrigin {
    /// An operator applied a setup.
    Applied,
    /// An operator applied what a search found.
    Search,
    /// An operator brought back the setup before the last change.
    Undo,
    /// An operator brought back the setup of the last undo.
    Redo,
    /// A probation was ended by rolling back; holds the reason.
    RolledBack(String),
    /// Workers move away from a lost device.
    Evacuation,
    /// A member votes or no longer votes; holds the words for it.
    Vote(String),
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
        }
    }
}

/// An event: something that happens or is asked for.
#[derive(Clone, Debug)]
pub enum ChangeEvent {
    /// A plan is to be applied, on probation where there are terms.
    Requested {
        /// The plan to carry out.
        plan: Box<Plan>,
        /// The terms of the probation, if there is to be one.
        terms: Option<Terms>,
        /// Where the change comes from.
        origin: ChangeOrigin,
    },
    /// The settings of a plan are to be set at once; workers stay as they are.
    Adjusted {
        /// The plan to carry out.
        plan: Box<Plan>,
        /// Where the change comes from.
        origin: ChangeOrigin,
        /// A reading of now.
        reading: Box<Reading>,
    },
    /// An operator ends the probation: the new setup stays.
    Kept,
    /// An operator ends the probation: the new setup is rolled back by this plan.
    TakenBack(Box<Plan>),
    /// An operator lets a device disappear.
    LoseRequested(DeviceIndex),
    /// A device stopped working; its workers are to be moved.
    DeviceLost {
        /// Its number among the devices.
        device: DeviceIndex,
        /// The reason that its driver reported.
        reason: String,
    },
    /// Something else changed how serving goes.
    Marked(MarkKind, String),
    /// The work that was to be run begins.
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
        /// The plan that was carried out, or why none was.
        result: Result<Box<Plan>, ApplyError>,
        /// A reading of now.
        reading: Box<Reading>,
    },
    /// It is time to judge the running probation.
    Looked {
        /// A reading of now.
        reading: Box<Reading>,
        /// Requests that are not answered yet.
        in_flight: usize,
    },
    /// Nothing more is to change once what is under way is over.
    Closed,
}

/// An action for the driver of the machine; actions are carried out in order. All but
/// [`ChangeAction::Run`] are quick and are done before anybody sees the state that follows.
#[derive(Clone, Debug)]
pub enum ChangeAction {
    /// Write a line to the log.
    Log(LogLevel, String),
    /// Forget the latencies measured so far.
    ClearLatencies,
    /// Set the settings of a plan at once.
    SetSettings(Box<Plan>),
    /// Run this in the background. Its begin, steps and end are reported as events.
    Run(ChangeWork),
    /// Judge the probation at this time after the engine's start.
    LookAt(Duration),
}

/// Work that takes time, run in the background.
#[derive(Clone, Debug)]
pub enum ChangeWork {
    /// Apply a plan, unless it is stale.
    Apply(Box<Plan>),
    /// Plan and apply a setup.
    ApplySetup(Box<Setup>),
    /// Move the workers of a lost device elsewhere.
    Evacuate(DeviceIndex),
    /// Take a lost device's workers away: nothing is started any more.
    Abandon(DeviceIndex),
    /// Bring the models of before back, since those of now did worse; says how.
    BringModelsBack(String),
}

/// Why a change is not begun.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ChangeRefusal {
    /// The very same setup runs.
    #[error("this already runs")]
    Nothing,
    /// Another change is under way.
    #[error("a reload is under way")]
    UnderWay,
    /// A probation cannot be rolled back while another change is under way.
    #[error("a change is under way")]
    NotNow,
    /// Nothing is on probation.
    #[error("nothing is on probation")]
    NoProbation,
    /// Nothing ran before.
    #[error("nothing ran before this")]
    NoUndo,
    /// Nothing was undone.
    #[error("nothing was undone")]
    NoRedo,
    /// The device cannot be lost on demand.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// The terms cannot be judged by; says which part is wrong.
    #[error("{0}")]
    Terms(FieldOutOfRange),
    /// It cannot be applied.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The thread that makes changes was not started; says why.
    #[error("{0}")]
    NoThread(String),
}

impl Coded for ChangeRefusal {
    fn code(&self) -> Code {
        match self {
            ChangeRefusal::Nothing => Code::ChangeNothing,
            ChangeRefusal::UnderWay | ChangeRefusal::NotNow => Code::ChangeUnderWay,
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
