//! The choice of precisions: from float32 throughout, one change after another, as long as the
//! ensemble's accuracy stays within what may be lost.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use divisi_model::ensemble::MemberPrecision;
use divisi_model::ranged::ranged;
use divisi_runtime::device::MemberIndex;

use super::answers::{VariantAnswers, VariantChoice};

ranged! {
    /// Percentage points that the accuracy of an ensemble may fall below that of float32 throughout.
    AccuracyLoss(f64) = 0.0, 100.0, "{} to {} percentage points"
}

/// Samples of which half decide and half are counted after: with fewer, all decide.
pub const ENOUGH_SAMPLES: usize = 200;

/// The share of the time of another variant below which one is faster: times that are measured
/// differ by some hundredths from run to run.
pub const FASTER: f64 = 0.95;

/// Answers that are right, in float32 throughout and in a choice, of the same samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RightAnswers {
    /// The samples.
    pub samples: usize,
    /// Those answered right in float32 throughout.
    pub float32: usize,
    /// Those answered right in the choice.
    pub chosen: usize,
}

impl RightAnswers {
    /// Returns the percentage points of accuracy that the choice loses, below 0 if it gains some.
    pub fn lost_points(&self) -> f64 {
        let lost = self.float32 as f64 - self.chosen as f64;
        100.0 * lost / self.samples.max(1) as f64
    }

    /// Whether the choice loses no more than `most`.
    pub fn is_within(&self, most: AccuracyLoss) -> bool {
        let lost = self.float32 as f64 - self.chosen as f64;
        // 0.7 points of 1000 samples are 7 of them, however 0.7 is rounded.
        100.0 * lost <= most.get() * self.samples as f64 * (1.0 + 1e-12)
    }
}

/// The reason why a variant other than float32 was chosen or not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum VariantFate {
    /// It was chosen.
    Chosen,
    /// It takes no less than [`FASTER`] of the time of what was chosen of this member.
    NotFaster,
    /// In place of what was chosen of this member it would lose more than allowed: so many
    /// percentage points, on the samples that decided.
    LosesTooMuch(f64),
    /// The samples that decided allowed it, and all samples together did not.
    RefusedByAll,
}

/// A member in a precision other than float32: what it costs, and whether it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantReport {
    /// The member.
    pub member: MemberIndex,
    /// The precision.
    pub precision: MemberPrecision,
    /// The seconds that a sample takes the member in float32.
    pub float32_seconds: f64,
    /// The seconds that it takes in this precision.
    pub seconds: f64,
    /// The ensemble's answers to all samples where this member alone is computed so.
    pub alone: RightAnswers,
    /// Why it was chosen or not.
    pub fate: VariantFate,
}

/// The precisions that were chosen, with what they cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionChoice {
    /// The precision of each member.
    pub precisions: Vec<MemberPrecision>,
    /// The accuracy that might be lost.
    pub allowed: AccuracyLoss,
    /// The seconds that a sample takes in all members together, in float32 and as chosen.
    pub seconds: (f64, f64),
    /// The ensemble's answers to all samples.
    pub all: RightAnswers,
    /// Its answers to the samples that decided nothing; `None` where there are too few, or where
    /// they had changes refused.
    pub unseen: Option<RightAnswers>,
    /// The changes that the deciding samples allowed, and all samples together did not.
    pub refused_by_all: usize,
    /// Each member in each precision other than float32.
    pub variants: Vec<VariantReport>,
}

/// Chooses the precision of each member.
///
/// It begins with float32 throughout. Of all changes of one member to a faster variant that keep
/// the ensemble's accuracy within `allowed`, it makes the one that saves the most time for each
/// answer lost, until none is left. With [`ENOUGH_SAMPLES`] every other sample decides, and the
/// others are counted once the choice is made. A change after which all samples together would
/// lose more than `allowed` is refused; then no sample is left that decided nothing.
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

/// Samples at equal distances.
#[derive(Clone, Copy)]
struct EveryNth {
    first: usize,
    step: usize,
}

impl EveryNth {
    const ALL: Self = EveryNth { first: 0, step: 1 };

    fn of(self, right: &[bool]) -> impl Iterator<Item = bool> + '_ {
        right.iter().skip(self.first).step_by(self.step).copied()
    }

    /// Returns the number of those that are right.
    fn count(self, right: &[bool]) -> usize {
        self.of(right).filter(|right| *right).count()
    }
}

/// A change of one member to a faster variant.
struct VariantChange {
    member: usize,
    variant: usize,
    /// Seconds a sample.
    saved: f64,
    /// Answers that are no longer right, below 0 if more are.
    lost: f64,
}

impl VariantChange {
    /// Compares the time saved for each answer lost. What loses none comes before what does.
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
    /// Which answers are right in float32 throughout.
    float32: Vec<bool>,
    choice: VariantChoice,
    /// Members and variants of changes that all samples refused.
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
            samples: samples.of(&self.float32).count(),
            float32: samples.count(&self.float32),
            chosen: samples.count(&self.answers.right(choice)),
        }
    }

    /// Returns the seconds of what is chosen of a member, and of another variant of it.
    fn seconds(&self, member: usize, variant: usize) -> (f64, f64) {
        let variants = &self.answers.members()[member];
        let now = self.choice[member];
        (variants[now].seconds, variants[variant].seconds)
    }

    fn is_faster(&self, member: usize, variant: usize) -> bool {
        let (now, then) = self.seconds(member, variant);
        then < FASTER * now
    }

    /// Returns the members and numbers of all variants but those in float32.
    fn variants(&self) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        let members = self.answers.members().iter().enumerate();
        members.flat_map(|(member, variants)| (1..variants.len()).map(move |at| (member, at)))
    }

    /// Returns the change that saves most for each answer lost, the first of equals.
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
