//! The columns of a catalogue that continue columns of the previous catalogue.

use crate::ensemble::{Member, MemberPrecision};
use divisi_runtime::device::MemberIndex;

use super::{Catalogue, Version};

/// The member of a column, with the entries that hold it and its name in each.
struct OwnedColumn<'c> {
    member: &'c Member,
    names: Vec<OwnName<'c>>,
}

/// A model, its version, and the name of a member in it.
type OwnName<'c> = (&'c str, Version, &'c str);

fn has_network(column: &OwnedColumn<'_>, before: &OwnedColumn<'_>) -> bool {
    column.member.has_network_of(before.member)
}

fn has_name(column: &OwnedColumn<'_>, before: &OwnedColumn<'_>) -> bool {
    let mut names = column.names.iter();
    names.any(|name| before.names.contains(name))
}

fn has_name_of_any_version(column: &OwnedColumn<'_>, before: &OwnedColumn<'_>) -> bool {
    let mut names = column.names.iter();
    let is_like = |(model, _, own): &OwnName<'_>| {
        let mut known = before.names.iter();
        known.any(|(of, _, name)| (of, name) == (model, own))
    };
    names.any(is_like)
}

fn has_both(column: &OwnedColumn<'_>, before: &OwnedColumn<'_>) -> bool {
    has_network(column, before) && has_name(column, before)
}

impl Catalogue {
    /// Returns the precision of each column, given the precisions `running` of the columns of
    /// `before`. A continued column keeps a precision that was set in place of its manifest's
    /// precision.
    pub fn precisions_after(
        &self,
        before: &Catalogue,
        running: &[MemberPrecision],
    ) -> Vec<MemberPrecision> {
        let (own, manifest) = (self.models.precisions(), before.models.precisions());
        let chosen = |column: MemberIndex| {
            let (now, written) = (*running.get(column.get())?, *manifest.get(column.get())?);
            (now != written).then_some(now)
        };
        let predecessors = self.predecessors(before).into_iter().zip(own);
        predecessors
            .map(|(from, own)| from.and_then(chosen).unwrap_or(own))
            .collect()
    }

    /// Returns for each column the column of `before` that it continues: the column with the same
    /// network, else the column with the same entry and member name, else the column in another
    /// version of the same model. No two columns continue the same one.
    ///
    /// The names of columns are not compared, because they depend on the other entries.
    pub fn predecessors(&self, before: &Catalogue) -> Vec<Option<MemberIndex>> {
        let (new, old) = (self.owned_columns(), before.owned_columns());
        let mut found = vec![None; new.len()];
        let mut is_free = vec![true; old.len()];
        let rules: [fn(&OwnedColumn<'_>, &OwnedColumn<'_>) -> bool; 4] =
            [has_both, has_network, has_name, has_name_of_any_version];
        for is_it in rules {
            for (column, found) in new.iter().zip(&mut found).filter(|(_, f)| f.is_none()) {
                let mut free = (0..old.len()).filter(|at| is_free[*at]);
                let Some(at) = free.find(|at| is_it(column, &old[*at])) else {
                    continue;
                };
                drop(free);
                is_free[at] = false;
                *found = Some(MemberIndex::new(at));
            }
        }
        found
    }

    fn owned_columns(&self) -> Vec<OwnedColumn<'_>> {
        let members = self.models.members.iter();
        let columns = members.map(|member| OwnedColumn {
            member,
            names: Vec::new(),
        });
        let mut columns: Vec<_> = columns.collect();
        for entry in &self.entries {
            for (column, member) in entry.columns.iter().zip(&entry.ensemble().members) {
                columns[column.get()]
                    .names
                    .push((entry.name(), entry.version(), &member.name));
            }
        }
        columns
    }
}
