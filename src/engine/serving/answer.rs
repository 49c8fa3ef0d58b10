//! The answer to a request, and its parts, the only place where predictions are combined.
//!
//! Each part of a request (its samples in one extent) has its own lock and is folded by whichever
//! thread predicted, in any order. A request uses the combination that was in force when it was
//! admitted. The results of a pipeline's steps are kept row by row and are not folded.

use std::time::Duration;

use divisi_model::codes::Code;
use divisi_model::dataflow::StepIndex;
use divisi_model::ensemble::{AnswerFloats, CombinationRule, OutputKind, label_of};
use divisi_model::metrics::LatencySplit;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_runtime::lock::Leaf;

use super::flaws::{Flaw, FlawKind, is_as_declared, is_finite};

/// The answer of an ensemble to a request. It has a row for each sample: scores of classes, values,
/// probabilities of labels, or classes of positions. On request it also has the rows of each
/// member.
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
    /// The number of the request's rows in this run.
    pub rows: usize,
    /// The time at which the step could run, after the request's submission.
    pub arrived: Duration,
    /// The waiting time in the queue.
    pub queued: Duration,
    /// The time until its rows were on the computing device.
    pub input: Duration,
    /// The computing time.
    pub computed: Duration,
    /// The time until its answers were folded or stored.
    pub output: Duration,
    /// The error code if the step failed for some of the request's rows.
    pub failed: Option<Code>,
    /// The batch, or `None` for a step on the host.
    pub batch: Option<BatchOfRun>,
}

/// A batch from the perspective of one of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOfRun {
    /// The number of the batch, unique for the process's life.
    pub number: u64,
    /// The device of the batch.
    pub device: DeviceIndex,
    /// Its samples.
    pub samples: usize,
    /// Whether the batch begins with this request's rows.
    pub is_first: bool,
}

/// The steps that quorums of a pipeline did without, because they were late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingSteps {
    /// The names of the steps.
    pub names: Vec<String>,
    /// Whether none of the steps could have changed the class of any sample. `None` if this is
    /// unknown.
    pub is_certain: Option<bool>,
}

/// The answers to one part of a request.
#[derive(Clone, Debug, PartialEq)]
struct AnswerBlock {
    /// `[samples, width]`.
    scores: AnswerFloats,
    /// The rows of each member, `[samples, width of its rows]`, if they are kept.
    rows: Vec<AnswerFloats>,
}

impl Answer {
    /// Combines the parts of a request, in order. If a voter answered a sample with NaN or
    /// infinities, all scores of the sample are NaN.
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

    /// Creates the answer of a pipeline from its parts, each `[samples, width]`.
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

    /// Sets the missing steps.
    #[must_use]
    pub(super) fn without(self, missing: MissingSteps) -> Self {
        Answer { missing, ..self }
    }

    /// Returns the steps that quorums did without.
    pub fn missing(&self) -> &MissingSteps {
        &self.missing
    }

    /// Sets the parts of the latency.
    #[must_use]
    pub(super) fn timed(self, times: LatencySplit) -> Self {
        Answer { times, ..self }
    }

    /// Sets the runs of steps behind the answer.
    #[must_use]
    pub(super) fn made_by(self, runs: Vec<StepRun>) -> Self {
        Answer { runs, ..self }
    }

    /// Returns the runs of steps behind the answer, in the order of their ends. Empty if they were
    /// not requested.
    pub fn runs(&self) -> &[StepRun] {
        &self.runs
    }

    /// Returns the parts of the latency.
    pub fn times(&self) -> LatencySplit {
        self.times
    }

    /// Returns the answer (`[width]`) to each sample, in the order of the request.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        let blocks = self.blocks.iter();
        blocks.flat_map(|b| b.scores.chunks_exact(self.width))
    }

    /// Returns the rows of `member` for each sample, as returned by its network, in the order of
    /// the request. Empty if members' rows were not requested.
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

    /// Returns the class with the highest score for each sample, or `None` if scores are NaN.
    /// Meaningful only for an ensemble that answers classes.
    pub fn classes(&self) -> impl Iterator<Item = Option<usize>> {
        self.rows().map(label_of)
    }

    /// Returns the invalid rows of members, by sample and member.
    pub fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }

    /// Samples answered.
    pub fn len(&self) -> usize {
        let blocks = self.blocks.iter();
        blocks.map(|b| b.scores.len()).sum::<usize>() / self.width.max(1)
    }

    /// Returns whether there are no samples. Never true for an admitted request.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The combined state of a part's samples.
#[derive(Debug)]
pub struct Part {
    folded: Leaf<Folded>,
    samples: usize,
    /// The number of members whose rows are also kept, or 0.
    kept: usize,
}

#[derive(Debug, Default)]
struct Folded {
    state: AnswerFloats,
    /// The rows of each member, `[samples, width of its rows]`, if they are kept.
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
    /// Creates a part without folded rows.
    pub fn new(samples: usize) -> Self {
        Part {
            folded: Leaf::default(),
            samples,
            kept: 0,
        }
    }

    /// Creates a part that also keeps the rows of each of `members`.
    pub fn keeping(samples: usize, members: usize) -> Self {
        Part {
            kept: members,
            ..Part::new(samples)
        }
    }

    /// Folds `member`'s `rows` for the samples from `first` on. Records rows with NaN or infinities
    /// instead of folding them. The member's rows are `width` numbers each. Returns whether all
    /// rows were finite.
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

    /// Returns the state of `samples` from `first` on.
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

    /// Records those of a member's `rows` with NaN or infinities, for the samples from `first` on.
    /// Returns whether there were none.
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

    /// Records those of a member's `rows` that are finite but not as declared, for the samples from
    /// `first` on. Returns whether there were none.
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

    /// Returns the flaws of the folded rows, unordered. Samples are numbered within this part.
    pub fn flaws(&self) -> Vec<Flaw> {
        self.folded.lock().flaws.clone()
    }

    fn take(&self) -> Folded {
        std::mem::take(&mut *self.folded.lock())
    }
}

/// Folds the finite rows.
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
