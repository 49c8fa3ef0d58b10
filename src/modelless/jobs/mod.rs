//! Offline jobs: many rows without a deadline, in the gaps that queries leave.

mod job;
mod outlook;

pub use job::{JobBatch, JobError, JobProgress, JobStep, OfflineJob};
pub use outlook::{DeviceOutlook, JobRules, JobWait, latest_start};
