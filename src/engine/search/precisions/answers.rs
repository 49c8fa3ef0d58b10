//! The answers of members in several precisions. They are kept so that any choice of precisions can
//! be combined and counted without running a network again.

use std::sync::Arc;

use thiserror::Error;

use crate::serving::{Answer, Part};
use divisi_model::ensemble::{CombinationRule, MemberPrecision};
use divisi_runtime::device::MemberIndex;

/// A member in one precision: its answers and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberVariant {
    /// The precision.
    pub precision: MemberPrecision,
    /// The row for each labelled sample, one after another.
    pub rows: Vec<f32>,
    /// The seconds per sample.
    pub seconds: f64,
}

/// The chosen variant of each member, by its number. 0 is float32.
pub type VariantChoice = Vec<usize>;

/// The answers of all members in all precisions to labelled samples.
#[derive(Clone)]
pub struct VariantAnswers {
    rule: Arc<dyn CombinationRule>,
    classes: usize,
    labels: Vec<usize>,
    members: Vec<Vec<MemberVariant>>,
}

/// The reason why answers cannot be counted together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UnevenAnswers {
    /// A member has no variant, not even float32.
    #[error("member {0}: expected its answers in float32, found none")]
    NoVariant(MemberIndex),
    /// A variant lacks a score for each class of every sample.
    #[error("member {member} in {precision}: expected {expected} numbers, found {found}")]
    Rows {
        /// The member.
        member: MemberIndex,
        /// The precision of the variant.
        precision: MemberPrecision,
        /// Samples times classes.
        expected: usize,
        /// The count of the variant's numbers.
        found: usize,
    },
}

impl VariantAnswers {
    /// Takes the variants of each member, float32 first, and the classes of the samples.
    ///
    /// # Errors
    /// A member has no variant, or one that does not answer every sample.
    pub fn new(
        rule: Arc<dyn CombinationRule>,
        classes: usize,
        labels: Vec<usize>,
        members: Vec<Vec<MemberVariant>>,
    ) -> Result<Self, UnevenAnswers> {
        let expected = labels.len() * classes;
        for (member, variants) in MemberIndex::enumerate(&members) {
            if variants.is_empty() {
                return Err(UnevenAnswers::NoVariant(member));
            }
            if let Some(uneven) = variants.iter().find(|v| v.rows.len() != expected) {
                return Err(UnevenAnswers::Rows {
                    member,
                    precision: uneven.precision,
                    expected,
                    found: uneven.rows.len(),
                });
            }
        }
        Ok(VariantAnswers {
            rule,
            classes,
            labels,
            members,
        })
    }

    /// Returns the number of labelled samples.
    pub fn samples(&self) -> usize {
        self.labels.len()
    }

    /// Returns the variants of each member, float32 first.
    pub fn members(&self) -> &[Vec<MemberVariant>] {
        &self.members
    }

    /// Returns the choice with float32 for all members.
    pub fn float32(&self) -> VariantChoice {
        vec![0; self.members.len()]
    }

    /// Returns the seconds per sample of all members together.
    pub fn seconds(&self, choice: &[usize]) -> f64 {
        let chosen = self.members.iter().zip(choice);
        chosen.map(|(variants, at)| variants[*at].seconds).sum()
    }

    /// Returns for each sample whether the ensemble answers its class, combined as in serving.
    pub fn right(&self, choice: &[usize]) -> Vec<bool> {
        let rule = self.rule.as_ref();
        let part = Part::new(self.samples());
        for (member, at) in MemberIndex::enumerate(choice) {
            let rows = &self.members[member.get()][*at].rows;
            part.fold(rule, member, 0, rows, self.classes);
        }
        let combined = Answer::finish(rule, &[part], self.classes);
        let given = combined.classes().zip(&self.labels);
        given.map(|(class, label)| class == Some(*label)).collect()
    }
}
