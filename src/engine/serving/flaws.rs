//! Flaws of the rows that members answer, found when the rows are folded.
//!
//! A row that holds NaN or infinities is never folded, under any rule and on any device:
//! it has no likeliest class, and one NaN in a sum would stay there. Nor is it left out
//! quietly, since an answer of the others would claim to be the ensemble's. So a request
//! that such a row belongs to fails, with a reason that names the member; requests beside
//! it in the same batch do not. In a pipeline a quorum does without such a row, and says so.
//! Who asks for [`Detail::Marked`] or [`Detail::Members`] is answered instead, with NaN as every
//! score of those samples and the rows named ([`super::Answer::flaws`]): that is how commands count
//! them over a whole file.
//!
//! A member that is declared to answer probabilities is held to it: rows that are below 0
//! or do not sum to 1 (of labels and positions: that are below 0 or above 1) are counted and named. They
//! are folded all the same, since they are numbers, and the declaration may be all that is
//! wrong.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use divisi_model::ensemble::OutputKind;
use divisi_runtime::device::MemberIndex;

/// A fault of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlawKind {
    /// It holds NaN or infinities.
    NotFinite,
    /// It was declared to be probabilities and is not.
    NotProbabilities,
}

/// A member's row that is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The member that answered it.
    pub member: MemberIndex,
    /// Counted in the request.
    pub sample: usize,
    /// Its fault.
    pub kind: FlawKind,
}

/// How much a caller wants to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The ensemble's scores; a sample that a voter answered with NaN or infinities fails
    /// the request.
    #[default]
    Scores,
    /// The scores, NaN where a voter's row was not finite, and which rows were flawed.
    Marked,
    /// The same, and what each member answered.
    Members,
}

/// Samples whose rows were flawed, of one member since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flaws {
    /// Rows with NaN or infinities.
    pub not_finite: u64,
    /// Rows that are no probabilities although they should be.
    pub not_probabilities: u64,
}

impl Flaws {
    /// Counts one.
    pub fn count(&mut self, kind: FlawKind) {
        match kind {
            FlawKind::NotFinite => self.not_finite += 1,
            FlawKind::NotProbabilities => self.not_probabilities += 1,
        }
    }

    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Flaws::default()
    }

    /// Returns the faults in words: `NaN or infinities for 3 samples`.
    pub fn words(&self) -> String {
        let samples = |n: u64| format!("{n} {}", if n == 1 { "sample" } else { "samples" });
        let mut said = Vec::new();
        if self.not_finite > 0 {
            said.push(format!(
                "NaN or infinities for {}",
                samples(self.not_finite)
            ));
        }
        if self.not_probabilities > 0 {
            said.push(format!(
                "no probabilities for {} (below 0, or not summing to 1, or of labels above 1), \
                 although its outputs are declared to be",
                samples(self.not_probabilities)
            ));
        }
        said.join(" and ")
    }
}

/// The tallies of all members, counted from any thread.
#[derive(Debug)]
pub(super) struct FlawTally(Vec<[AtomicU64; 2]>);

impl FlawTally {
    /// None of so many members yet.
    pub(super) fn new(members: usize) -> Self {
        FlawTally((0..members).map(|_| Default::default()).collect())
    }

    /// Counts `found` of a member; whether that is worth a word: the first, then each
    /// time that there are ten times as many.
    pub(super) fn add(&self, member: MemberIndex, found: Flaws) -> bool {
        let counters = self.0[member].iter();
        let each = counters.zip([found.not_finite, found.not_probabilities]);
        each.fold(false, |news, (counter, found)| {
            let before = counter.fetch_add(found, Ordering::Relaxed);
            news | is_news(before, before + found)
        })
    }

    /// Returns the faults of a member so far.
    pub(super) fn of(&self, member: MemberIndex) -> Flaws {
        let [not_finite, not_probabilities] = &self.0[member];
        Flaws {
            not_finite: not_finite.load(Ordering::Relaxed),
            not_probabilities: not_probabilities.load(Ordering::Relaxed),
        }
    }

    /// The same of every member.
    pub(super) fn all(&self) -> Vec<Flaws> {
        MemberIndex::all(self.0.len())
            .map(|member| self.of(member))
            .collect()
    }
}

fn is_news(before: u64, after: u64) -> bool {
    let decade = |n: u64| n.checked_ilog10();
    decade(after) > decade(before)
}

/// Whether every value is finite. A comparison of bits a value, without a branch, which
/// compilers turn into vectors: less than the multiplication and addition of a fold.
pub(super) fn is_finite(values: &[f32]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    let special = |v: &f32| u32::from(v.to_bits() & EXPONENT == EXPONENT);
    // In pieces, so that a row that is not finite ends it early.
    let mut pieces = values.chunks(1024);
    pieces.all(|piece| piece.iter().fold(0, |any, v| any | special(v)) == 0)
}

/// How far a sum of probabilities may be from 1: rounding to half precision, a thousand
/// times.
const SUM: f32 = 1e-2;
/// How far below 0 one may be.
const BELOW: f32 = -1e-4;

/// Whether a row of finite values could be what a member is declared to return.
pub(super) fn is_as_declared(outputs: OutputKind, row: &[f32]) -> bool {
    match outputs {
        OutputKind::Probabilities => is_probable(row),
        OutputKind::LabelProbabilities | OutputKind::PositionProbabilities => {
            row.iter().all(|p| (BELOW..=1.0 + SUM).contains(p))
        }
        OutputKind::Logits
        | OutputKind::Values
        | OutputKind::LabelLogits
        | OutputKind::PositionLogits
        | OutputKind::Boxes(_) => true,
    }
}

/// Whether a row of finite values could be probabilities.
fn is_probable(row: &[f32]) -> bool {
    let sum: f32 = row.iter().sum();
    let least = row.iter().copied().fold(0.0, f32::min);
    (sum - 1.0).abs() <= SUM && least >= BELOW
}
