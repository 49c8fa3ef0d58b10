//! The records of a store: registered ensembles, the origin of their profiles, and jobs.

mod job;
mod model;
mod origin;
mod stale;

pub use job::{JobEnd, JobRecord};
pub use model::{MemberRecord, ModelRecord, RecordedSource, RegisteredModel, TaskInterface};
pub use origin::ProfileOrigin;
pub use stale::StaleProfile;
