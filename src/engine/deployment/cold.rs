//! Models that failed their warm-up.

use std::collections::BTreeMap;
use std::sync::Arc;

use divisi_model::catalogue::NewEntry;
use divisi_model::ensemble::Ensemble;

/// Models that failed their warm-up, with the reason. They do not start again until they are
/// requested by name or change.
#[derive(Default)]
pub(super) struct ColdModels(Vec<ColdModel>);

struct ColdModel {
    name: String,
    ensemble: Arc<Ensemble>,
    reason: String,
}

impl ColdModels {
    /// Returns the failed models among the entries, with the reason.
    pub(super) fn failed_among(&self, entries: &[NewEntry]) -> BTreeMap<String, String> {
        let known = |entry: &NewEntry| {
            let mut cold = self.0.iter();
            let same = cold.find(|cold| Arc::ptr_eq(&cold.ensemble, &entry.ensemble))?;
            Some((entry.name.clone(), same.reason.clone()))
        };
        entries.iter().filter_map(known).collect()
    }

    /// Records entries that failed their warm-up.
    pub(super) fn note(&mut self, entries: &[NewEntry], failed: &BTreeMap<String, String>) {
        self.0.retain(|cold| !failed.contains_key(&cold.name));
        let cold = entries.iter().filter_map(|entry| {
            Some(ColdModel {
                name: entry.name.clone(),
                ensemble: Arc::clone(&entry.ensemble),
                reason: failed.get(&entry.name)?.clone(),
            })
        });
        self.0.extend(cold);
    }

    /// Allows a model that is requested by name to start again.
    pub(super) fn ask_again(&mut self, name: Option<&str>) {
        self.0.retain(|cold| Some(cold.name.as_str()) != name);
    }
}
