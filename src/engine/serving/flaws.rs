//! Flaws of members' rows, detected when the rows are folded.
//!
//! A row with NaN or infinities is never folded, under any rule and on any device: it has no
//! likeliest class, and one NaN would spoil a sum. It is not silently omitted either, because the
//! answer of the other members would pass as the ensemble's. A request with such a row therefore
//! fails, and the reason names the member. Other requests of the same batch are not affected. In a
//! pipeline, a quorum continues without such a row and reports this.
//!
//! With [`Detail::Marked`] or [`Detail::Members`] the request is answered instead: all scores of
//! those samples are NaN, and the rows are listed ([`super::Answer::flaws`]). Commands use this to
//! count flaws over a whole file.
//!
//! A member that is declared to answer probabilities is checked: rows below 0 or without the sum 1
//! (for labels and positions: below 0 or above 1) are counted and listed. They are folded
//! nevertheless, because only the declaration may be wrong.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use divisi_model::ensemble::OutputKind;
use divisi_runtime::device::MemberIndex;

/// The kind of a row's flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlawKind {
    /// The row contains NaN or infinities.
    NotFinite,
    /// The row is declared as probabilities and is not.
    NotProbabilities,
}

/// An invalid row of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The member.
    pub member: MemberIndex,
    /// The number of the sample in the request.
    pub sample: usize,
    /// The kind of flaw.
    pub kind: FlawKind,
}

/// The detail of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The ensemble's scores. If a voter answered a sample with NaN or infinities, the request
    /// fails.
    #[default]
    Scores,
    /// The scores, NaN if a voter's row was not finite, and the list of flawed rows.
    Marked,
    /// The marked scores and the answers of each member.
    Members,
}

/// The flawed samples of one member since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flaws {
    /// Rows with NaN or infinities.
    pub not_finite: u64,
    /// Rows declared as probabilities that are none.
    pub not_probabilities: u64,
}

impl Flaws {
    /// Counts one flaw.
    pub fn count(&mut self, kind: FlawKind) {
        match kind {
            FlawKind::NotFinite => self.not_finite += 1,
            FlawKind::NotProbabilities => self.not_probabilities += 1,
        }
    }

    /// Returns whether there are no flaws.
    pub fn is_none(&self) -> bool {
        *self == Flaws::default()
    }

    /// Returns the flaws in words: `NaN or infinities for 3 samples`.
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
                "no probabilities for {} (values below 0, a sum other than 1, or labels above 1), \
                 although its outputs are declared as probabilities",
                samples(self.not_probabilities)
            ));
        }
        said.join(" and ")
    }
}

/// The tallies of all members, updated from any thread.
#[derive(Debug)]
pub(super) struct FlawTally(Vec<[AtomicU64; 2]>);

impl FlawTally {
    /// Creates tallies for `members` members.
    pub(super) fn new(members: usize) -> Self {
        FlawTally((0..members).map(|_| Default::default()).collect())
    }

    /// Counts `found` for a member. Returns whether to report it: at the first flaw, then at each
    /// tenfold count.
    pub(super) fn add(&self, member: MemberIndex, found: Flaws) -> bool {
        let counters = self.0[member].iter();
        let each = counters.zip([found.not_finite, found.not_probabilities]);
        each.fold(false, |news, (counter, found)| {
            let before = counter.fetch_add(found, Ordering::Relaxed);
            news | is_news(before, before + found)
        })
    }

    /// Returns the flaws of a member.
    pub(super) fn for_member(&self, member: MemberIndex) -> Flaws {
        let [not_finite, not_probabilities] = &self.0[member];
        Flaws {
            not_finite: not_finite.load(Ordering::Relaxed),
            not_probabilities: not_probabilities.load(Ordering::Relaxed),
        }
    }

    /// Returns the flaws of every member.
    pub(super) fn by_member(&self) -> Vec<Flaws> {
        MemberIndex::all(self.0.len())
            .map(|member| self.for_member(member))
            .collect()
    }
}

fn is_news(before: u64, after: u64) -> bool {
    let decade = |n: u64| n.checked_ilog10();
    decade(after) > decade(before)
}

/// Returns whether every value is finite. Compares bits without a branch, so that compilers
/// vectorise it. It costs less than the multiplication and addition of a fold.
pub(super) fn is_finite(values: &[f32]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    let special = |v: &f32| u32::from(v.to_bits() & EXPONENT == EXPONENT);
    // In chunks, so that a value that is not finite ends the check early.
    let mut pieces = values.chunks(1024);
    pieces.all(|piece| piece.iter().fold(0, |any, v| any | special(v)) == 0)
}

/// The tolerance for a sum of probabilities: the rounding to half precision, a thousand times.
const SUM: f32 = 1e-2;
/// The tolerance below 0.
const BELOW: f32 = -1e-4;

/// Returns whether a row of finite values matches the member's declared outputs.
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

/// Returns whether a row of finite values can be probabilities.
fn is_probable(row: &[f32]) -> bool {
    let sum: f32 = row.iter().sum();
    let least = row.iter().copied().fold(0.0, f32::min);
    (sum - 1.0).abs() <= SUM && least >= BELOW
}
