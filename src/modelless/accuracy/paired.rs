//! The promised accuracy of a sub-ensemble, by comparison with the whole ensemble row by row.
//!
//! Registration counts many sub-ensembles on the same rows and keeps the best. The counted accuracy
//! of the best is too high: its luck on these rows was selected too (the winner's curse). The whole
//! ensemble is not selected, so its count is unbiased. The promised accuracy of a sub-ensemble is
//! therefore the accuracy of the whole ensemble minus an upper limit of the loss. Both err on mostly
//! the same rows, so the limit is much closer than one for each of them alone.

use super::members::MemberSet;
use super::rules::{ClassRule, RuleError};
use super::scores::ScoreTable;
use super::tally::{FixedWeights, RowTally};

/// The rows that a reference classifies correctly: the whole ensemble in the first precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceRows(Vec<bool>);

/// A sub-ensemble and the whole ensemble, counted on the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedRows {
    /// The number of rows.
    pub rows: u32,
    /// The rows that the whole ensemble classifies correctly.
    pub whole: u32,
    /// The rows that the sub-ensemble classifies correctly.
    pub right: u32,
    /// The rows that both classify correctly.
    pub both: u32,
}

impl ReferenceRows {
    /// Classifies all rows of a table with all of its members.
    ///
    /// # Errors
    /// Returns an error if weights do not match the table.
    pub fn classify(table: &ScoreTable, rule: &ClassRule) -> Result<Self, RuleError> {
        rule.check(table)?;
        let weights = FixedWeights::new(rule, table);
        let mut tally = RowTally::new(table.classes());
        let all = MemberSet::first(table.members());
        let rows = (0..table.rows()).map(|row| {
            tally.begin(table, &weights, row);
            all.members().for_each(|member| tally.add(member));
            tally.is_right()
        });
        Ok(ReferenceRows(rows.collect()))
    }

    /// Returns the number of correct rows.
    pub fn right(&self) -> u32 {
        self.0.iter().filter(|right| **right).count() as u32
    }

    /// Returns whether a row is correct; a row beyond the last one is not.
    pub fn is_right(&self, row: usize) -> bool {
        self.0.get(row).copied().unwrap_or(false)
    }
}

impl PairedRows {
    /// Returns whether the counts can come from the same rows.
    pub(super) fn is_possible(&self) -> bool {
        let (most, least) = (self.whole.max(self.right), self.whole.min(self.right));
        let either =
            u64::from(self.whole) + u64::from(self.right) - u64::from(self.both.min(least));
        self.rows > 0 && most <= self.rows && self.both <= least && either <= u64::from(self.rows)
    }

    /// Returns the promised accuracy, which is at most the counted one.
    ///
    /// The limit of the loss is that of Bonett and Price (Journal of Educational and Behavioral
    /// Statistics 37, 2012): one row is added to each kind of disagreement. Its confidence grows
    /// with the number of voting members: the deviation is multiplied by the expected greatest of
    /// that many normal numbers. Sub-ensembles of the same members vary in about as many
    /// directions. `benches/modelless/promises.rs` compares this rule with others.
    pub(super) fn promised(&self, voters: usize) -> f64 {
        let added = f64::from(self.rows) + 2.0;
        let lost = (f64::from(self.whole - self.both) + 1.0) / added;
        let gained = (f64::from(self.right - self.both) + 1.0) / added;
        let loss = lost - gained;
        let deviation = ((lost + gained - loss * loss) / added).sqrt();
        let whole = f64::from(self.whole) / f64::from(self.rows);
        let counted = f64::from(self.right) / f64::from(self.rows);
        let limit = whole - loss - expected_greatest(voters) * deviation;
        limit.clamp(0.0, counted)
    }
}

/// Returns the expected greatest of some normal numbers, by Blom's approximation (Statistical
/// Estimates and Transformed Beta-Variables, 1958): 0.59 of 2, 1.28 of 6, 1.63 of 12.
fn expected_greatest(numbers: usize) -> f64 {
    match numbers {
        0 | 1 => 0.0,
        _ => upper_normal(0.625 / (numbers as f64 + 0.25)),
    }
}

/// Returns the normal number that is exceeded with a probability of at most 0.5 (Abramowitz and
/// Stegun 26.2.23; the error is below 4.5e-4).
fn upper_normal(probability: f64) -> f64 {
    let t = (-2.0 * probability.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}
