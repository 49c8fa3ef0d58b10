//! The answer to a request, and its parts, the only place where predictions are combined.
//!
//! Each part of a request (its samples in one extent) has its own lock and is
//! folded by whichever thread predicted, in any order.

use std::time::Duration;

use divisi_model::codes::Code;
use divisi_model::dataflow::StepIndex;
use divisi_model::ensemble::{AnswerFloats, CombinationRule, OutputKind, label_of};
use divisi_model::metrics::LatencySplit;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_runtime::lock::Leaf;

use super::flaws::{Flaw, FlawKind, is_as_declared, is_finite};

/// The answer of an ensemble to a request: a row for each sample, of scores a class, values,
/// probabilities of labels, or classes of positions, and, where they were asked for, the rows of each member.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    blocks: Vec<AnswerBlock>,
    width: usize,
    flaws: Vec<Flaw>,
    times: LatencySplit,
    missing: MissingSteps,
    runs: Vec<StepRun>,
}

/// A run of a step for rows of a request, in one batch or by the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRun {
    /// The step.
    pub step: StepIndex,
    /// The rows of the request that it was run for.
    pub rows: usize,
    /// When it could be run, counted from the request's submission.
    pub arrived: Duration,
    /// The time that it waited.
    pub queued: Duration,
    /// The time until its rows were where it computes.
    pub input: Duration,
    /// The time that it computed.
    pub computed: Duration,
    /// The time until its answers were folded or kept.
    pub output: Duration,
    /// Why the step failed for some of the request's rows, if it did.
    pub failed: Option<Code>,
    /// The batch, or `None` for a step of the host's.
    pub batch: Option<BatchOfRun>,
}

/// A batch, as one of the requests that it has rows of sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOfRun {
    /// Its number, unique for the process's life.
    pub number: u64,
    /// The device that ran it.
    pub device: DeviceIndex,
    /// Its samples.
    pub samples: usize,
    /// Whether its first rows are these.
    pub is_first: bool,
}

/// The steps that quorums of a pipeline did without, since they were late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingSteps {
    /// Their names.
    pub names: Vec<String>,
    /// Whether none of them could have changed the class of any sample, or `None` if that cannot be
    /// known.
    pub is_certain: Option<bool>,
}

/// Of one part of a request.
#[derive(Clone, Debug, PartialEq)]
struct AnswerBlock {
    /// `[samples, width]`.
    scores: AnswerFloats,
    /// Of each member `[samples, width of its rows]`, where they were kept.
    rows: Vec<AnswerFloats>,
}

impl Answer {
    /// Finishes the parts of a request, in order. A sample that a voter answered with NaN
    /// or infinities has NaN as every score.
    pub fn finish(rule: &dyn CombinationRule, parts: &[Part], width: usize) -> Self {
        let mut first = 0;
        let mut flaws = Vec::new();
        let blocks = parts.iter().map(|part| {
            let folded = part.take();
            let mut scores = rule.finish(folded.state, width);
            for flaw in &folded.flaws {
                if flaw.kind == FlawKind::NotFinite && rule.counts(flaw.member) {
                    scores[flaw.sample * width..][..width].fill(f32::NAN);
                }
            }
            let counted = folded.flaws.into_iter().map(|flaw| Flaw {
                sample: first + flaw.sample,
                ..flaw
            });
            flaws.extend(counted);
            first += part.samples;
            AnswerBlock {
                scores,
                rows: folded.rows,
            }
        });
        let blocks: Vec<AnswerBlock> = blocks.collect();
        flaws.sort_unstable_by_key(|flaw| (flaw.sample, flaw.member));
        Answer {
            blocks,
            width,
            flaws,
            times: LatencySplit::default(),
            missing: MissingSteps::default(),
            runs: Vec::new(),
        }
    }

    /// Takes the answers of a pipeline, part by part: of each `[samples, width]`.
    pub(super) fn of_blocks(blocks: Vec<AnswerFloats>, width: usize) -> Self {
        let block = |scores| AnswerBlock {
            scores,
            rows: Vec::new(),
        };
        Answer {
            blocks: blocks.into_iter().map(block).collect(),
            width,
            flaws: Vec::new(),
            times: LatencySplit::default(),
            missing: MissingSteps::default(),
            runs: Vec::new(),
        }
    }

    /// The same, without the results of some steps.
    #[must_use]
    pub(super) fn without(self, missing: MissingSteps) -> Self {
        Answer { missing, ..self }
    }

    /// Returns the steps that quorums did without.
    pub fn missing(&self) -> &MissingSteps {
        &self.missing
    }

    /// The same, with the parts of its latency.
    #[must_use]
    pub(super) fn timed(self, times: LatencySplit) -> Self {
        Answer { times, ..self }
    }

    /// The same, with the runs that made it.
    #[must_use]
    pub(super) fn made_by(self, runs: Vec<StepRun>) -> Self {
        Answer { runs, ..self }
    }

    /// Returns the runs of steps that made it, in the order in which they ended; nothing where they
    /// were not asked for.
    pub fn runs(&self) -> &[StepRun] {
        &self.runs
    }

    /// Returns the parts of its latency.
    pub fn times(&self) -> LatencySplit {
        self.times
    }

    /// The answer (`[width]`) to each sample, in the order they were sent.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        let blocks = self.blocks.iter();
        blocks.flat_map(|b| b.scores.chunks_exact(self.width))
    }

    /// Returns the rows of `member` for each sample, as its network returned them, in the order
    /// they were sent; nothing where members' rows were not asked for.
    pub fn member_rows(&self, member: MemberIndex) -> impl Iterator<Item = &[f32]> {
        self.blocks.iter().flat_map(move |block| {
            let samples = block.scores.len() / self.width.max(1);
            let rows = block
                .rows
                .get(member.get())
                .map_or(&[][..], |rows| &rows[..]);
            rows.chunks_exact((rows.len() / samples.max(1)).max(1))
        })
    }

    /// The class with the highest score, of each sample; none where scores are NaN. It means
    /// something for an ensemble that answers classes.
    pub fn classes(&self) -> impl Iterator<Item = Option<usize>> {
        self.rows().map(label_of)
    }

    /// Rows of members that are not what they should be, by sample and member.
    pub fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }

    /// Samples answered.
    pub fn len(&self) -> usize {
        let blocks = self.blocks.iter();
        blocks.map(|b| b.scores.len()).sum::<usize>() / self.width.max(1)
    }

    /// Never for an answer to an admitted request: those have samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The combined state of a part's samples.
#[derive(Debug)]
pub struct Part {
    folded: Leaf<Folded>,
    samples: usize,
    /// Members whose rows are kept as well; 0: none.
    kept: usize,
}

#[derive(Debug, Default)]
struct Folded {
    state: AnswerFloats,
    /// Of each member `[samples, width of its rows]`, where they are kept.
    rows: Vec<AnswerFloats>,
    flaws: Vec<Flaw>,
}

impl Folded {
    fn note_not_finite(&mut self, member: MemberIndex, first: usize, rows: &[f32], width: usize) {
        let rows = rows.chunks_exact(width).enumerate();
        let flawed = rows.filter(|(_, row)| !is_finite(row));
        self.flaws.extend(flawed.map(|(i, _)| Flaw {
            member,
            sample: first + i,
            kind: FlawKind::NotFinite,
        }));
    }
}

impl Part {
    /// Nothing folded yet.
    pub fn new(samples: usize) -> Self {
        Part {
            folded: Leaf::default(),
            samples,
            kept: 0,
        }
    }

    /// The same, to keep the rows of every one of `members` too.
    pub fn keeping(samples: usize, members: usize) -> Self {
        Part {
            kept: members,
            ..Part::new(samples)
        }
    }

    /// Folds `member`'s `rows` for the samples from `first` on, but those that hold NaN
    /// or infinities: they are noted. The member's rows are `width` numbers each. Whether all
    /// were finite.
    pub fn fold(
        &self,
        rule: &dyn CombinationRule,
        member: MemberIndex,
        first: usize,
        rows: &[f32],
        width: usize,
    ) -> bool {
        let sound = is_finite(rows);
        if sound && !rule.counts(member) && self.kept == 0 {
            return true;
        }
        let mut folded = self.folded.lock();
        if self.kept > 0 {
            self.keep(&mut folded, member, first, rows, width);
        }
        if rule.counts(member) {
            let samples = rows.len() / width.max(1);
            let state = self.state(&mut folded, first, samples, rule.state_width());
            match sound {
                true => rule.fold(member, rows, state),
                false => fold_finite(rule, member, rows, state, width),
            }
        }
        if !sound {
            folded.note_not_finite(member, first, rows, width);
        }
        sound
    }

    /// The state of `samples` from `first` on.
    fn state<'a>(
        &self,
        folded: &'a mut Folded,
        first: usize,
        samples: usize,
        width: usize,
    ) -> &'a mut [f32] {
        if folded.state.is_empty() {
            folded.state = AnswerFloats::zeroed(self.samples * width);
        }
        &mut folded.state[first * width..(first + samples) * width]
    }

    fn keep(
        &self,
        folded: &mut Folded,
        member: MemberIndex,
        first: usize,
        rows: &[f32],
        width: usize,
    ) {
        folded.rows.resize(self.kept, AnswerFloats::default());
        let of_member = &mut folded.rows[member];
        if of_member.is_empty() {
            *of_member = AnswerFloats::zeroed(self.samples * width);
        }
        of_member[first * width..][..rows.len()].copy_from_slice(rows);
    }

    /// Notes those of a member's `rows` that hold NaN or infinities, for the samples from `first`
    /// on. Whether there were none.
    pub fn check_finite(
        &self,
        member: MemberIndex,
        first: usize,
        rows: &[f32],
        width: usize,
    ) -> bool {
        let sound = is_finite(rows);
        if !sound {
            self.folded
                .lock()
                .note_not_finite(member, first, rows, width);
        }
        sound
    }

    /// Notes those of a member's `rows` that are finite and not what it is declared to
    /// return, for the samples from `first` on. Whether there were none.
    pub fn check_declared(
        &self,
        outputs: OutputKind,
        member: MemberIndex,
        first: usize,
        rows: &[f32],
        width: usize,
    ) -> bool {
        let rows = rows.chunks_exact(width).enumerate();
        let wrong = rows.filter(|(_, row)| !is_as_declared(outputs, row) && is_finite(row));
        let flaws = wrong.map(|(i, _)| Flaw {
            member,
            sample: first + i,
            kind: FlawKind::NotProbabilities,
        });
        let flaws: Vec<Flaw> = flaws.collect();
        if !flaws.is_empty() {
            self.folded.lock().flaws.extend(&flaws);
        }
        flaws.is_empty()
    }

    /// Returns the faults of the rows that were folded, in no order; samples count in this
    /// part.
    pub fn flaws(&self) -> Vec<Flaw> {
        self.folded.lock().flaws.clone()
    }

    fn take(&self) -> Folded {
        std::mem::take(&mut *self.folded.lock())
    }
}

/// Folds those rows that are finite.
fn fold_finite(
    rule: &dyn CombinationRule,
    member: MemberIndex,
    rows: &[f32],
    state: &mut [f32],
    width: usize,
) {
    let states = state.chunks_exact_mut(rule.state_width());
    for (row, state) in rows.chunks_exact(width).zip(states) {
        if is_finite(row) {
            rule.fold(member, row, state);
        }
    }
}
