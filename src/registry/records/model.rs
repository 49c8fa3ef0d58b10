//! An ensemble as it was registered for a task.

use std::fmt;

use divisi_model::ensemble::{Combination, Ensemble, Member};
use divisi_modelless::variants::{PricedDevice, Variant};
use divisi_runtime::compute::calibration::{Calibration, NetworkDigest};
use divisi_runtime::network::Shape;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::origin::ProfileOrigin;

/// An ensemble of a task, with its variants.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredModel {
    /// Its name, by which another registration replaces it.
    pub name: String,
    /// Where it comes from.
    pub record: ModelRecord,
    /// Its variants; their devices are those of the record, and their model is 0.
    pub variants: Vec<Variant>,
}

/// Where an ensemble that was registered comes from, and what its variants rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// Where it was read from.
    pub source: RecordedSource,
    /// Its members.
    pub members: Vec<MemberRecord>,
    /// How they were combined while accuracies were counted.
    pub combination: Combination,
    /// The samples that it takes and the answers that it makes.
    pub interface: TaskInterface,
    /// The labelled rows that accuracies were counted on.
    pub rows: u32,
    /// The kinds of devices that were measured.
    pub devices: Vec<PricedDevice>,
    /// The program and the machine that measured.
    pub origin: ProfileOrigin,
    /// The variants that were counted and profiled, of which some were kept.
    pub considered: u32,
    /// The time of the registration, in seconds since 1970.
    pub registered_at: u64,
}

/// Where an ensemble was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSource {
    /// A path, or the name of a built-in ensemble.
    pub path: String,
    /// The shape of a sample, where a network's file alone leaves dimensions open.
    pub shape: Option<Shape>,
}

/// A member with all that its answers depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// Its name.
    pub name: String,
    /// Its graph and weights.
    pub network: NetworkDigest,
    /// A digest of the ranges by which it is computed in bytes, where it has some.
    pub calibration: Option<String>,
}

/// The samples and answers of a task: the same for all of its ensembles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInterface {
    /// A sample in words.
    pub sample: String,
    /// The number of classes.
    pub classes: usize,
}

impl MemberRecord {
    /// Returns the record of a member. Its weights are read for it.
    pub fn of(member: &Member) -> Self {
        MemberRecord {
            name: member.name.clone(),
            network: NetworkDigest::of(&member.graph, &member.weights),
            calibration: member.calibration().map(|ranges| digest(ranges)),
        }
    }
}

fn digest(calibration: &Calibration) -> String {
    let hash = Sha256::new().chain_update(format!("{calibration:?}"));
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

impl TaskInterface {
    /// Returns the interface of an ensemble.
    pub fn of(ensemble: &Ensemble) -> Self {
        let sample = match &ensemble.tensors {
            None => ensemble.input.shape.to_string(),
            Some(tensors) => {
                let each = tensors.iter().map(|tensor| tensor.name.clone());
                each.collect::<Vec<_>>().join(", ")
            }
        };
        TaskInterface {
            sample,
            classes: ensemble.answer_width(),
        }
    }
}

impl fmt::Display for TaskInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "samples of {} and {} classes", self.sample, self.classes)
    }
}
