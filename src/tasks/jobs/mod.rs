//! Offline jobs live: files of rows without a deadline, answered in the gaps that queries leave.
//!
//! [`OfflineJob`](divisi_modelless::jobs::OfflineJob) decides; [`LiveJobs`] asks the engine, and
//! [`JobOutput`] writes whole rows, in order.

mod board;
mod chosen;
mod claim;
mod idle;
mod keeper;
mod lane;
mod live;
mod output;
mod running;

pub use board::{JobBoard, PostedJob};
pub use live::LiveJobs;
pub use output::{JobOutput, JobOutputError};
