//! The records of a store: registered ensembles, the origin of their profiles, and jobs.

mod job;
mod model;
mod origin;
mod rows;
mod stale;

pub use job::{JobEnd, JobRecord, JobVariant};
pub use model::{
    MemberRecord, ModelRecord, OtherClass, RecordedSource, RegisteredModel, TaskInterface,
};
pub use origin::ProfileOrigin;
pub use rows::LabelledRows;
pub use stale::StaleProfile;
