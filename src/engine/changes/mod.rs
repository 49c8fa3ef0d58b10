//! Changes of the running setup: apply, undo, probation and history.
//!
//! [`ChangeMachine`] decides and has no clock, lock or thread. [`Changes`] drives it over an
//! engine. [`Judge`] decides whether a change on probation does worse than the previous setup.

mod change_log;
mod driver;
mod event;
mod following;
mod host_looks;
mod inbox;
mod judge;
mod limit;
mod machine;
mod status;

pub use change_log::{HistoryEntry, Mark, MarkKind, Measured};
pub use driver::{BringBack, ChangeJournal, Changes};
pub use event::{ChangeAction, ChangeEvent, ChangeOrigin, ChangeRefusal, ChangeWork};
pub use following::PastChanges;
pub use judge::{Baseline, Check, Judge, JudgeVerdict, Limited, Terms};
pub use machine::ChangeMachine;
pub use status::{ChangeStatus, Probation, ProbationState, ReloadState, ReloadView};
