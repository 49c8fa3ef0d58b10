//! A model, pipeline or ensemble in a catalogue, and its interface for clients.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

use crate::ensemble::{BatchSize, Ensemble};
use divisi_runtime::device::MemberIndex;

use super::EntryConfig;

/// The version number of a model, from 1.
pub type Version = NonZeroU64;

/// A version of a model, pipeline or ensemble.
#[derive(Clone, Debug)]
pub struct CatalogueEntry {
    pub(super) new: NewEntry,
    pub(super) columns: Arc<[MemberIndex]>,
}

/// The actual or requested placement of a model's instances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceGroup {
    /// The number of instances on each device.
    pub count: usize,
    /// The kind of device.
    pub place: InstancePlace,
    /// The GPU numbers; empty for all GPUs.
    pub gpus: Vec<u32>,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstancePlace {
    /// GPUs if there are any, else processors.
    #[default]
    Any,
    /// GPUs.
    Gpus,
    /// Processors.
    Processors,
}

/// A warm-up request that runs before an entry serves.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmupRequest {
    /// Its name.
    pub name: String,
    /// The number of times it runs.
    pub count: NonZeroUsize,
    /// The number of repetitions of its samples.
    pub rows: NonZeroUsize,
    /// Its samples, row by row.
    pub values: Vec<f32>,
}

/// The interface of an entry for clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// The entry is a single network whose own tensors are its answers.
    pub network: bool,
    /// The first dimension of its tensors.
    pub batch: BatchDimension,
    /// For clients a request is one sample, regardless of the first dimension.
    pub one_sample: bool,
    /// The names of output values, by output name.
    pub labels: Vec<(String, Arc<[String]>)>,
    /// Its answers are not cached.
    pub uncached: bool,
    /// Samples may contain NaN and infinities, and answers are the networks' unchanged results. For
    /// other entries such samples are refused and such answers fail.
    pub non_finite: bool,
    /// The other entries that run its steps, as reported to clients.
    pub composing: Vec<ComposingStep>,
    /// The part of its configuration that clients see as written.
    pub config: Arc<EntryConfig>,
}

/// A step of an entry that another entry runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposingStep {
    /// The name of the other entry.
    pub model: String,
    /// Its version, or `None` for the newest version.
    pub version: Option<Version>,
    /// Its inputs, each with the tensor that it reads.
    pub inputs: Vec<(String, String)>,
    /// Its outputs, each with the tensor that it makes.
    pub outputs: Vec<(String, String)>,
}

/// The first dimension of the tensors of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchDimension {
    /// The samples of a request, limited only by the pool.
    #[default]
    Any,
    /// The samples of a request, at most this number.
    AtMost(usize),
    /// Always this number of samples.
    Exactly(usize),
    /// No batch dimension: a request is one sample.
    None,
}

impl CatalogueEntry {
    /// Returns the name that clients use.
    pub fn name(&self) -> &str {
        &self.new.name
    }

    /// Returns its version.
    pub fn version(&self) -> Version {
        self.new.version
    }

    /// Returns its members, samples, steps and answers.
    pub fn ensemble(&self) -> &Arc<Ensemble> {
        &self.new.ensemble
    }

    /// Returns its interface for clients.
    pub fn interface(&self) -> &Interface {
        &self.new.interface
    }

    /// Returns the warm-up requests that run before it serves.
    pub fn warmup(&self) -> &Arc<[WarmupRequest]> {
        &self.new.warmup
    }

    /// Returns the requested placement of its instances.
    pub fn instances(&self) -> &[InstanceGroup] {
        &self.new.instances
    }

    /// Returns the initial batch size of its workers, or `None` for the smallest.
    pub fn first_batch(&self) -> Option<BatchSize> {
        self.new.first_batch
    }

    /// Returns the number of samples that do not wait for more, if it is less than a full batch.
    pub fn ready_samples(&self) -> Option<BatchSize> {
        self.new.enough
    }

    /// Returns its member for a column, or `None` if it has no such column.
    pub fn member_at(&self, column: MemberIndex) -> Option<MemberIndex> {
        let position = self.columns.iter().position(|of| *of == column);
        position.map(MemberIndex::new)
    }

    /// Returns the matrix column of each of its members.
    pub fn columns(&self) -> &Arc<[MemberIndex]> {
        &self.columns
    }
}

/// A model, pipeline or ensemble to serve.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// The name that clients use.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Its members, samples, steps and answers.
    pub ensemble: Arc<Ensemble>,
    /// Its interface for clients.
    pub interface: Interface,
    /// The warm-up requests that run before it serves.
    pub warmup: Arc<[WarmupRequest]>,
    /// The requested placement of its instances; empty for no preference.
    pub instances: Vec<InstanceGroup>,
    /// The initial batch size of its workers, if it is a single model.
    pub first_batch: Option<BatchSize>,
    /// The number of samples that do not wait for more, if it is less than a full batch.
    pub enough: Option<BatchSize>,
}

impl NewEntry {
    /// Creates the entry of an ensemble with the ensemble's name, in version 1.
    pub fn from_ensemble(ensemble: Arc<Ensemble>, interface: Interface) -> Self {
        NewEntry {
            name: ensemble.name.clone(),
            version: Version::MIN,
            ensemble,
            interface,
            warmup: Arc::default(),
            instances: Vec::new(),
            first_batch: None,
            enough: None,
        }
    }
}

impl From<&CatalogueEntry> for NewEntry {
    fn from(entry: &CatalogueEntry) -> Self {
        entry.new.clone()
    }
}
