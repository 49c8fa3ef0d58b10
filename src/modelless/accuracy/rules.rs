//! The class combination rules under which accuracies are counted.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::scores::ScoreTable;

/// A rule that combines members' scores into a class.
///
/// The class with the highest result wins, the lowest of equals, as in serving. Weights are
/// relative: they are divided by the largest weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassRule {
    /// The mean of the members' scores.
    Average,
    /// The mean of the members' scores, each with its member's weight.
    WeightedAverage(Vec<f64>),
    /// A vote of each member for its most likely class. Among classes with equal votes, the largest
    /// sum of scores wins.
    MajorityVote,
    /// A vote with a weight for each member *and* class (Cocktail, NSDI 2022), with the tie rule of
    /// [`ClassRule::MajorityVote`]. One row of weights per member.
    ClassWeightedVote(Vec<Vec<f64>>),
}

/// The weights do not match the members and classes of a table.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RuleError {
    /// The number of weights, or rows of weights, differs from the number of members.
    #[error("expected weights for {expected} members, found {found}")]
    Members {
        /// The number of members.
        expected: usize,
        /// The number of weights.
        found: usize,
    },
    /// The number of weights differs from the number of classes.
    #[error("member {member}: expected weights for {expected} classes, found {found}")]
    Classes {
        /// The member, counted from 0.
        member: usize,
        /// The number of classes.
        expected: usize,
        /// The number of weights.
        found: usize,
    },
    /// A weight is out of range.
    #[error("member {member}: expected a weight from 1e-6 to 1e6, found {found}")]
    Weight {
        /// The member, counted from 0.
        member: usize,
        /// The weight.
        found: f64,
    },
}

impl ClassRule {
    /// Returns the name of the rule, as manifests have it.
    pub const fn name(&self) -> &'static str {
        match self {
            ClassRule::Average => "average",
            ClassRule::WeightedAverage(_) => "weighted-average",
            ClassRule::MajorityVote => "majority-vote",
            ClassRule::ClassWeightedVote(_) => "class-weighted-vote",
        }
    }

    /// Checks that the weights match the table's members and classes.
    ///
    /// # Errors
    /// Returns an error if weights are missing, too many, or outside of 1e-6 to 1e6.
    pub fn check(&self, table: &ScoreTable) -> Result<(), RuleError> {
        match self {
            ClassRule::Average | ClassRule::MajorityVote => Ok(()),
            ClassRule::WeightedAverage(weights) => {
                check_members(weights.len(), table)?;
                let mut each = weights.iter().enumerate();
                each.try_for_each(|(member, weight)| check_weight(member, *weight))
            }
            ClassRule::ClassWeightedVote(rows) => {
                check_members(rows.len(), table)?;
                let mut each = rows.iter().enumerate();
                each.try_for_each(|(member, row)| check_row(member, row, table.classes()))
            }
        }
    }
}

/// Returns the class with the highest score, the lowest of equals.
pub(super) fn likeliest(scores: &[f32]) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    best
}

fn check_members(found: usize, table: &ScoreTable) -> Result<(), RuleError> {
    let expected = table.members();
    match found == expected {
        true => Ok(()),
        false => Err(RuleError::Members { expected, found }),
    }
}

fn check_row(member: usize, row: &[f64], classes: usize) -> Result<(), RuleError> {
    if row.len() != classes {
        return Err(RuleError::Classes {
            member,
            expected: classes,
            found: row.len(),
        });
    }
    row.iter()
        .try_for_each(|weight| check_weight(member, *weight))
}

fn check_weight(member: usize, found: f64) -> Result<(), RuleError> {
    match (1e-6..=1e6).contains(&found) {
        true => Ok(()),
        false => Err(RuleError::Weight { member, found }),
    }
}
