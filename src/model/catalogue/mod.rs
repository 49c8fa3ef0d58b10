//! Everything that is served together: models, pipelines and ensembles by name and version, over the
//! members that they share.
//!
//! An ensemble alone is a catalogue of one, and a server that waits for its first model has one of
//! none. Of several the members lie side by side, so that one matrix says where all of them run: a
//! member that two entries hold ([`Arc::ptr_eq`]) is one column.

mod columns;
mod configured;
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
pub use demand::{Demand, StepShare};
pub use entry::{
    BatchDimension, CatalogueEntry, ComposingStep, InstanceGroup, InstancePlace, Interface,
    NewEntry, Version, WarmupRequest,
};
pub use error::CatalogueError;
pub use mix::{Mix, MixError, NamedMix, Turns};

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Catalogue {
    entries: Vec<CatalogueEntry>,
    models: Arc<Ensemble>,
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
            columns: MemberIndex::all(models.members.len()).collect(),
            new: entry,
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
            let (name, version) = (&new.name, new.version);
            let is_same = |e: &CatalogueEntry| e.name() == name && e.version() == version;
            if all.iter().any(is_same) {
                let name = name.clone();
                return Err(CatalogueError::Twice { name, version });
            }
            let of_members = new.ensemble.members.iter();
            all.push(CatalogueEntry {
                columns: of_members.map(|m| columns.of(m, name)).collect(),
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
            policy: policies::joint(&all).unwrap_or(first.ensemble().policy),
            pipeline: None,
            apart: all.len() > 1,
            ..Ensemble::clone(first.ensemble())
        };
        Ok(Catalogue {
            entries: all,
            models: Arc::new(models),
        })
    }

    /// Returns the same entries under another batching policy, in segments of another size.
    pub fn under(&self, policy: PolicyKind, segment_size: usize) -> Self {
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

    /// Returns the same entries with the members of columns computed in other numbers, one precision
    /// a column.
    #[must_use]
    pub fn in_precisions(&self, precisions: &[MemberPrecision]) -> Self {
        let mut same = self.clone();
        same.models = Arc::new(self.models.in_precisions(precisions));
        for entry in &mut same.entries {
            let columns = entry.columns.iter();
            let own = columns.filter_map(|at| precisions.get(at.get()).copied());
            let own: Vec<MemberPrecision> = own.collect();
            entry.new.ensemble = match self.single() {
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
            entry.new.ensemble = match self.single() {
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

    /// Returns the members of all entries side by side, one a column of the matrix: the ensemble
    /// itself where it is the only entry.
    pub fn models(&self) -> &Arc<Ensemble> {
        &self.models
    }

    /// Returns the only ensemble, or `None` if there are several entries.
    pub fn single(&self) -> Option<&Arc<Ensemble>> {
        match &self.entries[..] {
            [entry] => Some(entry.ensemble()),
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
        let named =
            named.filter(|(_, e)| e.name() == name && version.is_none_or(|v| v == e.version()));
        named.max_by_key(|(_, e)| e.version()).map(|(at, _)| at)
    }
}
