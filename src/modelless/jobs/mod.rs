//! Offline jobs: many rows without a deadline, run in the gaps between queries.

mod job;
mod outlook;

pub use job::{JobBatch, JobError, JobProgress, JobStep, OfflineJob};
pub use outlook::{DeviceOutlook, JobRules, JobWait, latest_start};
