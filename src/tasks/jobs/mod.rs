//! Offline jobs: files of rows without a deadline, answered in the gaps between queries.
//!
//! [`OfflineJob`](divisi_modelless::jobs::OfflineJob) decides, [`LiveJobs`] sends requests to the
//! engine, and [`JobOutput`] writes complete rows in order.

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
