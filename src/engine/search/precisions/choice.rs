//! The choice of precisions: from float32 for all members, one change after another, while the
//! ensemble's accuracy stays within the allowed loss.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use divisi_model::ensemble::MemberPrecision;
use divisi_model::ranged::ranged;
use divisi_runtime::device::MemberIndex;

use super::answers::{VariantAnswers, VariantChoice};

ranged! {
    /// The allowed loss of an ensemble's accuracy relative to float32, in percentage points.
    AccuracyLoss(f64) = 0.0, 100.0, "{} to {} percentage points"
}

/// The fewest samples for a split into deciding and unseen halves. With fewer, all samples decide.
pub const ENOUGH_SAMPLES: usize = 200;

/// A variant counts as faster if its time is below this share of the other's. Measured times vary
/// by a few hundredths from run to run.
pub const FASTER: f64 = 0.95;

/// The right answers of all members in float32, and of a choice, to the same samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RightAnswers {
    /// The number of samples.
    pub samples: usize,
    /// The right answers with float32 for all members.
    pub float32: usize,
    /// The right answers of the choice.
    pub chosen: usize,
}

impl RightAnswers {
    /// Returns the accuracy that the choice loses in percentage points, negative if it gains.
    pub fn lost_points(&self) -> f64 {
        let lost = self.float32 as f64 - self.chosen as f64;
        100.0 * lost / self.samples.max(1) as f64
    }

    /// Returns whether the choice loses at most `most`.
    pub fn is_within(&self, most: AccuracyLoss) -> bool {
        let lost = self.float32 as f64 - self.chosen as f64;
        // 0.7 points of 1000 samples are 7 samples, regardless of the rounding of 0.7.
        100.0 * lost <= most.get() * self.samples as f64 * (1.0 + 1e-12)
    }
}

/// The reason why a variant other than float32 was or was not chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum VariantFate {
    /// It was chosen.
    Chosen,
    /// Its time is not below [`FASTER`] times that of the member's chosen variant.
    NotFaster,
    /// It would lose more accuracy than allowed in place of the chosen variant; holds the loss in
    /// percentage points on the deciding samples.
    LosesTooMuch(f64),
    /// The deciding samples allowed it, but all samples together did not.
    RefusedByAll,
}

/// A member in a precision other than float32: its cost and its fate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantReport {
    /// The member.
    pub member: MemberIndex,
    /// The precision.
    pub precision: MemberPrecision,
    /// The member's seconds per sample in float32.
    pub float32_seconds: f64,
    /// The member's seconds per sample in this precision.
    pub seconds: f64,
    /// The ensemble's answers to all samples with only this member in this precision.
    pub alone: RightAnswers,
    /// Whether it was chosen, with the reason.
    pub fate: VariantFate,
}

/// The chosen precisions and their cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionChoice {
    /// The precision of each member.
    pub precisions: Vec<MemberPrecision>,
    /// The allowed loss of accuracy.
    pub allowed: AccuracyLoss,
    /// The seconds per sample of all members together, in float32 and in the chosen precisions.
    pub seconds: (f64, f64),
    /// The ensemble's answers to all samples.
    pub all: RightAnswers,
    /// The answers to the unseen samples. `None` if there are too few samples, or if unseen samples
    /// refused a change.
    pub unseen: Option<RightAnswers>,
    /// The number of changes that the deciding samples allowed and all samples together did not.
    pub refused_by_all: usize,
    /// Each member in each precision other than float32.
    pub variants: Vec<VariantReport>,
}

/// Chooses the precision of each member.
///
/// Begins with float32 for all members. Of all changes of one member to a faster variant that keep
/// the ensemble's accuracy within `allowed`, makes the change that saves most time per lost answer,
/// until none is left.
///
/// With at least [`ENOUGH_SAMPLES`] samples, every other sample decides, and the remaining ones are
/// counted after the choice. A change is refused if all samples together would lose more than
/// `allowed`. After a refusal no sample counts as unseen.
pub fn choose_precisions(answers: &VariantAnswers, allowed: AccuracyLoss) -> PrecisionChoice {
    let deciding = match answers.samples() >= ENOUGH_SAMPLES {
        true => EveryNth { first: 0, step: 2 },
        false => EveryNth::ALL,
    };
    let mut choosing = Choosing {
        float32: answers.right(&answers.float32()),
        choice: answers.float32(),
        refused: Vec::new(),
        answers,
        allowed,
        deciding,
    };
    while let Some(change) = choosing.best_change() {
        choosing.make(&change);
    }
    choosing.end()
}

/// Every n-th sample.
#[derive(Clone, Copy)]
struct EveryNth {
    first: usize,
    step: usize,
}

impl EveryNth {
    const ALL: Self = EveryNth { first: 0, step: 1 };

    fn select(self, right: &[bool]) -> impl Iterator<Item = bool> + '_ {
        right.iter().skip(self.first).step_by(self.step).copied()
    }

    /// Returns the number of right answers.
    fn count(self, right: &[bool]) -> usize {
        self.select(right).filter(|right| *right).count()
    }
}

/// A change of one member to a faster variant.
struct VariantChange {
    member: usize,
    variant: usize,
    /// Saved seconds per sample.
    saved: f64,
    /// The number of right answers lost, negative for a gain.
    lost: f64,
}

impl VariantChange {
    /// Compares the saved time per lost answer. A change without losses comes first.
    fn cmp_worth(&self, other: &Self) -> Ordering {
        match (self.lost > 0.0, other.lost > 0.0) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (true, true) => (self.saved * other.lost).total_cmp(&(other.saved * self.lost)),
            (false, false) => {
                let saved = self.saved.total_cmp(&other.saved);
                saved.then(other.lost.total_cmp(&self.lost))
            }
        }
    }
}

struct Choosing<'a> {
    answers: &'a VariantAnswers,
    allowed: AccuracyLoss,
    /// The samples that decide.
    deciding: EveryNth,
    /// Whether each answer is right in float32.
    float32: Vec<bool>,
    choice: VariantChoice,
    /// Members and variants of changes that all samples together refused.
    refused: Vec<(usize, usize)>,
}

impl Choosing<'_> {
    fn with(&self, member: usize, variant: usize) -> VariantChoice {
        let mut changed = self.choice.clone();
        changed[member] = variant;
        changed
    }

    fn counted(&self, choice: &[usize], samples: EveryNth) -> RightAnswers {
        RightAnswers {
            samples: samples.select(&self.float32).count(),
            float32: samples.count(&self.float32),
            chosen: samples.count(&self.answers.right(choice)),
        }
    }

    /// Returns the seconds of a member's chosen variant, and of another of its variants.
    fn seconds(&self, member: usize, variant: usize) -> (f64, f64) {
        let variants = &self.answers.members()[member];
        let now = self.choice[member];
        (variants[now].seconds, variants[variant].seconds)
    }

    fn is_faster(&self, member: usize, variant: usize) -> bool {
        let (now, then) = self.seconds(member, variant);
        then < FASTER * now
    }

    /// Returns the members and numbers of all variants except float32.
    fn variants(&self) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        let members = self.answers.members().iter().enumerate();
        members.flat_map(|(member, variants)| (1..variants.len()).map(move |at| (member, at)))
    }

    /// Returns the change that saves most per lost answer, the first of equals.
    fn best_change(&self) -> Option<VariantChange> {
        let right = self.counted(&self.choice, self.deciding).chosen;
        let faster = self.variants().filter(|(m, v)| self.is_faster(*m, *v));
        let faster = faster.filter(|change| !self.refused.contains(change));
        let changes = faster.filter_map(|(member, variant)| {
            let after = self.counted(&self.with(member, variant), self.deciding);
            let (now, then) = self.seconds(member, variant);
            after.is_within(self.allowed).then_some(VariantChange {
                member,
                variant,
                saved: now - then,
                lost: right as f64 - after.chosen as f64,
            })
        });
        changes.reduce(|best, next| match next.cmp_worth(&best) {
            Ordering::Greater => next,
            _ => best,
        })
    }

    /// Makes a change, unless all samples together would lose more than allowed.
    fn make(&mut self, change: &VariantChange) {
        let (member, variant) = (change.member, change.variant);
        let changed = self.with(member, variant);
        match self
            .counted(&changed, EveryNth::ALL)
            .is_within(self.allowed)
        {
            true => self.choice = changed,
            false => self.refused.push((member, variant)),
        }
    }

    fn end(self) -> PrecisionChoice {
        let reports = self.variants().map(|(m, v)| self.report(m, v));
        let chosen = self.answers.members().iter().zip(&self.choice);
        let is_unseen = self.deciding.step == 2 && self.refused.is_empty();
        let others = EveryNth { first: 1, step: 2 };
        PrecisionChoice {
            variants: reports.collect(),
            precisions: chosen.map(|(all, at)| all[*at].precision).collect(),
            allowed: self.allowed,
            seconds: (
                self.answers.seconds(&self.answers.float32()),
                self.answers.seconds(&self.choice),
            ),
            all: self.counted(&self.choice, EveryNth::ALL),
            unseen: is_unseen.then(|| self.counted(&self.choice, others)),
            refused_by_all: self.refused.len(),
        }
    }

    fn fate(&self, member: usize, variant: usize) -> VariantFate {
        if self.choice[member] == variant {
            return VariantFate::Chosen;
        }
        if !self.is_faster(member, variant) {
            return VariantFate::NotFaster;
        }
        if self.refused.contains(&(member, variant)) {
            return VariantFate::RefusedByAll;
        }
        let after = self.counted(&self.with(member, variant), self.deciding);
        VariantFate::LosesTooMuch(after.lost_points())
    }

    fn report(&self, member: usize, variant: usize) -> VariantReport {
        let variants = &self.answers.members()[member];
        let mut alone = self.answers.float32();
        alone[member] = variant;
        VariantReport {
            member: MemberIndex::new(member),
            precision: variants[variant].precision,
            float32_seconds: variants[0].seconds,
            seconds: variants[variant].seconds,
            alone: self.counted(&alone, EveryNth::ALL),
            fate: self.fate(member, variant),
        }
    }
}
