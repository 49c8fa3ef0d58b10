//! The policies of members with their own: models that are served together, each with its own
//! delay.

use divisi_model::ensemble::{MemberPolicy, PolicyKind};
use divisi_runtime::device::MemberIndex;

/// The members' own policies, and the common policy under which they apply. Any other common policy
/// was chosen for all members.
#[derive(Clone, Debug)]
pub(super) struct OwnPolicies {
    beside: PolicyKind,
    by_member: Vec<Option<MemberPolicy>>,
}

impl OwnPolicies {
    /// Creates the policies of members, in order. If `by_member` is empty, no member has its own.
    pub(super) fn new(beside: PolicyKind, by_member: Vec<Option<MemberPolicy>>) -> Self {
        OwnPolicies { beside, by_member }
    }

    /// Returns whether any member has another policy while the common one is `common`.
    pub(super) fn has_own(&self, common: PolicyKind) -> bool {
        let mut own = self.by_member.iter().flatten();
        common == self.beside && own.any(|own| own.kind != common)
    }

    /// Returns the policy of a member while the common one is `common`.
    pub(super) fn for_member(&self, member: MemberIndex, common: PolicyKind) -> MemberPolicy {
        let own = self.by_member.get(member.get()).copied().flatten();
        match own {
            Some(own) if common == self.beside => own,
            _ => common.into(),
        }
    }
}
