//! A served entry of the catalogue: its waiting samples, its combination rule and its figures.

use std::sync::Arc;
use std::time::Duration;

use crate::serving::pool::Storage;
use divisi_model::catalogue::CatalogueEntry;
use divisi_model::ensemble::{Combination, CombinationRule, Ensemble};
use divisi_model::metrics::NamedVersion;
use divisi_runtime::device::MemberIndex;

use super::counters::EntryTally;
use super::locks::{Leaf, SharedLeaf};
use super::member_sampler::MemberSampler;

/// A served entry of the catalogue.
pub(crate) struct ServedEnsemble {
    model: NamedVersion,
    pub ensemble: Arc<Ensemble>,
    columns: Arc<[MemberIndex]>,
    /// Whether samples and answers may contain NaN and infinities.
    pub non_finite: bool,
    /// The waiting samples.
    pub storage: Storage,
    in_force: SharedLeaf<RuleInForce>,
    pub sampler: MemberSampler,
    /// Its answered requests.
    pub tally: Leaf<EntryTally>,
}

/// The combination of newly admitted requests.
struct RuleInForce {
    combination: Combination,
    rule: Arc<dyn CombinationRule>,
    /// Whether the rule is a caller's own instead of the combination's.
    own_rule: bool,
    /// The number of earlier changes.
    changes: u64,
}

impl RuleInForce {
    fn new(combination: Combination, ensemble: &Ensemble) -> Self {
        RuleInForce {
            rule: ensemble.build_rule(&combination),
            combination,
            own_rule: false,
            changes: 0,
        }
    }
}

impl ServedEnsemble {
    /// Creates a served entry with samples in `storage`. `weighed` is true if the answers of its
    /// members are meaningful.
    pub(super) fn new(entry: &CatalogueEntry, storage: Storage, weighed: bool) -> Self {
        let ensemble = Arc::clone(entry.ensemble());
        let in_force = RuleInForce::new(ensemble.combination(), &ensemble);
        let (by, rule) = (&in_force.combination, &in_force.rule);
        ServedEnsemble {
            model: NamedVersion {
                name: entry.name().into(),
                version: entry.version().to_string().into(),
            },
            sampler: MemberSampler::new(weighed, by, rule, &ensemble),
            in_force: SharedLeaf::new(in_force),
            columns: Arc::clone(entry.columns()),
            non_finite: entry.interface().non_finite,
            tally: Leaf::default(),
            storage,
            ensemble,
        }
    }

    /// Returns the number of the member in a column of the matrix, or the first member if the entry
    /// does not use the column.
    pub(super) fn member_at(&self, column: MemberIndex) -> MemberIndex {
        match self.columns.get(column.get()) {
            Some(same) if *same == column => column,
            _ => {
                let mut columns = MemberIndex::enumerate(&self.columns[..]);
                let found = columns.find(|(_, of)| **of == column);
                found.map_or(MemberIndex::new(0), |(member, _)| member)
            }
        }
    }

    /// Returns the column of a member in the matrix.
    pub(super) fn column_of(&self, member: MemberIndex) -> MemberIndex {
        self.columns[member.get()]
    }

    /// Returns the rule for newly admitted requests.
    pub(super) fn rule(&self) -> Arc<dyn CombinationRule> {
        Arc::clone(&self.in_force.read().rule)
    }

    /// The combination of newly admitted requests.
    pub(super) fn combination(&self) -> Combination {
        self.in_force.read().combination.clone()
    }

    /// Sets a caller's own rule for newly admitted requests.
    pub(super) fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        let before = {
            let mut in_force = self.in_force.write();
            in_force.own_rule = true;
            in_force.changes += 1;
            std::mem::replace(&mut in_force.rule, rule)
        };
        // Dropped without the lock, because its contents are unknown.
        drop(before);
    }

    /// Returns the number of changes of the rule.
    pub(super) fn rule_changes(&self) -> u64 {
        self.in_force.read().changes
    }

    /// Returns whether a caller's own rule combines requests.
    pub(super) fn has_own_rule(&self) -> bool {
        self.in_force.read().own_rule
    }

    /// Sets the combination of newly admitted requests.
    pub(super) fn combine_by(&self, combination: Combination) {
        let new = RuleInForce::new(combination, &self.ensemble);
        self.sampler.restart(&new.combination, &new.rule);
        let before = {
            let mut in_force = self.in_force.write();
            let changes = in_force.changes + 1;
            std::mem::replace(&mut *in_force, RuleInForce { changes, ..new })
        };
        // Also dropped without the lock.
        drop(before);
    }

    /// Counts a request that was answered.
    pub(super) fn answered(&self, now: Duration, latency: Duration, samples: usize) {
        self.tally.lock().answered(now, latency, samples);
    }

    /// Returns its name and version, for the ledger of errors.
    pub(super) fn model(&self) -> NamedVersion {
        self.model.clone()
    }
}
