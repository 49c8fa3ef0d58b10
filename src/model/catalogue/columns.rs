//! The columns of the matrix: the members of all entries side by side.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ensemble::Member;
use divisi_runtime::device::MemberIndex;

/// The columns of members, in the order of the entries.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) members: Vec<Arc<Member>>,
    /// The columns, by the address of the member.
    known: HashMap<*const Member, MemberIndex>,
}

impl Columns {
    /// Returns the column of a member of the entry `entry`.
    pub(super) fn column_for(&mut self, member: &Arc<Member>, entry: &str) -> MemberIndex {
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

    /// Returns an unused name: `name`, or `name` prefixed with the entry's name.
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
