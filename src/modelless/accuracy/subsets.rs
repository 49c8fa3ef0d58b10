//! Counts every sub-ensemble of a few members, by adding or removing one member at each step.

use thiserror::Error;

use super::estimate::AccuracyEstimate;
use super::members::MemberSet;
use super::paired::{PairedRows, ReferenceRows};
use super::rules::{ClassRule, RuleError};
use super::scores::ScoreTable;
use super::tally::{FixedWeights, RowTally};

/// The maximum number of members for which every sub-ensemble is counted: 4 095 of them.
pub const MOST_COUNTED_MEMBERS: usize = 12;

/// The reasons why sub-ensembles cannot be counted.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TooManyMembers {
    /// There are too many members.
    #[error(
        "expected at most {MOST_COUNTED_MEMBERS} members to count all sub-ensembles, found {0}"
    )]
    Members(usize),
    /// The rule does not match the table.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// The rows that a sub-ensemble classifies correctly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RightCount {
    pub(super) right: u32,
    /// The rows that the reference classifies correctly too.
    pub(super) both: u32,
}

impl RightCount {
    pub(super) fn add(&mut self, is_right: bool, reference: bool) {
        self.right += u32::from(is_right);
        self.both += u32::from(is_right && reference);
    }
}

/// The number of rows that sub-ensembles classify correctly under a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct SubEnsembleCounts {
    /// In the order of their bits.
    counts: Vec<(MemberSet, RightCount)>,
    rows: u32,
    /// The correct rows of the reference.
    reference: u32,
}

impl SubEnsembleCounts {
    pub(super) fn new(
        mut counts: Vec<(MemberSet, RightCount)>,
        rows: u32,
        reference: &ReferenceRows,
    ) -> Self {
        counts.sort_unstable();
        counts.dedup();
        SubEnsembleCounts {
            counts,
            rows,
            reference: reference.right(),
        }
    }

    /// Returns the correct rows of a sub-ensemble, or `None` if it was not counted.
    pub fn right(&self, members: MemberSet) -> Option<u32> {
        let at = self.counts.binary_search_by_key(&members, |(set, _)| *set);
        at.ok().map(|at| self.counts[at].1.right)
    }

    /// Returns the accuracy of a sub-ensemble, or `None` if it was not counted.
    pub fn accuracy(&self, members: MemberSet) -> Option<AccuracyEstimate> {
        let right = self.right(members)?;
        AccuracyEstimate::counted(right, self.rows).ok()
    }

    /// Returns the counted sub-ensembles with their correct rows.
    pub fn iter(&self) -> impl Iterator<Item = (MemberSet, u32)> {
        let each = self.counts.iter();
        each.map(|(set, count)| (*set, count.right))
    }

    /// Returns the counted sub-ensembles with their rows in comparison with the reference.
    pub fn compared(&self) -> impl Iterator<Item = (MemberSet, PairedRows)> {
        self.counts.iter().map(|(set, count)| {
            let paired = PairedRows {
                rows: self.rows,
                whole: self.reference,
                right: count.right,
                both: count.both,
            };
            (*set, paired)
        })
    }
}

/// Counts the rows that each sub-ensemble classifies correctly under a rule.
///
/// Each row goes through all sub-ensembles in the order of the reflected Gray code, so that a step
/// adds or removes one member: 2^M × classes additions instead of 2^M × M × classes.
///
/// Each sub-ensemble is compared row by row with `reference`.
///
/// # Errors
/// Returns an error if there are more than [`MOST_COUNTED_MEMBERS`] members, or weights do not
/// match them.
pub fn count_all(
    table: &ScoreTable,
    rule: &ClassRule,
    reference: &ReferenceRows,
) -> Result<SubEnsembleCounts, TooManyMembers> {
    rule.check(table)?;
    let members = table.members();
    if members > MOST_COUNTED_MEMBERS {
        return Err(TooManyMembers::Members(members));
    }
    let weights = FixedWeights::new(rule, table);
    let mut tally = RowTally::new(table.classes());
    let mut counts = vec![RightCount::default(); 1 << members];
    for row in 0..table.rows() {
        tally.begin(table, &weights, row);
        count_row(&mut tally, &mut counts, reference.is_right(row));
    }
    let counts = counts.into_iter().enumerate().skip(1);
    let counts = counts.map(|(bits, count)| (MemberSet::from_bits(bits as u64), count));
    let rows = table.rows() as u32;
    Ok(SubEnsembleCounts::new(counts.collect(), rows, reference))
}

fn count_row(tally: &mut RowTally, counts: &mut [RightCount], reference: bool) {
    let mut set = MemberSet::default();
    for step in 1..counts.len() {
        let member = step.trailing_zeros() as usize;
        match set.contains(member) {
            true => tally.remove(member),
            false => tally.add(member),
        }
        set = set.toggled(member);
        counts[set.bits() as usize].add(tally.is_right(), reference);
    }
}
