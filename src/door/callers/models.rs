//! The calls to each version of a model, by client.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use divisi_model::metrics::MOMENT;

use super::counts::CallFigures;
use super::table::CallerTable;
use super::who::CallerName;

/// The number of distinct versions of models. Calls to further versions are only counted in total.
const MOST_MODELS: usize = 256;

/// The number of distinct clients of a version; calls of further clients are counted together.
const MOST_CALLERS: usize = 32;

/// The number of clients of a version that are listed.
const SHOWN: usize = 8;

/// The calls to one version of a model.
#[derive(Clone, Debug)]
struct ModelCounts {
    callers: CallerTable,
}

impl Default for ModelCounts {
    fn default() -> Self {
        ModelCounts {
            callers: CallerTable::with_limit(MOST_CALLERS),
        }
    }
}

/// The calls to a version of a model within the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSeen {
    /// The model's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its busiest clients, busiest first.
    pub callers: Vec<(CallerName, CallFigures)>,
    /// The total calls of all other clients and their known number, or `None` if there are none.
    pub others: Option<(usize, CallFigures)>,
}

/// The counts of all models.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelLedger {
    /// By name, then by version.
    models: HashMap<String, BTreeMap<String, ModelCounts>>,
    /// The time of the last search for idle models.
    looked: Duration,
}

impl ModelLedger {
    /// Counts a call to a version of a model that ended at `now`.
    pub(super) fn count(
        &mut self,
        now: Duration,
        name: &str,
        version: &str,
        who: &CallerName,
        has_failed: bool,
    ) {
        if let Some(counts) = self.counts_of(now, name, version) {
            counts.callers.count(now, who, has_failed);
        }
    }

    /// Returns the counts of a version, or `None` if there is no room for them.
    fn counts_of(&mut self, now: Duration, name: &str, version: &str) -> Option<&mut ModelCounts> {
        if !self.has(name, version) {
            self.make_room(now)?;
            let versions = self.models.entry(name.to_owned()).or_default();
            versions.insert(version.to_owned(), ModelCounts::default());
        }
        self.models.get_mut(name)?.get_mut(version)
    }

    fn has(&self, name: &str, version: &str) -> bool {
        let versions = self.models.get(name);
        versions.is_some_and(|versions| versions.contains_key(version))
    }

    fn make_room(&mut self, now: Duration) -> Option<()> {
        let is_full = |models: &Self| models.versions() >= MOST_MODELS;
        // Models become idle only at the end of an interval.
        if is_full(self) && now >= self.looked + MOMENT {
            self.looked = now;
            self.forget_idle(now);
        }
        (!is_full(self)).then_some(())
    }

    fn versions(&self) -> usize {
        self.models.values().map(BTreeMap::len).sum()
    }

    fn forget_idle(&mut self, now: Duration) {
        self.models.retain(|_, versions| {
            versions.retain(|_, counts| !counts.callers.is_idle(now));
            !versions.is_empty()
        });
    }

    /// Returns the calls of each requested version within the window before `now`, in no order.
    pub(super) fn snapshot(&mut self, now: Duration) -> Vec<ModelSeen> {
        self.forget_idle(now);
        let models = self.models.iter_mut();
        let versions = models.flat_map(|(name, versions)| {
            versions
                .iter_mut()
                .map(move |(version, counts)| counts.snapshot(now, name, version))
        });
        versions.collect()
    }
}

impl ModelCounts {
    fn snapshot(&mut self, now: Duration, name: &str, version: &str) -> ModelSeen {
        let (callers, others) = self.callers.listed(now, SHOWN);
        ModelSeen {
            name: name.to_owned(),
            version: version.to_owned(),
            callers,
            others,
        }
    }
}
