//! A model, a pipeline or an ensemble in a catalogue, and how its clients see it.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

use crate::ensemble::{BatchSize, Ensemble};
use divisi_runtime::device::MemberIndex;

use super::EntryConfig;

/// The number of a version of a model, from 1 on.
pub type Version = NonZeroU64;

/// A version of a model, a pipeline or an ensemble.
#[derive(Clone, Debug)]
pub struct CatalogueEntry {
    pub(super) new: NewEntry,
    pub(super) columns: Arc<[MemberIndex]>,
}

/// Where instances of a model run, or are wished for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceGroup {
    /// How many, on each device.
    pub count: usize,
    /// On which kind of device.
    pub place: InstancePlace,
    /// On which GPUs, by number; none for all.
    pub gpus: Vec<u32>,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstancePlace {
    /// GPUs where there are some, else processors.
    #[default]
    Any,
    /// GPUs.
    Gpus,
    /// Processors.
    Processors,
}

/// A request that an entry is asked before it serves.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmupRequest {
    /// Its name.
    pub name: String,
    /// How often it is asked.
    pub count: NonZeroUsize,
    /// How often its samples are repeated in it.
    pub rows: NonZeroUsize,
    /// Its samples, row after row.
    pub values: Vec<f32>,
}

/// How clients see an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// It is a network alone, whose own tensors are its answers.
    pub network: bool,
    /// The first dimension of its tensors.
    pub batch: BatchDimension,
    /// For its clients a request is one sample, whatever that dimension is.
    pub one_sample: bool,
    /// The names of the values of outputs, by the outputs' names.
    pub labels: Vec<(String, Arc<[String]>)>,
    /// Its answers are not kept for equal requests.
    pub uncached: bool,
    /// Its samples may have NaN and infinities, and its answers are what its networks make of them:
    /// nothing combines them. Of others such samples are refused, and such answers fail.
    pub non_finite: bool,
    /// The other entries that do its steps, as its clients are told.
    pub composing: Vec<ComposingStep>,
    /// Its configuration, as far as its clients are told it as it is written.
    pub config: Arc<EntryConfig>,
}

/// A step of an entry that another one does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposingStep {
    /// The other one's name.
    pub model: String,
    /// Its version; `None` for the newest.
    pub version: Option<Version>,
    /// Its inputs, each with the tensor that it reads.
    pub inputs: Vec<(String, String)>,
    /// Its outputs, each with the tensor that it makes.
    pub outputs: Vec<(String, String)>,
}

/// The first dimension of the tensors of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchDimension {
    /// The samples of a request, as many as the pool holds.
    #[default]
    Any,
    /// The samples of a request, at most so many.
    AtMost(usize),
    /// Always so many samples.
    Exactly(usize),
    /// None: a request is one sample.
    None,
}

impl CatalogueEntry {
    /// Returns the name by which it is asked.
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

    /// Returns how clients see it.
    pub fn interface(&self) -> &Interface {
        &self.new.interface
    }

    /// Returns the requests that it is asked before it serves.
    pub fn warmup(&self) -> &Arc<[WarmupRequest]> {
        &self.new.warmup
    }

    /// Returns where it is wished to run.
    pub fn instances(&self) -> &[InstanceGroup] {
        &self.new.instances
    }

    /// Returns the batch size that its workers are to begin with, or `None` for the smallest.
    pub fn first_batch(&self) -> Option<BatchSize> {
        self.new.first_batch
    }

    /// Returns the number of samples that wait for no others, if that is less than a full batch.
    pub fn enough(&self) -> Option<BatchSize> {
        self.new.enough
    }

    /// Returns its member of a column, or `None` if it has no such column.
    pub fn member_at(&self, column: MemberIndex) -> Option<MemberIndex> {
        let position = self.columns.iter().position(|of| *of == column);
        position.map(MemberIndex::new)
    }

    /// Returns the column of the matrix of each of its members.
    pub fn columns(&self) -> &Arc<[MemberIndex]> {
        &self.columns
    }
}

/// A model, a pipeline or an ensemble that is to be served.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// The name by which it is asked.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Its members, samples, steps and answers.
    pub ensemble: Arc<Ensemble>,
    /// How clients see it.
    pub interface: Interface,
    /// The requests that it is asked before it serves.
    pub warmup: Arc<[WarmupRequest]>,
    /// Where it is wished to run; nowhere in particular if empty.
    pub instances: Vec<InstanceGroup>,
    /// The batch size that its workers are to begin with, if it is a model alone.
    pub first_batch: Option<BatchSize>,
    /// The number of samples that wait for no others, if that is less than a full batch.
    pub enough: Option<BatchSize>,
}

impl NewEntry {
    /// Creates the entry of an ensemble by its own name, in its first version.
    pub fn of(ensemble: Arc<Ensemble>, interface: Interface) -> Self {
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
