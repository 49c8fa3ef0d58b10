//! Changes of the running setup: models, matrix, policy, combination. One change at a time and one
//! history, from every origin.
//!
//! [`ChangeMachine`] decides and has no clock, lock or thread. [`Changes`] drives it over a
//! deployment. [`Judge`] decides whether a change on probation does worse than the previous setup.

mod change_log;
mod control;
mod driver;
mod event;
mod goals;
mod host_looks;
mod inbox;
mod judge;
mod limit;
mod losses;
mod machine;
mod models;
mod outcomes;
mod probation;
mod requests;
mod status;

pub use change_log::{HistoryEntry, Mark, MarkKind, Measured};
pub use control::Changes;
pub use driver::ChangeJournal;
pub use event::{
    ChangeAction, ChangeEvent, ChangeOrigin, ChangeRefusal, ChangeWork, PlannedChange, WatchedBy,
};
pub use goals::{GoalEvidence, missed_share, together};
pub use judge::{Baseline, Check, Judge, JudgeVerdict, Limited, Terms};
pub use machine::ChangeMachine;
pub use models::PolicyChange;
pub use requests::{ModelChangeState, ModelChangeView, ModelsChanged};
pub use status::{ChangeStatus, Probation, ProbationState, ReloadState, ReloadView};
