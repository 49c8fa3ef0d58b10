//! The records of a store: ensembles as they were registered, where their profiles come from, jobs.

mod job;
mod model;
mod origin;
mod stale;

pub use job::{JobEnd, JobRecord};
pub use model::{MemberRecord, ModelRecord, RecordedSource, RegisteredModel, TaskInterface};
pub use origin::ProfileOrigin;
pub use stale::StaleProfile;
