//! Requests: what a client sends, what it comes to, and what the engine keeps of it
//! meanwhile; and the answers of a batch on their way to the requests that they belong to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::serving::answer::Part;
use crate::serving::batch::{Batch, PipelineIndex, Range, Slice};
use crate::serving::core::{Finished, Next, Owed};
use crate::serving::flaws::Detail;
use divisi_model::codes::Code;
use divisi_model::dataflow::{RowSet, StepIndex};
use divisi_model::ensemble::{CombinationRule, OutputKind, SampleValues, Targets};

use super::graph::PipelineRows;
use super::member_sampler::MemberSample;
use super::promise::{Failure, Outcome, Promise, RulePanicked, caught};
use super::run_log::{RunListener, RunLog};
use super::samples::{HeldSamples, RequestSamples, SharedSamples};
use super::served::ServedEnsemble;

/// A client's call: samples, row after row, and how long they may take.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The samples, row after row.
    pub values: SampleValues<'a>,
    /// The memory of all its samples, where it may be kept while the request is under way.
    pub memory: Option<&'a SharedSamples>,
    /// Time until it fails, if it has a deadline.
    pub deadline: Option<Duration>,
    /// How long ago it was due: its latency counts from then.
    pub late: Duration,
    /// The samples' targets, where they are known, and the first sample's number among
    /// them: members are weighed by them.
    pub targets: Option<(&'a Targets, usize)>,
    /// How much its caller wants to be told.
    pub detail: Detail,
    /// The outputs of a pipeline that its caller wants, in this order; all of them if empty.
    pub outputs: &'a [usize],
    /// Which entry of the catalogue it asks.
    pub pipeline: PipelineIndex,
    /// Its priority, where the entry has some; 0 for the default.
    pub priority: u64,
    /// How long it waits for its first batch at most, where the entry lets it say so.
    pub patience: Option<Duration>,
    /// The time until it is to be answered: of requests of one priority those run first that are due
    /// first, before them those that name none.
    pub due: Option<Duration>,
    /// Where there is one, its answer tells the runs of steps that made it, and this is told of others.
    pub runs: Option<&'a RunListener>,
}

impl<'a> Request<'a> {
    /// Samples without a deadline.
    pub fn new(values: &'a [f32]) -> Self {
        Request::of(values.into())
    }

    /// Samples that may stay where they are while the request is under way, without a deadline.
    pub fn shared(memory: &'a SharedSamples) -> Self {
        Request {
            memory: Some(memory),
            ..Request::of(memory.values())
        }
    }

    /// Samples as numbers or bytes, without a deadline.
    pub fn of(values: SampleValues<'a>) -> Self {
        Request {
            values,
            memory: None,
            deadline: None,
            late: Duration::ZERO,
            targets: None,
            detail: Detail::Scores,
            outputs: &[],
            pipeline: PipelineIndex::default(),
            priority: 0,
            patience: None,
            due: None,
            runs: None,
        }
    }

    /// The same, for some outputs of a pipeline alone: what no other needs is not computed.
    #[must_use]
    pub fn asking(self, outputs: &'a [usize]) -> Self {
        Request { outputs, ..self }
    }

    /// The same, to be told more.
    #[must_use]
    pub fn detailed(self, detail: Detail) -> Self {
        Request { detail, ..self }
    }

    /// The same, of another entry of the catalogue than the first.
    #[must_use]
    pub fn to(self, pipeline: PipelineIndex) -> Self {
        Request { pipeline, ..self }
    }

    /// The same, given up `within` this time.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Request {
            deadline: Some(within),
            ..self
        }
    }
}

/// A request as the engine keeps it while it is under way.
pub(crate) struct RequestData {
    /// Who answers it.
    pub served: Arc<ServedEnsemble>,
    pub parts: Vec<Part>,
    /// Taken when it was let in, so that one rule combines all of it.
    pub rule: Arc<dyn CombinationRule>,
    /// The results of steps, where a pipeline is asked.
    pub graph: Option<PipelineRows>,
    /// Where members' answers are kept, for the few requests by which they are weighed.
    pub member_sample: Option<MemberSample>,
    /// The runs of its steps, where its caller wants to know.
    pub(super) runs: Option<RunLog>,
    /// Its samples, where they do not lie in the pool.
    pub(super) held: Option<HeldSamples>,
    /// Whether its caller takes rows that are not finite.
    pub detail: Detail,
    /// Whether any row that was folded is not what it should be.
    flawed: AtomicBool,
    /// The first work that failed and that an answer could do without.
    fault: OnceLock<Failure>,
    promise: Promise,
}

impl RequestData {
    pub(super) fn new(
        served: Arc<ServedEnsemble>,
        parts: Vec<Part>,
        rule: Arc<dyn CombinationRule>,
        graph: Option<PipelineRows>,
        member_sample: Option<MemberSample>,
        detail: Detail,
        promise: Promise,
    ) -> Self {
        RequestData {
            served,
            parts,
            rule,
            graph,
            member_sample,
            detail,
            runs: None,
            held: None,
            flawed: AtomicBool::new(false),
            fault: OnceLock::new(),
            promise,
        }
    }

    /// The same, with a log of the runs of its steps, if there is one.
    pub(super) fn logging(self, runs: Option<RunLog>) -> Self {
        RequestData { runs, ..self }
    }

    /// The same, with its samples outside of the pool, if they are.
    pub(super) fn holding(self, held: Option<HeldSamples>) -> Self {
        RequestData { held, ..self }
    }

    /// Returns its samples.
    pub(super) fn samples(&self) -> RequestSamples<'_> {
        RequestSamples::new(&self.served.storage, self.held.as_ref())
    }

    /// Copies the samples of a batch's range to `to`, as its model takes them.
    pub(super) fn read(&self, range: &Range, slice: Slice, to: &mut [f32]) {
        let (samples, from) = (self.samples(), (range.part, range.first));
        match &self.graph {
            Some(graph) if graph.is_gathered(range.plane) => {
                graph.gather(samples, from, range.plane, to);
            }
            _ => samples.read(from, slice, range.plane, to),
        }
    }

    /// Copies results of steps to `to`, as a plane has them.
    pub(super) fn gather(&self, from: (usize, usize), plane: usize, to: &mut [f32]) {
        if let Some(graph) = &self.graph {
            graph.gather(self.samples(), from, plane, to);
        }
    }

    /// Returns the values of a row of a plane that is made of results of steps.
    pub(super) fn gathered_width(&self, plane: usize) -> usize {
        self.graph
            .as_ref()
            .map_or(0, |graph| graph.gathered_width(plane))
    }

    /// Whether the samples of a plane are results of steps and do not lie in the pool.
    pub(super) fn is_gathered(&self, plane: usize) -> bool {
        self.graph
            .as_ref()
            .is_some_and(|graph| graph.is_gathered(plane))
    }

    /// Returns those rows of a range that have no result because a model answered NaN or infinities, where
    /// the answer may do without them.
    pub(super) fn lacking(&self, range: &Range) -> Option<RowSet> {
        let is_doubtful = self.is_flawed() && !self.served.non_finite;
        let graph = self.graph.as_ref().filter(|_| is_doubtful)?;
        let is_spared = graph.is_spared(range.step);
        is_spared.then(|| graph.not_finite(range)).flatten()
    }

    /// A step has failed for some rows.
    pub(super) fn log_failure(&self, step: StepIndex, why: Code) {
        if let Some(log) = &self.runs {
            log.failed(step, why);
        }
    }

    /// Work failed that an answer could do without.
    pub(super) fn note_fault(&self, why: &Failure) {
        let _ = self.fault.set(why.clone());
    }

    /// Returns the first work that failed and that an answer could do without.
    pub(super) fn fault(&self) -> Option<&Failure> {
        self.fault.get()
    }

    /// A row is not what it should be; its part says which.
    fn note_flaw(&self) {
        self.flawed.store(true, Ordering::Relaxed);
    }

    /// Whether any row is not what it should be.
    pub(super) fn is_flawed(&self) -> bool {
        self.flawed.load(Ordering::Relaxed)
    }

    /// Whether the rows of its answer have a form that nothing holds a pipeline to.
    pub(super) fn must_be_boxes(&self) -> bool {
        let answers = self.served.ensemble.answers;
        self.graph.is_some() && answers.boxes().is_some()
    }

    /// Returns the step whose result is no boxes though the pipeline answers such, and why it is none.
    pub(super) fn box_fault(&self) -> Option<(String, String)> {
        let answers = self.served.ensemble.answers;
        let (graph, boxes) = (self.graph.as_ref()?, answers.boxes()?);
        let answer = graph.whole_answer(self.samples())?;
        let mut rows = answer.rows();
        let why = rows.find_map(|row| boxes.fault(row, answers.count()))?;
        Some((graph.first_output()?.to_owned(), why))
    }

    /// Answers; a second call does nothing but being counted.
    pub(super) fn answer(&self, outcome: Outcome) {
        self.promise.keep(outcome);
    }

    /// Its caller took it back.
    pub(super) fn withdraw(&self) {
        self.promise.withdraw();
    }
}

/// A request as batches and steps carry it.
pub(crate) type Payload = Arc<RequestData>;

/// A batch of live requests.
pub(crate) type LiveBatch = Batch<Arc<RequestData>>;

/// The next thing for a device to do.
pub(crate) type LiveNext = Next<Arc<RequestData>>;

/// A live request that is over.
pub(crate) type LiveFinished = Finished<Arc<RequestData>>;

/// Live requests that are over.
pub(crate) type LiveOwed = Owed<Arc<RequestData>>;

/// The answers of a batch: `[samples, width]` row after row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchOutput<'a> {
    /// The values.
    pub rows: &'a [f32],
    /// Values of a row.
    pub width: usize,
    /// The kind of numbers that the member returns; where they are declared to be
    /// probabilities, it is held to it.
    pub outputs: OutputKind,
}

impl BatchOutput<'_> {
    /// Folds the answers into the requests of `batch`.
    ///
    /// # Errors
    /// A combination rule panicked.
    pub(super) fn fold(&self, batch: &LiveBatch) -> Result<(), RulePanicked> {
        Ok(caught(|| self.fold_all(batch))?)
    }

    fn fold_all(&self, batch: &LiveBatch) {
        let width = self.width;
        let mut at = 0;
        for placed in &batch.ranges {
            let range = placed.range;
            let end = at + range.len * width;
            let data = &placed.payload;
            let member = data.served.member_at(batch.member);
            let rows = &self.rows[at..end];
            if let Some(member_sample) = &data.member_sample {
                member_sample.keep(member, &range, rows);
            }
            let (part, first) = (&data.parts[range.part], range.first);
            if let Some(graph) = &data.graph {
                let finite = part.check_finite(member, first, rows, width);
                let exact = graph.keep(&range, rows);
                if !finite {
                    graph.note_not_finite(range.step);
                }
                if !finite || !exact {
                    data.note_flaw();
                }
                if !exact {
                    data.log_failure(range.step, Code::AnswerInexact);
                } else if !finite && !data.served.non_finite {
                    data.log_failure(range.step, Code::MemberNotFinite);
                }
                at = end;
                continue;
            }
            let sound = part.fold(data.rule.as_ref(), member, first, rows, width);
            let outputs = self.outputs;
            let kept =
                !outputs.is_declared() || part.check_declared(outputs, member, first, rows, width);
            if !sound || !kept {
                data.note_flaw();
            }
            at = end;
        }
    }
}
