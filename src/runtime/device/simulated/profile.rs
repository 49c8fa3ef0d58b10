//! Device profiles: what a simulated device is, and where its numbers come from.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::law::Law;

/// What a simulated device is and costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceProfile {
    pub name: String,
    pub class: DeviceClass,
    /// What it stands for.
    pub about: String,
    pub memory_bytes: u64,
    /// Taken by every worker beside its network.
    pub worker_bytes: u64,
    pub law: Law,
    /// Per hour; none where it is not known.
    pub price: Option<f64>,
    /// Where each number comes from, in the order of the file's fields.
    pub origins: Vec<Origin>,
}

/// How a device runs several workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceClass {
    /// Lanes run side by side while units are free; copies have engines of their own.
    Gpu,
    /// One batch at a time, as on a CPU partition.
    Cpu,
}

/// Where a number comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    pub field: &'static str,
    pub value: String,
    pub from: OriginKind,
    pub note: String,
}

/// Kinds of origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OriginKind {
    Datasheet,
    Paper,
    /// To what is in the note.
    Fitted,
    Assumed,
}

impl OriginKind {
    /// Its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            OriginKind::Datasheet => "datasheet",
            OriginKind::Paper => "paper",
            OriginKind::Fitted => "fitted",
            OriginKind::Assumed => "assumed",
        }
    }
}

/// Why a text is no profile.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProfileError {
    #[error("line {line}: {message}")]
    Syntax { line: usize, message: String },
    #[error("{field}: expected {expected}, found {found}")]
    Value {
        field: &'static str,
        expected: &'static str,
        found: String,
    },
    #[error("{field}.note: a fitted number says what it was fitted to")]
    NoNote { field: &'static str },
}
