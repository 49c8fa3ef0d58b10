//! The batching policies of entries served together.

use crate::ensemble::{MemberPolicy, PolicyKind};

use super::{Catalogue, CatalogueEntry};

/// Returns the common policy of all entries, or `None` without entries.
pub(super) fn common_policy(all: &[CatalogueEntry]) -> Option<PolicyKind> {
    PolicyKind::common(with_policies(all).map(|e| e.ensemble().policy))
}

/// Returns the entries whose policies apply. Steps over other models use the policies of those
/// models.
fn with_policies(all: &[CatalogueEntry]) -> impl Iterator<Item = &CatalogueEntry> {
    all.iter().filter(|e| e.interface().composing.is_empty())
}

fn policy_of(entry: &CatalogueEntry) -> MemberPolicy {
    MemberPolicy {
        kind: entry.ensemble().policy,
        enough: entry.ready_samples(),
    }
}

impl Catalogue {
    /// Returns the policies of members that have their own, in the order of the members. If all
    /// policies are delays, a member has the shortest delay of its entries. The result is empty if
    /// all policies are equal.
    pub fn own_policies(&self) -> Vec<Option<MemberPolicy>> {
        let common = MemberPolicy::from(self.models.policy);
        let policies = || with_policies(&self.entries).map(policy_of);
        let delays = policies().all(|policy| policy.kind.is_delay());
        if !delays || policies().all(|policy| policy == common) {
            return Vec::new();
        }
        let mut own = vec![None; self.models.members.len()];
        for entry in with_policies(&self.entries) {
            for column in entry.columns.iter() {
                let known: &mut Option<MemberPolicy> = &mut own[column.get()];
                let both = known.iter().copied().chain([policy_of(entry)]);
                *known = both.min_by_key(|policy| policy.kind.wait());
            }
        }
        own
    }
}
