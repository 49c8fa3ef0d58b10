//! An ensemble registered for a task.

use std::fmt;

use divisi_engine::search::profiling::ProfileCondition;
use divisi_model::ensemble::{Combination, Ensemble, Member};
use divisi_modelless::variants::{PricedDevice, Variant};
use divisi_runtime::compute::calibration::{Calibration, NetworkDigest};
use divisi_runtime::network::Shape;
use divisi_runtime::tensor::TensorSpec;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::origin::ProfileOrigin;
use super::rows::LabelledRows;

/// An ensemble of a task, with its variants.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredModel {
    /// Its name. A registration with the same name and source replaces it.
    pub name: String,
    /// Its origin.
    pub record: ModelRecord,
    /// Its variants. Their devices are the devices of the record, and their model is 0.
    pub variants: Vec<Variant>,
}

/// The origin of a registered ensemble, and the facts on which its variants depend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The place that it was read from.
    pub source: RecordedSource,
    /// Its members.
    pub members: Vec<MemberRecord>,
    /// The combination with which accuracies were counted.
    pub combination: Combination,
    /// Its samples and answers.
    pub interface: TaskInterface,
    /// The labelled rows for the accuracies.
    pub rows: LabelledRows,
    /// The kinds of devices that were measured.
    pub devices: Vec<PricedDevice>,
    /// The program and machine of the measurement.
    pub origin: ProfileOrigin,
    /// The worst condition of the host while the profiles were measured.
    pub condition: ProfileCondition,
    /// The number of variants that were counted and profiled. Only some of them were kept.
    pub considered: u32,
    /// The time of the registration, in seconds since 1970.
    pub registered_at: u64,
}

/// The place that an ensemble was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSource {
    /// A path, or the name of a built-in ensemble.
    pub path: String,
    /// The shape of a sample, if a single network file leaves dimensions open.
    pub shape: Option<Shape>,
}

impl fmt::Display for RecordedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Some(shape) => write!(f, "{} with samples of {shape}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// A member, with everything that affects its answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// Its name.
    pub name: String,
    /// Its graph and weights.
    pub network: NetworkDigest,
    /// A digest of its calibration for int8, if it has one.
    pub calibration: Option<String>,
}

/// The samples and answers of a task, which all of its ensembles share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInterface {
    /// The description of a sample.
    pub sample: String,
    /// The number of classes.
    pub classes: usize,
    /// The names of the classes in their order; empty if they have none.
    pub names: Vec<String>,
}

/// A class with different names in two ensembles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherClass {
    /// The number of the class, from 0.
    pub class: usize,
    /// Its name in the first ensemble.
    pub expected: String,
    /// Its name in the second ensemble.
    pub found: String,
}

impl MemberRecord {
    /// Returns the record of a member. Reads the member's weights.
    pub fn from_member(member: &Member) -> Self {
        MemberRecord {
            name: member.name.clone(),
            network: NetworkDigest::from_network(&member.graph, &member.weights),
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
    pub fn from_ensemble(ensemble: &Ensemble) -> Self {
        let sample = match &ensemble.tensors {
            None => ensemble.input.shape.to_string(),
            Some(tensors) => {
                let each = tensors.iter().map(tensor_words);
                each.collect::<Vec<_>>().join(", ")
            }
        };
        TaskInterface {
            sample,
            classes: ensemble.answer_width(),
            names: ensemble.answer_names.clone().unwrap_or_default(),
        }
    }

    /// Returns whether samples and the number of classes are the same.
    pub fn fits(&self, other: &Self) -> bool {
        self.sample == other.sample && self.classes == other.classes
    }

    /// Returns the first class with another name in `other`, or `None` if all names are equal or
    /// one of the two has no names.
    pub fn other_class(&self, other: &Self) -> Option<OtherClass> {
        let mut both = self.names.iter().zip(&other.names).enumerate();
        let (class, (expected, found)) = both.find(|(_, (a, b))| a != b)?;
        Some(OtherClass {
            class,
            expected: expected.clone(),
            found: found.clone(),
        })
    }
}

/// Returns the name, type and dimensions of a tensor, such as `ids: INT64 [128]`.
fn tensor_words(tensor: &TensorSpec) -> String {
    let dims = tensor.dims.iter().map(|dim| format!("{dim}"));
    let dims: Vec<String> = dims.collect();
    format!(
        "{}: {} [{}]",
        tensor.name,
        tensor.data_type,
        dims.join(", ")
    )
}

impl fmt::Display for TaskInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "samples of {} and {} classes", self.sample, self.classes)
    }
}
