//! Every sub-ensemble of a few members, one member in or out at each step.

use thiserror::Error;

use super::estimate::AccuracyEstimate;
use super::members::MemberSet;
use super::rules::{ClassRule, RuleError};
use super::scores::ScoreTable;
use super::tally::{FixedWeights, RowTally};

/// The most members of which every sub-ensemble is counted: 4 095 of them.
pub const MOST_COUNTED_MEMBERS: usize = 12;

/// More members than those of which every sub-ensemble is counted.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TooManyMembers {
    /// There are more.
    #[error(
        "expected at most {MOST_COUNTED_MEMBERS} members to count all sub-ensembles, found {0}"
    )]
    Members(usize),
    /// The rule does not suit the table.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// How many rows sub-ensembles answer rightly under a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct SubEnsembleCounts {
    /// In the order of their bits.
    counts: Vec<(MemberSet, u32)>,
    rows: u32,
}

impl SubEnsembleCounts {
    pub(super) fn new(mut counts: Vec<(MemberSet, u32)>, rows: u32) -> Self {
        counts.sort_unstable();
        counts.dedup();
        SubEnsembleCounts { counts, rows }
    }

    /// Returns the number of labelled rows.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the rows that a sub-ensemble answers rightly, or `None` where it was not counted.
    pub fn right(&self, members: MemberSet) -> Option<u32> {
        let at = self.counts.binary_search_by_key(&members, |(set, _)| *set);
        at.ok().map(|at| self.counts[at].1)
    }

    /// Returns the accuracy of a sub-ensemble, or `None` where it was not counted.
    pub fn accuracy(&self, members: MemberSet) -> Option<AccuracyEstimate> {
        let right = self.right(members)?;
        AccuracyEstimate::counted(right, self.rows).ok()
    }

    /// Returns the sub-ensembles that were counted, with the rows that they answer rightly.
    pub fn iter(&self) -> impl Iterator<Item = (MemberSet, u32)> {
        self.counts.iter().copied()
    }

    /// Returns the sub-ensembles that are more accurate than every counted one with as few or fewer
    /// members, from the smallest: those that are worth a variant where members cost alike.
    pub fn frontier(&self) -> Vec<(MemberSet, u32)> {
        let mut all = self.counts.clone();
        all.sort_by_key(|(set, right)| (set.len(), std::cmp::Reverse(*right)));
        let mut best = None;
        all.retain(|(_, right)| {
            let better = best.is_none_or(|best| *right > best);
            best = best.max(Some(*right));
            better
        });
        all
    }
}

/// Counts the rows that each sub-ensemble answers rightly under a rule.
///
/// Each row goes through all sub-ensembles in the order of the reflected Gray code, so that a
/// step folds one member in or out: 2^M × classes additions in place of 2^M × M × classes.
///
/// # Errors
/// There are more than [`MOST_COUNTED_MEMBERS`] members, or weights do not suit them.
pub fn count_all(
    table: &ScoreTable,
    rule: &ClassRule,
) -> Result<SubEnsembleCounts, TooManyMembers> {
    rule.check(table)?;
    let members = table.members();
    if members > MOST_COUNTED_MEMBERS {
        return Err(TooManyMembers::Members(members));
    }
    let weights = FixedWeights::new(rule, table);
    let mut tally = RowTally::new(table.classes());
    let mut right = vec![0_u32; 1 << members];
    for row in 0..table.rows() {
        tally.begin(table, &weights, row);
        count_row(&mut tally, &mut right);
    }
    let counts = right.into_iter().enumerate().skip(1);
    let counts = counts.map(|(bits, right)| (MemberSet::from_bits(bits as u64), right));
    Ok(SubEnsembleCounts::new(
        counts.collect(),
        table.rows() as u32,
    ))
}

fn count_row(tally: &mut RowTally, right: &mut [u32]) {
    let mut set = MemberSet::default();
    for step in 1..right.len() {
        let member = step.trailing_zeros() as usize;
        match set.contains(member) {
            true => tally.remove(member),
            false => tally.add(member),
        }
        set = set.toggled(member);
        right[set.bits() as usize] += u32::from(tally.is_right());
    }
}
