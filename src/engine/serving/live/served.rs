//! An entry of the catalogue as an engine serves it: its samples that wait, how its answers are
//! combined, and its own figures.

use std::sync::Arc;
use std::time::Duration;

use crate::serving::pool::Storage;
use divisi_model::catalogue::CatalogueEntry;
use divisi_model::ensemble::{Combination, CombinationRule, Ensemble};
use divisi_runtime::device::MemberIndex;

use super::counters::EntryTally;
use super::locks::{Leaf, SharedLeaf};
use super::member_sampler::MemberSampler;

/// See the module's text.
pub(crate) struct ServedEnsemble {
    pub ensemble: Arc<Ensemble>,
    columns: Arc<[MemberIndex]>,
    /// Whether its samples and answers may have NaN and infinities.
    pub non_finite: bool,
    /// The samples that wait.
    pub storage: Storage,
    in_force: SharedLeaf<RuleInForce>,
    pub sampler: MemberSampler,
    /// The outcomes of its requests.
    pub tally: Leaf<EntryTally>,
}

/// How requests that are let in now are combined.
struct RuleInForce {
    combination: Combination,
    rule: Arc<dyn CombinationRule>,
    /// The rule is a caller's and not the combination's.
    own_rule: bool,
    /// How often there was another one before.
    changes: u64,
}

impl RuleInForce {
    fn new(combination: Combination, ensemble: &Ensemble) -> Self {
        RuleInForce {
            rule: ensemble.rule_of(&combination),
            combination,
            own_rule: false,
            changes: 0,
        }
    }
}

impl ServedEnsemble {
    /// Serves an entry, whose samples lie in `storage`; `weighed` says whether its members' answers
    /// say something of them.
    pub(super) fn new(entry: &CatalogueEntry, storage: Storage, weighed: bool) -> Self {
        let ensemble = Arc::clone(entry.ensemble());
        let in_force = RuleInForce::new(ensemble.combination(), &ensemble);
        let (by, rule) = (&in_force.combination, &in_force.rule);
        ServedEnsemble {
            sampler: MemberSampler::new(weighed, by, rule, &ensemble),
            in_force: SharedLeaf::new(in_force),
            columns: Arc::clone(entry.columns()),
            non_finite: entry.interface().non_finite,
            tally: Leaf::default(),
            storage,
            ensemble,
        }
    }

    /// Returns the number of the member that has a column of the matrix; of one that it does not use,
    /// the first.
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

    /// Returns the column of the matrix of a member.
    pub(super) fn column_of(&self, member: MemberIndex) -> MemberIndex {
        self.columns[member.get()]
    }

    /// The rule for requests that are let in now.
    pub(super) fn rule(&self) -> Arc<dyn CombinationRule> {
        Arc::clone(&self.in_force.read().rule)
    }

    /// How requests that are let in now are combined.
    pub(super) fn combination(&self) -> Combination {
        self.in_force.read().combination.clone()
    }

    /// Combines requests by a rule of the caller's that are let in from now on.
    pub(super) fn combine_with(&self, rule: Arc<dyn CombinationRule>) {
        let before = {
            let mut in_force = self.in_force.write();
            in_force.own_rule = true;
            in_force.changes += 1;
            std::mem::replace(&mut in_force.rule, rule)
        };
        // Outside of the lock: nobody knows what it holds.
        drop(before);
    }

    /// Returns how often requests began to be combined in another way.
    pub(super) fn rule_changes(&self) -> u64 {
        self.in_force.read().changes
    }

    /// Whether requests are combined by a rule of a caller's.
    pub(super) fn has_own_rule(&self) -> bool {
        self.in_force.read().own_rule
    }

    /// Combines requests otherwise that are let in from now on.
    pub(super) fn combine_by(&self, combination: Combination) {
        let new = RuleInForce::new(combination, &self.ensemble);
        self.sampler.restart(&new.combination, &new.rule);
        let before = {
            let mut in_force = self.in_force.write();
            let changes = in_force.changes + 1;
            std::mem::replace(&mut *in_force, RuleInForce { changes, ..new })
        };
        // Outside of the lock, likewise.
        drop(before);
    }

    /// Counts a request that was answered.
    pub(super) fn answered(&self, now: Duration, latency: Duration, samples: usize) {
        self.tally.lock().answered(now, latency, samples);
    }

    /// Counts a request that failed.
    pub(super) fn failed(&self) {
        self.tally.lock().failed += 1;
    }

    /// Counts a request that was not let in.
    pub(super) fn refused(&self) {
        self.tally.lock().refused += 1;
    }
}
