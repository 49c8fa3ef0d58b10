//! The results of a request's steps in a pipeline, and the steps that run on the host.

use std::sync::{Arc, OnceLock};

use crate::serving::answer::{Answer, MissingSteps};
use crate::serving::batch::{Range, Slice};
use crate::serving::core::HostWork;
use crate::serving::flaws::is_finite;
use divisi_model::dataflow::{RowJoin, RowSet, StepIndex};
use divisi_model::ensemble::AnswerFloats;
use divisi_model::pipeline::{Pipeline, PlaneRows, RowInputs, RowOrigin, StepRole, TensorSource};
use divisi_runtime::device::MemberIndex;

use super::locks::Leaf;
use super::samples::RequestSamples;

/// The results of a request's steps, part by part.
pub(crate) struct PipelineRows {
    pipeline: Arc<Pipeline>,
    /// The positions of the requested outputs, in this order.
    outputs: Box<[usize]>,
    parts: Vec<PartRows>,
    /// For each combination that did without some of its inputs: whether these could not have
    /// changed the class, or `None` if unknown.
    certain: Leaf<Vec<Option<bool>>>,
    /// Steps with NaN or infinities that reach a step other than a quorum.
    spoilt: Leaf<Vec<StepIndex>>,
    /// The first model output with integers that are too large to be exact: the step, and the
    /// position among its tensors.
    inexact: OnceLock<(StepIndex, usize)>,
}

struct PartRows {
    slice: Slice,
    /// The samples, copied when a step other than a model reads them.
    samples: OnceLock<Box<[f32]>>,
    steps: Box<[StepRows]>,
}

/// The result of a step for a part. The thread that runs the step writes it, and nothing reads it
/// before the step is over.
#[derive(Default)]
struct StepRows {
    written: Leaf<Vec<f32>>,
    read: OnceLock<Box<[f32]>>,
}

impl StepRows {
    fn write(&self, values: usize, first: usize, rows: &[f32]) {
        let mut written = self.written.lock();
        written.resize(values, 0.0);
        written[first..first + rows.len()].copy_from_slice(rows);
    }

    fn read(&self) -> &[f32] {
        self.read
            .get_or_init(|| std::mem::take(&mut *self.written.lock()).into())
    }
}

impl PipelineRows {
    /// Creates empty results for a request whose samples are in `slices`. `outputs` are the
    /// requested outputs, all if empty.
    pub(super) fn new(pipeline: &Arc<Pipeline>, outputs: &[usize], slices: &[Slice]) -> Self {
        let part = |slice: &Slice| PartRows {
            slice: *slice,
            samples: OnceLock::new(),
            steps: pipeline
                .steps()
                .iter()
                .map(|_| StepRows::default())
                .collect(),
        };
        let all = 0..pipeline.outputs().len();
        PipelineRows {
            outputs: match outputs {
                [] => all.collect(),
                some => some.into(),
            },
            certain: Leaf::default(),
            spoilt: Leaf::default(),
            inexact: OnceLock::new(),
            parts: slices.iter().map(part).collect(),
            pipeline: Arc::clone(pipeline),
        }
    }

    /// Stores the rows of a model for a range. Returns whether their integers are exact.
    pub(super) fn keep(&self, range: &Range, rows: &[f32]) -> bool {
        let (part, step) = (&self.parts[range.part], self.pipeline.step(range.step));
        let width = step.width;
        let mut each = rows
            .chunks_exact(width.max(1))
            .filter(|_| step.has_integers());
        let inexact = each.find_map(|row| step.inexact(row));
        if let Some(output) = inexact {
            // Reports only the first one.
            let _ = self.inexact.set((range.step, output));
        }
        let values = part.slice.len * width;
        part.steps[range.step.get()].write(values, range.first * width, rows);
        inexact.is_none()
    }

    /// Records that some rows of a model contain NaN or infinities.
    pub(super) fn note_not_finite(&self, step: StepIndex) {
        if !self.is_spared(step) {
            self.spoilt.lock().push(step);
        }
    }

    /// Returns the members whose steps have NaN or infinities that reach a step other than a
    /// quorum.
    pub(super) fn spoilt_by(&self) -> Vec<MemberIndex> {
        let spoilt = self.spoilt.lock();
        let members = spoilt.iter().filter_map(|step| self.member_of(*step));
        members.collect()
    }

    fn member_of(&self, step: StepIndex) -> Option<MemberIndex> {
        match self.pipeline.step(step).role {
            StepRole::Model(member) => Some(member),
            StepRole::Host(_) | StepRole::Gate(_) => None,
        }
    }

    /// Returns whether an answer can do without rows of a step.
    pub(super) fn is_spared(&self, step: StepIndex) -> bool {
        self.pipeline.flow().is_spared(step)
    }

    /// Returns the rows of a range that a model answered with NaN or infinities, numbered within
    /// the part, or `None` if there are none.
    pub(super) fn not_finite(&self, range: &Range) -> Option<RowSet> {
        let width = self.pipeline.step(range.step).width.max(1);
        let rows = &self.parts[range.part].steps[range.step.get()];
        let written = rows.written.lock();
        let is_flawed = |row: usize| {
            let in_range = (range.first..range.first + range.len).contains(&row);
            let row = written.get(row * width..(row + 1) * width);
            in_range && row.is_some_and(|row| !is_finite(row))
        };
        let flawed = RowSet::filter(range.part_samples, is_flawed);
        (!flawed.is_empty()).then_some(flawed)
    }

    /// Returns the names of a model and of its output with inexact integers, or `None` if there are
    /// none.
    pub(super) fn inexact(&self) -> Option<(&str, &str)> {
        let (step, output) = self.inexact.get()?;
        let step = self.pipeline.step(*step);
        Some((&step.name, &step.tensors.get(*output)?.name))
    }

    /// Returns whether a plane is gathered from results of steps, so that it is not in the pool.
    pub(super) fn is_gathered(&self, plane: usize) -> bool {
        matches!(self.pipeline.planes()[plane], PlaneRows::Gathered(_))
    }

    /// Returns the values of a row of a gathered plane.
    pub(super) fn gathered_width(&self, plane: usize) -> usize {
        match &self.pipeline.planes()[plane] {
            PlaneRows::Gathered(sources) => sources.iter().map(|s| s.run.len()).sum(),
            PlaneRows::Request(_) => 0,
        }
    }

    /// Copies samples of a part to `to`, from `first` on, in the layout of a plane.
    pub(super) fn gather(
        &self,
        samples: RequestSamples<'_>,
        part: usize,
        first: usize,
        plane: usize,
        to: &mut [f32],
    ) {
        let PlaneRows::Gathered(sources) = &self.pipeline.planes()[plane] else {
            return;
        };
        let rows = self.rows(samples, part, &[]);
        let width = self.gathered_width(plane);
        for (row, to) in to.chunks_exact_mut(width.max(1)).enumerate() {
            let mut at = 0;
            for source in sources {
                let values = rows.values(first + row, source);
                to[at..at + values.len()].copy_from_slice(values);
                at += values.len();
            }
        }
    }

    /// Runs a step on the host. Returns the rows with a result.
    ///
    /// # Errors
    /// The result has NaN or infinities for some rows.
    pub(super) fn run<T>(
        &self,
        samples: RequestSamples<'_>,
        work: &HostWork<T>,
    ) -> Result<RowSet, FlawedRows> {
        let width = self.pipeline.step(work.step).width;
        let rows = self.rows(samples, work.part, &work.held);
        let mut made = vec![0.0; work.samples * width];
        let made_of = |row: usize, made: &mut [f32]| {
            self.pipeline
                .run_row(work.step, row, &rows, &mut made[row * width..][..width])
        };
        let exist = RowSet::filter(work.samples, |row| {
            work.rows.contains(row) && made_of(row, &mut made)
        });
        if width > 0 {
            let is_sound = |row: usize| is_finite(&made[row * width..][..width]);
            let sound = RowSet::filter(work.samples, |row| exist.contains(row) && is_sound(row));
            self.parts[work.part].steps[work.step.get()].write(made.len(), 0, &made);
            if sound != exist {
                let flawed = exist.count(work.samples) - sound.count(work.samples);
                return Err(FlawedRows { sound, flawed });
            }
            self.note_certainty(work, &rows, &exist, &made);
        }
        Ok(exist)
    }

    /// Records whether the missing inputs of a combination could have changed the class.
    fn note_certainty<T>(
        &self,
        work: &HostWork<T>,
        rows: &HeldRows<'_>,
        exist: &RowSet,
        made: &[f32],
    ) {
        let step = self.pipeline.step(work.step);
        let join = self.pipeline.flow().step(work.step).join;
        if !matches!(join, RowJoin::Quorum { .. }) || rows.has_all(&step.sources) {
            return;
        }
        let of_row = |row: usize| {
            let is_here = |at: &usize| rows.tensor(row, &step.sources[*at]).is_some();
            let (present, missing): (Vec<usize>, Vec<usize>) =
                (0..step.sources.len()).partition(is_here);
            let made = &made[row * step.width..][..step.width];
            match missing.is_empty() {
                true => Some(true),
                false => self
                    .pipeline
                    .is_certain(work.step, &present, &missing, made),
            }
        };
        let rows = exist.runs(work.samples).flatten().map(of_row);
        self.certain.lock().push(all_certain(rows));
    }

    /// Returns whether the missing inputs of combinations could not have changed the class, or
    /// `None` if unknown.
    pub(super) fn is_certain(&self) -> Option<bool> {
        let certain = self.certain.lock();
        let some = !certain.is_empty();
        all_certain(certain.iter().copied()).filter(|_| some)
    }

    fn rows<'a>(
        &'a self,
        samples: RequestSamples<'a>,
        part: usize,
        held: &'a [(StepIndex, RowSet)],
    ) -> HeldRows<'a> {
        HeldRows {
            rows: self,
            samples,
            at: part,
            part: &self.parts[part],
            held,
        }
    }

    /// Returns the answer of a complete request, or `None` if only some outputs were requested.
    pub(super) fn whole_answer(&self, samples: RequestSamples<'_>) -> Option<Answer> {
        let all = 0..self.pipeline.outputs().len();
        let is_whole = all.eq(self.outputs.iter().copied());
        is_whole.then(|| self.outputs_of(samples))
    }

    /// Returns the name of the step that makes the first output, or `None` if the output is not a
    /// step's result.
    pub(super) fn first_output(&self) -> Option<&str> {
        match self.pipeline.outputs().first()?.source.origin {
            RowOrigin::Step(step) => Some(&self.pipeline.step(step).name),
            RowOrigin::Request => None,
        }
    }

    /// Returns the answer of a complete request. Its quorums did without the steps in `late`.
    pub(super) fn answer(&self, samples: RequestSamples<'_>, late: &[StepIndex]) -> Answer {
        let answer = self.outputs_of(samples);
        if late.is_empty() {
            return answer;
        }
        let mut names: Vec<String> = Vec::new();
        for step in late {
            // A condition has the name of its step.
            let name = &self.pipeline.step(*step).name;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let is_certain = self.is_certain();
        answer.without(MissingSteps { names, is_certain })
    }

    fn outputs_of(&self, samples: RequestSamples<'_>) -> Answer {
        let all = self.pipeline.outputs();
        let outputs: Vec<_> = self.outputs.iter().map(|at| &all[*at].source).collect();
        let width = outputs.iter().map(|source| source.run.len()).sum();
        let blocks = (0..self.parts.len()).map(|part| {
            let (rows, count) = (self.rows(samples, part, &[]), self.parts[part].slice.len);
            let mut block = AnswerFloats::zeroed(count * width);
            let mut left = &mut block[..];
            for row in 0..count {
                for output in &outputs {
                    let values = rows.values(row, output);
                    let (to, behind) = left.split_at_mut(values.len());
                    to.copy_from_slice(values);
                    left = behind;
                }
            }
            block
        });
        Answer::of_blocks(blocks.collect(), width)
    }
}

/// The rows of a step with NaN or infinities in some of them.
pub(super) struct FlawedRows {
    /// The sound rows.
    pub sound: RowSet,
    /// The number of flawed rows.
    pub flawed: usize,
}

/// The tensors of a part that steps can read.
struct HeldRows<'a> {
    rows: &'a PipelineRows,
    samples: RequestSamples<'a>,
    /// The number of the part.
    at: usize,
    part: &'a PartRows,
    /// The existing rows of steps whose results do not cover all rows.
    held: &'a [(StepIndex, RowSet)],
}

/// Returns whether all values are true, or `None` if one is unknown.
fn all_certain(each: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    each.into_iter().try_fold(true, |all, one| Some(all & one?))
}

impl HeldRows<'_> {
    /// Returns whether tensors exist for all rows.
    fn has_all(&self, sources: &[TensorSource]) -> bool {
        let held = self.held.iter();
        sources.iter().all(|source| match source.origin {
            RowOrigin::Step(step) => held.clone().any(|(of, rows)| *of == step && rows.is_all()),
            RowOrigin::Request => true,
        })
    }

    /// Returns the tensor at `source` for a row. It must exist.
    fn values(&self, row: usize, source: &TensorSource) -> &[f32] {
        let (rows, width) = match source.origin {
            RowOrigin::Step(step) => {
                let width = self.rows.pipeline.step(step).width;
                (self.part.steps[step.get()].read(), width)
            }
            RowOrigin::Request => {
                let plane = self.rows.pipeline.planes().len();
                let width = self.samples.width(plane);
                let rows = self.part.samples.get_or_init(|| {
                    let mut rows = vec![0.0; self.part.slice.len * width];
                    let slice = self.part.slice;
                    self.samples.read(self.at, 0, slice, plane, &mut rows);
                    rows.into()
                });
                (&rows[..], width)
            }
        };
        &rows[row * width..][..width][source.run.clone()]
    }
}

impl RowInputs for HeldRows<'_> {
    fn tensor(&self, row: usize, source: &TensorSource) -> Option<&[f32]> {
        if let RowOrigin::Step(step) = source.origin {
            let held = self.held.iter().find(|(of, _)| *of == step);
            if !held.is_some_and(|(_, rows)| rows.contains(row)) {
                return None;
            }
        }
        Some(self.values(row, source))
    }
}
