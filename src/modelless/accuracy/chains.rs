//! Sub-ensembles of many members: two greedy chains, a growing one and a shrinking one.

use super::members::MemberSet;
use super::paired::ReferenceRows;
use super::rules::{ClassRule, RuleError};
use super::scores::ScoreTable;
use super::subsets::{RightCount, SubEnsembleCounts};
use super::tally::{FixedWeights, RowTally};

/// Counts the rows that the sub-ensembles of two chains classify correctly under a rule.
///
/// The growing chain starts empty and adds at each step the member that yields the most correct
/// rows. The shrinking chain starts with all members and removes at each step the member whose
/// removal leaves the most correct rows. The first of equal members is chosen. Every single member
/// is counted too.
///
/// Each sub-ensemble is compared row by row with `reference`.
///
/// # Errors
/// Returns an error if weights do not match the table.
pub fn count_chains(
    table: &ScoreTable,
    rule: &ClassRule,
    reference: &ReferenceRows,
) -> Result<SubEnsembleCounts, RuleError> {
    rule.check(table)?;
    let weights = FixedWeights::new(rule, table);
    let counter = ChainCounter {
        table,
        weights: &weights,
        reference,
    };
    let (none, all) = (MemberSet::default(), MemberSet::first(table.members()));
    let mut counts = Vec::new();
    let mut right = vec![RightCount::default(); table.members()];
    counter.count_neighbours(none, &mut right);
    let singles = right.iter().enumerate();
    counts.extend(singles.map(|(member, count)| (none.toggled(member), *count)));
    counts.extend(counter.chain(none, all));
    counts.extend(counter.chain(all, none));
    counts.push((all, counter.count_one(all)));
    counts.retain(|(set, _)| !set.is_empty());
    let rows = table.rows() as u32;
    Ok(SubEnsembleCounts::new(counts, rows, reference))
}

struct ChainCounter<'a> {
    table: &'a ScoreTable,
    weights: &'a FixedWeights,
    reference: &'a ReferenceRows,
}

impl ChainCounter<'_> {
    /// Returns the sets between one set and another, each with its correct rows.
    fn chain(&self, from: MemberSet, to: MemberSet) -> Vec<(MemberSet, RightCount)> {
        let mut counts = Vec::new();
        let mut set = from;
        let mut right = vec![RightCount::default(); self.table.members()];
        while set != to {
            self.count_neighbours(set, &mut right);
            let open = MemberSet::from_bits(set.bits() ^ to.bits()).members();
            let best = open.max_by_key(|member| (right[*member].right, std::cmp::Reverse(*member)));
            let Some(member) = best else { break };
            set = set.toggled(member);
            counts.push((set, right[member]));
        }
        counts
    }

    /// Counts the correct rows after toggling each member of a set.
    fn count_neighbours(&self, set: MemberSet, counts: &mut [RightCount]) {
        counts.fill(RightCount::default());
        let mut tally = RowTally::new(self.table.classes());
        for row in 0..self.table.rows() {
            tally.begin(self.table, self.weights, row);
            set.members().for_each(|member| tally.add(member));
            for (member, count) in counts.iter_mut().enumerate() {
                let is_in = set.contains(member);
                toggle(&mut tally, member, is_in);
                count.add(tally.is_right(), self.reference.is_right(row));
                toggle(&mut tally, member, !is_in);
            }
        }
    }

    fn count_one(&self, set: MemberSet) -> RightCount {
        let mut tally = RowTally::new(self.table.classes());
        let mut count = RightCount::default();
        for row in 0..self.table.rows() {
            tally.begin(self.table, self.weights, row);
            set.members().for_each(|member| tally.add(member));
            count.add(tally.is_right(), self.reference.is_right(row));
        }
        count
    }
}

fn toggle(tally: &mut RowTally, member: usize, is_in: bool) {
    match is_in {
        true => tally.remove(member),
        false => tally.add(member),
    }
}
