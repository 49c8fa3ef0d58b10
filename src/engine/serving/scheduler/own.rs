//! The policies of members that have their own: models that are served together, each with its own
//! delay.

use divisi_model::ensemble::{MemberPolicy, PolicyKind};
use divisi_runtime::device::MemberIndex;

/// The members' own policies, and that of all beside which they are in force. Any other was chosen
/// for all of them.
#[derive(Clone, Debug)]
pub(super) struct OwnPolicies {
    beside: PolicyKind,
    by_member: Vec<Option<MemberPolicy>>,
}

impl OwnPolicies {
    /// Creates those of members in their order; no member has its own where there are none.
    pub(super) fn new(beside: PolicyKind, by_member: Vec<Option<MemberPolicy>>) -> Self {
        OwnPolicies { beside, by_member }
    }

    /// Whether any member has another one while that of all is `common`.
    pub(super) fn any(&self, common: PolicyKind) -> bool {
        let mut own = self.by_member.iter().flatten();
        common == self.beside && own.any(|own| own.kind != common)
    }

    /// Returns the policy of a member while that of all is `common`.
    pub(super) fn of(&self, member: MemberIndex, common: PolicyKind) -> MemberPolicy {
        let own = self.by_member.get(member.get()).copied().flatten();
        match own {
            Some(own) if common == self.beside => own,
            _ => common.into(),
        }
    }
}
