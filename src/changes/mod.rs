//! Changes of what runs: what is applied, undone, put on probation and remembered.

mod change_log;
mod judge;
mod limit;
mod probation;
mod terms;

pub(crate) use change_log::ChangeLog;
pub use change_log::{Mark, MarkKind, Measured, Ran};
pub use judge::{Baseline, Judge, JudgeVerdict};
pub(crate) use probation::RunningProbation;
pub use probation::{Probation, ProbationState};
pub use terms::{Check, Limited, Terms};
