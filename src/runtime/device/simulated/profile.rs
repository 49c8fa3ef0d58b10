//! Device profiles: the numbers of a simulated device, and the origin of each.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::law::Law;

/// A simulated device: its memory, its law and its price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceProfile {
    /// Name of the profile.
    pub name: String,
    /// How the device runs several workers.
    pub class: DeviceClass,
    /// The hardware and the software that the numbers stand for.
    pub about: String,
    /// Bytes of the device's memory.
    pub memory_bytes: u64,
    /// Bytes that every worker takes beside its network.
    pub worker_bytes: u64,
    /// The law by which operations and copies take time.
    pub law: Law,
    /// Price of an hour, or `None` if it is not known.
    pub price: Option<f64>,
    /// The origin of each number, in the order of the file's fields.
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

/// The origin of a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Name of the field.
    pub field: &'static str,
    /// The value as it is written.
    pub value: String,
    /// The kind of origin.
    pub from: OriginKind,
    /// A page, a table or a calculation, in the words of the profile's author.
    pub note: String,
}

/// The kind of origin of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OriginKind {
    /// The maker's data sheet.
    Datasheet,
    /// A published measurement.
    Paper,
    /// Fitted to the measurements that the note names.
    Fitted,
    /// An assumption.
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

/// The reason why a text is no profile.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProfileError {
    /// The text is no TOML, or its fields are not those of a profile.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The parser's words.
        message: String,
    },
    /// A value is not one that the field takes.
    #[error("{field}: expected {expected}, found {found}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// The values that it takes.
        expected: &'static str,
        /// The value as it is written.
        found: String,
    },
    /// A fitted number without a note on the measurements.
    #[error("{field}.note: a fitted number says what it was fitted to")]
    NoNote {
        /// Name of the field.
        field: &'static str,
    },
}
