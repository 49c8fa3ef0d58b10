//! Sub-ensembles of many members: two greedy chains, a growing one and a shrinking one.

use super::members::MemberSet;
use super::rules::{ClassRule, RuleError};
use super::scores::ScoreTable;
use super::subsets::SubEnsembleCounts;
use super::tally::{FixedWeights, RowTally};

/// Counts the rows that the sub-ensembles of two chains classify correctly under a rule.
///
/// The growing chain starts empty and adds at each step the member that yields the most correct
/// rows. The shrinking chain starts with all members and removes at each step the member whose
/// removal leaves the most correct rows. The first of equal members is chosen. Every single member
/// is counted too.
///
/// # Errors
/// Returns an error if weights do not match the table.
pub fn count_chains(table: &ScoreTable, rule: &ClassRule) -> Result<SubEnsembleCounts, RuleError> {
    rule.check(table)?;
    let weights = FixedWeights::new(rule, table);
    let (none, all) = (MemberSet::default(), MemberSet::first(table.members()));
    let mut counts = Vec::new();
    let mut right = vec![0_u32; table.members()];
    count_neighbours(table, &weights, none, &mut right);
    let singles = right.iter().enumerate();
    counts.extend(singles.map(|(member, right)| (none.toggled(member), *right)));
    counts.extend(chain(table, &weights, none, all));
    counts.extend(chain(table, &weights, all, none));
    counts.push((all, count_one(table, &weights, all)));
    counts.retain(|(set, _)| !set.is_empty());
    Ok(SubEnsembleCounts::new(counts, table.rows() as u32))
}

/// Returns the sets between one set and another, each with its correct rows.
fn chain(
    table: &ScoreTable,
    weights: &FixedWeights,
    from: MemberSet,
    to: MemberSet,
) -> Vec<(MemberSet, u32)> {
    let mut counts = Vec::new();
    let mut set = from;
    let mut right = vec![0_u32; table.members()];
    while set != to {
        count_neighbours(table, weights, set, &mut right);
        let open = MemberSet::from_bits(set.bits() ^ to.bits()).members();
        let best = open.max_by_key(|member| (right[*member], std::cmp::Reverse(*member)));
        let Some(member) = best else { break };
        set = set.toggled(member);
        counts.push((set, right[member]));
    }
    counts
}

/// Counts the correct rows after toggling each member of a set.
fn count_neighbours(table: &ScoreTable, weights: &FixedWeights, set: MemberSet, right: &mut [u32]) {
    right.fill(0);
    let mut tally = RowTally::new(table.classes());
    for row in 0..table.rows() {
        tally.begin(table, weights, row);
        set.members().for_each(|member| tally.add(member));
        for (member, right) in right.iter_mut().enumerate() {
            let is_in = set.contains(member);
            toggle(&mut tally, member, is_in);
            *right += u32::from(tally.is_right());
            toggle(&mut tally, member, !is_in);
        }
    }
}

fn toggle(tally: &mut RowTally, member: usize, is_in: bool) {
    match is_in {
        true => tally.remove(member),
        false => tally.add(member),
    }
}

fn count_one(table: &ScoreTable, weights: &FixedWeights, set: MemberSet) -> u32 {
    let mut tally = RowTally::new(table.classes());
    let mut right = 0;
    for row in 0..table.rows() {
        tally.begin(table, weights, row);
        set.members().for_each(|member| tally.add(member));
        right += u32::from(tally.is_right());
    }
    right
}
