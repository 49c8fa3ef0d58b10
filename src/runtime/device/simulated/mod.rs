//! Simulated devices: the profile of a device with its numbers and the origin of each, the law
//! by which it takes time, and an executor that follows the law.
//!
//! A fused operation that fills the device takes `max(FLOPs / rate, bytes / bandwidth)`
//! seconds, with a bandwidth for activations and one for weights. A framework that does not
//! fuse moves activations again for every layer that could have been part of another. An
//! operation too small to fill the device takes `grain` seconds, and leaves the units that it
//! does not fill to others. Before each operation its lane spends `launch` seconds, which
//! occupy nothing.

mod catalogue;
mod executor;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::named::named;

pub use catalogue::{FindProfileError, built_in_profiles, find_profile};
pub use executor::{DeviceJob, Executor, JobEvent, JobId};

/// A simulated device: its memory, its law and its price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceProfile {
    /// Name of the profile.
    pub name: String,
    /// How the device runs several workers.
    pub class: DeviceClass,
    /// The hardware and the software described by the numbers.
    pub about: String,
    /// Bytes of the device's memory.
    pub memory_bytes: u64,
    /// Bytes that every worker takes in addition to its network.
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

named! {
    /// The kind of origin of a number.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum OriginKind {
        /// The maker's data sheet.
        Datasheet = "datasheet",
        /// A published measurement.
        Paper = "paper",
        /// Fitted to the measurements that the note names.
        Fitted = "fitted",
        /// Measured on a device, as the note describes.
        Measured = "measured",
        /// An assumption.
        Assumed = "assumed",
    }
}

impl OriginKind {
    /// Returns whether the number follows from measurements of such a device.
    pub fn is_measurement(self) -> bool {
        matches!(self, OriginKind::Fitted | OriginKind::Measured)
    }
}

impl DeviceProfile {
    /// Returns a remark if no number of the profile is measured or fitted to measurements.
    pub fn remark(&self) -> Option<&'static str> {
        let measured = self.origins.iter().any(|o| o.from.is_measurement());
        (!measured).then_some("derived from published figures, not measured")
    }

    /// Creates a profile from its numbers.
    ///
    /// # Errors
    /// A number is missing or out of range.
    pub fn from_origins(
        name: &str,
        class: DeviceClass,
        about: &str,
        origins: &[Origin],
    ) -> Result<Self, ProfileError> {
        DeviceProfile::parse(&text_of(name, class, about, origins))
    }

    /// Returns the profile as the text of a file, which [`DeviceProfile::parse`] reads.
    pub fn to_text(&self) -> String {
        text_of(&self.name, self.class, &self.about, &self.origins)
    }
}

/// Returns the text of a profile's file.
fn text_of(name: &str, class: DeviceClass, about: &str, origins: &[Origin]) -> String {
    let class = match class {
        DeviceClass::Gpu => "gpu",
        DeviceClass::Cpu => "cpu",
    };
    let (name, about) = (quoted(name), quoted(about));
    let mut text = format!("name = {name}\nclass = \"{class}\"\nabout = {about}\n");
    for origin in origins {
        let value = match origin.field {
            "memory" | "worker_memory" => quoted(&origin.value),
            _ => origin.value.clone(),
        };
        let (from, note) = (origin.from.name(), quoted(&origin.note));
        text += &format!(
            "\n[{}]\nvalue = {value}\nfrom = \"{from}\"\nnote = {note}\n",
            origin.field
        );
    }
    text
}

/// Returns text as a string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The reason why a text is not a valid profile.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProfileError {
    /// The text is not TOML, or has other fields than a profile.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The parser's words.
        message: String,
    },
    /// The field does not accept the value.
    #[error("{field}: expected {expected}, found {found}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// The values that it takes.
        expected: &'static str,
        /// The value as it is written.
        found: String,
    },
    /// A fitted or measured number without a note on the measurements.
    #[error("{field}.note is missing: a {from} number needs a note on its measurements")]
    NoNote {
        /// Name of the field.
        field: &'static str,
        /// The name of its origin.
        from: &'static str,
    },
}

/// The work of one fused operation, independent of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OpWork {
    /// Floating-point operations for a sample.
    pub flops: f64,
    /// Bytes of activations read and written for a sample.
    pub bytes: f64,
    /// Further bytes for a sample if batch norms, sums and activations are not fused into it.
    pub unfused_bytes: f64,
    /// Bytes of weights, read once for a batch.
    pub weight_bytes: f64,
}

/// One operation of a batch on a device: the time and the units that it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Seconds if the operation gets all the units it needs.
    pub seconds: f64,
    /// Units that it fills, at least one.
    pub units: u32,
}

/// The numbers of the law by which a device takes time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Law {
    /// Equal parts of the device (a GPU's multiprocessors, a CPU's cores).
    pub units: u32,
    /// FLOP/s of all units.
    pub rate: f64,
    /// Whether batch norms, sums and activations are fused into the previous operation.
    pub fuses: bool,
    /// Bytes/s at which activations pass through an operation, including the framework's overhead.
    pub activation_bandwidth: f64,
    /// Bytes/s at which weights are read.
    pub weight_bandwidth: f64,
    /// Seconds below which an operation leaves units free.
    pub grain: f64,
    /// Seconds before each operation, without occupying units.
    pub launch: f64,
    /// Bytes/s between host and device, each way.
    pub copy_bandwidth: f64,
    /// Seconds of a transfer before its first byte.
    pub copy_latency: f64,
}

impl Law {
    /// Returns the time and the units that `work` takes for a batch of `rows` samples.
    pub fn kernel(&self, work: &OpWork, rows: usize) -> Kernel {
        let rows = rows as f64;
        let flops = work.flops * rows;
        let beside = if self.fuses { 0.0 } else { work.unfused_bytes };
        let moving = (work.bytes + beside) * rows / self.activation_bandwidth
            + work.weight_bytes / self.weight_bandwidth;
        let filled = (flops / self.rate).max(moving);
        if filled >= self.grain {
            return Kernel {
                seconds: filled,
                units: self.units,
            };
        }
        // Units are not divided: a partly filled unit counts as occupied.
        let wanted = (filled / self.grain * f64::from(self.units)).ceil();
        Kernel {
            seconds: self.grain,
            units: (wanted as u32).clamp(1, self.units),
        }
    }

    /// Returns the seconds that a transfer of `bytes` occupies its copy engine.
    pub fn copy(&self, bytes: u64) -> f64 {
        self.copy_latency + bytes as f64 / self.copy_bandwidth
    }
}
