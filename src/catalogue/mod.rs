//! Everything that is served together: models, pipelines and ensembles by name and version, over the
//! members that they share.
//!
//! An ensemble alone is a catalogue of one, and a server that waits for its first model has one of
//! none. Of several the members lie side by side, so that one matrix says where all of them run: a
//! member that two entries hold ([`Arc::ptr_eq`]) is one column.

mod demand;
mod error;
mod mix;
mod policies;

use std::collections::HashMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

use crate::device::MemberIndex;
use crate::ensemble::{BatchSize, Ensemble, Member, PolicyKind};

pub use demand::{Demand, StepShare};
pub use error::CatalogueError;
pub use mix::{Mix, MixError, NamedMix, Turns};

/// The number of a version of a model, from 1 on.
pub type Version = NonZeroU64;

/// A version of a model, a pipeline or an ensemble.
#[derive(Clone, Debug)]
pub struct CatalogueEntry {
    name: String,
    version: Version,
    ensemble: Arc<Ensemble>,
    interface: Interface,
    columns: Arc<[MemberIndex]>,
    warmup: Arc<[WarmupRequest]>,
    instances: Vec<InstanceGroup>,
    first_batch: Option<BatchSize>,
}

/// Where instances of a model are wished for.
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
    /// The names of the values of outputs, by the outputs' names.
    pub labels: Vec<(String, Arc<[String]>)>,
    /// Its answers are not kept for equal requests.
    pub uncached: bool,
    /// The other entries that do its steps, as its clients are told.
    pub composing: Vec<ComposingStep>,
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
        &self.name
    }

    /// Returns its version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns its members, samples, steps and answers.
    pub fn ensemble(&self) -> &Arc<Ensemble> {
        &self.ensemble
    }

    /// Returns how clients see it.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns the requests that it is asked before it serves.
    pub fn warmup(&self) -> &Arc<[WarmupRequest]> {
        &self.warmup
    }

    /// Returns where it is wished to run.
    pub fn instances(&self) -> &[InstanceGroup] {
        &self.instances
    }

    /// Returns the batch size that its workers are to begin with, or `None` for the smallest.
    pub fn first_batch(&self) -> Option<BatchSize> {
        self.first_batch
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

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Catalogue {
    entries: Vec<CatalogueEntry>,
    models: Arc<Ensemble>,
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
        }
    }
}

impl From<&CatalogueEntry> for NewEntry {
    fn from(entry: &CatalogueEntry) -> Self {
        NewEntry {
            name: entry.name.clone(),
            version: entry.version,
            ensemble: Arc::clone(&entry.ensemble),
            interface: entry.interface.clone(),
            warmup: Arc::clone(&entry.warmup),
            instances: entry.instances.clone(),
            first_batch: entry.first_batch,
        }
    }
}

impl Catalogue {
    /// Returns the catalogue of one ensemble alone, in its first version.
    pub fn of(ensemble: Arc<Ensemble>) -> Self {
        Catalogue::alone(NewEntry::of(ensemble, Interface::default()))
    }

    /// Returns the catalogue of one entry.
    pub fn alone(entry: NewEntry) -> Self {
        let models = Arc::clone(&entry.ensemble);
        let entry = CatalogueEntry {
            name: entry.name,
            version: entry.version,
            columns: MemberIndex::all(models.members.len()).collect(),
            ensemble: entry.ensemble,
            interface: entry.interface,
            warmup: entry.warmup,
            instances: entry.instances,
            first_batch: entry.first_batch,
        };
        Catalogue {
            entries: vec![entry],
            models,
        }
    }

    /// Returns the catalogue called `name` in which there is nothing yet.
    pub fn empty(name: &str) -> Self {
        Catalogue {
            entries: Vec::new(),
            models: Arc::new(Ensemble::without_members(name.to_owned())),
        }
    }

    /// Creates the catalogue called `name`. Settings that all share are those of its first entry.
    ///
    /// # Errors
    /// Two entries have the same name and version.
    pub fn new(name: &str, mut entries: Vec<NewEntry>) -> Result<Self, CatalogueError> {
        if entries.len() == 1
            && let Some(only) = entries.pop()
        {
            return Ok(Catalogue::alone(only));
        }
        let mut columns = Columns::default();
        let mut all: Vec<CatalogueEntry> = Vec::new();
        for new in entries {
            let (name, version) = (new.name, new.version);
            if all.iter().any(|e| e.name == name && e.version == version) {
                return Err(CatalogueError::Twice { name, version });
            }
            let of_members = new.ensemble.members.iter();
            all.push(CatalogueEntry {
                columns: of_members.map(|m| columns.of(m, &name)).collect(),
                name,
                version,
                ensemble: new.ensemble,
                interface: new.interface,
                warmup: new.warmup,
                instances: new.instances,
                first_batch: new.first_batch,
            });
        }
        let Some(first) = all.first() else {
            return Ok(Catalogue::empty(name));
        };
        let sizes = all.iter().map(|e| &e.ensemble.batch_sizes);
        let models = Ensemble {
            name: name.to_owned(),
            members: columns.members,
            batch_sizes: sizes
                .cloned()
                .reduce(|a, b| a.union(&b))
                .unwrap_or_else(|| first.ensemble.batch_sizes.clone()),
            policy: policies::joint(&all).unwrap_or(first.ensemble.policy),
            pipeline: None,
            apart: all.len() > 1,
            ..Ensemble::clone(&first.ensemble)
        };
        Ok(Catalogue {
            entries: all,
            models: Arc::new(models),
        })
    }

    /// Returns the same entries under another batching policy, in segments of another size.
    pub(crate) fn under(&self, policy: PolicyKind, segment_size: usize) -> Self {
        self.with_ensembles(|ensemble| Ensemble {
            policy,
            segment_size,
            ..ensemble
        })
    }

    /// Returns the same entries without bounds on how many requests wait and how long: for who asks
    /// as much as is answered.
    pub fn without_queues(&self) -> Self {
        self.with_ensembles(|ensemble| Ensemble {
            queueing: None,
            ..ensemble
        })
    }

    fn with_ensembles(&self, change: impl Fn(Ensemble) -> Ensemble) -> Self {
        let changed = |ensemble: &Arc<Ensemble>| Arc::new(change(Ensemble::clone(ensemble)));
        let mut same = self.clone();
        same.models = changed(&self.models);
        for entry in &mut same.entries {
            entry.ensemble = match self.single() {
                Some(_) => Arc::clone(&same.models),
                None => changed(&entry.ensemble),
            };
        }
        same
    }

    /// Returns its entries, in their order.
    pub fn entries(&self) -> &[CatalogueEntry] {
        &self.entries
    }

    /// Returns the members of all entries side by side, one a column of the matrix: the ensemble
    /// itself where it is the only entry.
    pub fn models(&self) -> &Arc<Ensemble> {
        &self.models
    }

    /// Returns the only ensemble, or `None` if there are several entries.
    pub fn single(&self) -> Option<&Arc<Ensemble>> {
        match &self.entries[..] {
            [entry] => Some(&entry.ensemble),
            _ => None,
        }
    }

    /// Returns the first entry that holds the member of a column, and the member's number in it.
    pub fn holder(&self, column: MemberIndex) -> Option<(&CatalogueEntry, MemberIndex)> {
        let mut entries = self.entries.iter();
        entries.find_map(|entry| Some((entry, entry.member_at(column)?)))
    }

    /// Returns the number of the entry of a name and version, of the newest version if none is named,
    /// or `None` if there is no such entry.
    pub fn find(&self, name: &str, version: Option<Version>) -> Option<usize> {
        let named = self.entries.iter().enumerate();
        let named = named.filter(|(_, e)| e.name == name && version.is_none_or(|v| v == e.version));
        named.max_by_key(|(_, e)| e.version).map(|(at, _)| at)
    }
}

/// The columns of members, in the order in which entries name them.
#[derive(Default)]
struct Columns {
    members: Vec<Arc<Member>>,
    /// By the address of a member.
    known: HashMap<*const Member, MemberIndex>,
}

impl Columns {
    /// Returns the column of a member of the entry called `entry`.
    fn of(&mut self, member: &Arc<Member>, entry: &str) -> MemberIndex {
        if let Some(column) = self.known.get(&Arc::as_ptr(member)) {
            return *column;
        }
        let column = MemberIndex::new(self.members.len());
        self.known.insert(Arc::as_ptr(member), column);
        let mut kept = Arc::clone(member);
        let name = self.free_name(&member.name, entry);
        if name != member.name {
            Arc::make_mut(&mut kept).name = name;
        }
        self.members.push(kept);
        column
    }

    /// Returns a name that no column has: `name`, or that with the entry's before it.
    fn free_name(&self, name: &str, entry: &str) -> String {
        let is_free = |wanted: &str| self.members.iter().all(|m| m.name != wanted);
        if is_free(name) {
            return name.to_owned();
        }
        let qualified = format!("{entry}/{name}");
        let numbered = (2..).map(|number: u64| format!("{qualified}-{number}"));
        let mut wanted = std::iter::once(qualified.clone()).chain(numbered);
        wanted.find(|name| is_free(name)).unwrap_or(qualified)
    }
}
