//! The served models, pipelines and ensembles, by name and version, over their shared members.
//!
//! A single ensemble is a catalogue of one entry, and a server that waits for its first model has
//! an empty catalogue. The members of all entries lie side by side, so one matrix places all of
//! them. A member that two entries share ([`Arc::ptr_eq`]) has one column.

mod columns;
mod configured;
mod copy;
mod demand;
mod entry;
mod error;
mod mix;
mod policies;
mod succession;

use std::sync::Arc;

use crate::ensemble::{Ensemble, MemberPrecision, PolicyKind};
use divisi_runtime::device::MemberIndex;

use columns::Columns;

pub use configured::{
    ConfiguredBatching, ConfiguredTensor, EntryConfig, TensorFormat, VersionPolicy, Warmup,
    WarmupData, WarmupInput,
};
pub use copy::{ModelCopy, ServedCopies};
pub use demand::{Demand, StepShare};
pub use entry::{
    BatchDimension, CatalogueEntry, ComposingStep, InstanceGroup, InstancePlace, Interface,
    NewEntry, Version, WarmupRequest,
};
pub use error::CatalogueError;
pub use mix::{Mix, MixError, NamedMix, Turns};

/// The served models, pipelines and ensembles, by name and version.
#[derive(Clone, Debug)]
pub struct Catalogue {
    entries: Vec<CatalogueEntry>,
    models: Arc<Ensemble>,
    copies: ServedCopies,
}

impl Catalogue {
    /// Returns the catalogue of a single ensemble, in version 1.
    pub fn from_ensemble(ensemble: Arc<Ensemble>) -> Self {
        Catalogue::from_entry(NewEntry::from_ensemble(ensemble, Interface::default()))
    }

    /// Returns the catalogue of a single entry.
    pub fn from_entry(entry: NewEntry) -> Self {
        let models = Arc::clone(&entry.ensemble);
        let entry = CatalogueEntry {
            columns: MemberIndex::all(models.members.len()).collect(),
            new: entry,
        };
        Catalogue {
            copies: Self::only_copies([(entry.name(), entry.version())]),
            entries: vec![entry],
            models,
        }
    }

    /// Returns the empty catalogue `name`.
    pub fn empty(name: &str) -> Self {
        Catalogue {
            entries: Vec::new(),
            copies: Arc::default(),
            models: Arc::new(Ensemble::without_members(name.to_owned())),
        }
    }

    /// Creates the catalogue `name`. Settings common to all entries come from its first entry.
    ///
    /// # Errors
    /// Two entries have the same name and version.
    pub fn new(name: &str, mut entries: Vec<NewEntry>) -> Result<Self, CatalogueError> {
        if entries.len() == 1
            && let Some(only) = entries.pop()
        {
            return Ok(Catalogue::from_entry(only));
        }
        let mut columns = Columns::default();
        let mut all: Vec<CatalogueEntry> = Vec::new();
        for new in entries {
            let (name, version) = (&new.name, new.version);
            let is_same = |e: &CatalogueEntry| e.name() == name && e.version() == version;
            if all.iter().any(is_same) {
                let name = name.clone();
                return Err(CatalogueError::Twice { name, version });
            }
            let of_members = new.ensemble.members.iter();
            all.push(CatalogueEntry {
                columns: of_members.map(|m| columns.column_for(m, name)).collect(),
                new,
            });
        }
        let Some(first) = all.first() else {
            return Ok(Catalogue::empty(name));
        };
        let sizes = all.iter().map(|e| &e.ensemble().batch_sizes);
        let models = Ensemble {
            name: name.to_owned(),
            members: columns.members,
            batch_sizes: sizes
                .cloned()
                .reduce(|a, b| a.union(&b))
                .unwrap_or_else(|| first.ensemble().batch_sizes.clone()),
            policy: policies::common_policy(&all).unwrap_or(first.ensemble().policy),
            pipeline: None,
            apart: all.len() > 1,
            ..Ensemble::clone(first.ensemble())
        };
        Ok(Catalogue {
            copies: Self::only_copies(all.iter().map(|e| (e.name(), e.version()))),
            entries: all,
            models: Arc::new(models),
        })
    }

    /// Returns the catalogue with another batching policy and segment size.
    pub fn with_policy(&self, policy: PolicyKind, segment_size: usize) -> Self {
        self.with_ensembles(|ensemble| Ensemble {
            policy,
            segment_size,
            ..ensemble
        })
    }

    /// Returns the catalogue without queue limits and timeouts, for a client that sends requests as
    /// fast as they are answered.
    pub fn without_queues(&self) -> Self {
        self.with_ensembles(|ensemble| Ensemble {
            queueing: None,
            ..ensemble
        })
    }

    /// Returns the catalogue with other precisions, one per column.
    #[must_use]
    pub fn in_precisions(&self, precisions: &[MemberPrecision]) -> Self {
        let mut same = self.clone();
        same.models = Arc::new(self.models.in_precisions(precisions));
        for entry in &mut same.entries {
            let columns = entry.columns.iter();
            let own = columns.filter_map(|at| precisions.get(at.get()).copied());
            let own: Vec<MemberPrecision> = own.collect();
            entry.new.ensemble = match self.single_ensemble() {
                Some(_) => Arc::clone(&same.models),
                None => Arc::new(entry.new.ensemble.in_precisions(&own)),
            };
        }
        same
    }

    fn with_ensembles(&self, change: impl Fn(Ensemble) -> Ensemble) -> Self {
        let changed = |ensemble: &Arc<Ensemble>| Arc::new(change(Ensemble::clone(ensemble)));
        let mut same = self.clone();
        same.models = changed(&self.models);
        for entry in &mut same.entries {
            entry.new.ensemble = match self.single_ensemble() {
                Some(_) => Arc::clone(&same.models),
                None => changed(&entry.new.ensemble),
            };
        }
        same
    }

    /// Returns its entries, in their order.
    pub fn entries(&self) -> &[CatalogueEntry] {
        &self.entries
    }

    /// Returns the members of all entries side by side, one per column of the matrix. For a single
    /// entry this is the ensemble itself.
    pub fn models(&self) -> &Arc<Ensemble> {
        &self.models
    }

    /// Returns the single ensemble, or `None` if there are several entries.
    pub fn single_ensemble(&self) -> Option<&Arc<Ensemble>> {
        match &self.entries[..] {
            [entry] => Some(entry.ensemble()),
            _ => None,
        }
    }

    /// Returns the first entry that holds the member of a column, and the member's number in it.
    pub fn entry_with(&self, column: MemberIndex) -> Option<(&CatalogueEntry, MemberIndex)> {
        let mut entries = self.entries.iter();
        entries.find_map(|entry| Some((entry, entry.member_at(column)?)))
    }

    /// Returns the number of the entry with a name and version (the newest version if `None`), or
    /// `None` if there is no such entry.
    pub fn find(&self, name: &str, version: Option<Version>) -> Option<usize> {
        let named = self.entries.iter().enumerate();
        let named =
            named.filter(|(_, e)| e.name() == name && version.is_none_or(|v| v == e.version()));
        named.max_by_key(|(_, e)| e.version()).map(|(at, _)| at)
    }
}
