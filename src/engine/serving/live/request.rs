//! Requests: the client's call, its outcome, and the engine's data in between. Also the answers of
//! a batch on their way to the requests.

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
use divisi_model::metrics::RequestOrigin;

use super::graph::PipelineRows;
use super::member_sampler::MemberSample;
use super::promise::{Failure, Outcome, Promise, RulePanicked, caught};
use super::run_log::{RunListener, RunLog};
use super::samples::{HeldSamples, RequestSamples, SharedSamples};
use super::served::ServedEnsemble;

/// A client's call: samples, row after row, and options.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The samples, row after row.
    pub values: SampleValues<'a>,
    /// The memory of all samples, if the engine may read it while the request is under way.
    pub memory: Option<&'a SharedSamples>,
    /// The time until the request fails, or `None`.
    pub deadline: Option<Duration>,
    /// The time since the request was due. Its latency counts from then.
    pub late: Duration,
    /// The samples' targets and the number of the first sample among them, or `None` if they are
    /// unknown. Members are weighed by them.
    pub targets: Option<(&'a Targets, usize)>,
    /// The requested detail of the answer.
    pub detail: Detail,
    /// The requested outputs of a pipeline, in this order. All if empty.
    pub outputs: &'a [usize],
    /// The requested entry of the catalogue.
    pub pipeline: PipelineIndex,
    /// The priority, if the entry has priorities. 0 is the default.
    pub priority: u64,
    /// The longest wait for the first batch, if the entry allows the request to set one.
    pub patience: Option<Duration>,
    /// The time until the answer is due. Requests of one priority run in the order of their due
    /// times, after requests without one.
    pub due: Option<Duration>,
    /// If set, the answer lists the runs of its steps, and the listener receives the other runs.
    pub runs: Option<&'a RunListener>,
    /// The place of the request in the ledger.
    pub accounting: Accounting,
    /// The client's part, or `None` if the request comes from this process.
    pub origin: Option<&'a RequestOrigin>,
}

/// How a request counts in the ledger: in its errors, and for the service objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accounting {
    /// The engine records an error.
    #[default]
    Engine,
    /// The sender records an error; the engine counts an answer for the objective.
    Sender,
    /// The request is no client's, like the rows of a job or of a warm-up: it does not count.
    Apart,
}

impl<'a> Request<'a> {
    /// Creates a request without a deadline.
    pub fn new(values: &'a [f32]) -> Self {
        Request::from_values(values.into())
    }

    /// Creates a request without a deadline whose samples may stay in place while it is under way.
    pub fn shared(memory: &'a SharedSamples) -> Self {
        Request {
            memory: Some(memory),
            ..Request::from_values(memory.values())
        }
    }

    /// Creates a request without a deadline from numbers or bytes.
    pub fn from_values(values: SampleValues<'a>) -> Self {
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
            accounting: Accounting::default(),
            origin: None,
        }
    }

    /// Requests only some outputs of a pipeline. Steps that only other outputs need do not run.
    #[must_use]
    pub fn asking(self, outputs: &'a [usize]) -> Self {
        Request { outputs, ..self }
    }

    /// Sets the detail of the answer.
    #[must_use]
    pub fn detailed(self, detail: Detail) -> Self {
        Request { detail, ..self }
    }

    /// Sets the entry of the catalogue.
    #[must_use]
    pub fn to(self, pipeline: PipelineIndex) -> Self {
        Request { pipeline, ..self }
    }

    /// Sets the time until the request fails.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Request {
            deadline: Some(within),
            ..self
        }
    }
}

/// A request under way.
pub(crate) struct RequestData {
    /// The entry of the catalogue.
    pub served: Arc<ServedEnsemble>,
    pub parts: Vec<Part>,
    /// The combination rule at admission, so that one rule combines the whole request.
    pub rule: Arc<dyn CombinationRule>,
    /// The results of steps, for a pipeline.
    pub graph: Option<PipelineRows>,
    /// The members' answers, for the few requests that weigh members.
    pub member_sample: Option<MemberSample>,
    /// The runs of its steps, if they were requested.
    pub(super) runs: Option<RunLog>,
    /// The samples, if they are outside the pool.
    pub(super) held: Option<HeldSamples>,
    /// The requested detail of the answer.
    pub detail: Detail,
    /// The place in the ledger.
    pub(super) accounting: Accounting,
    /// The client's part.
    origin: Option<RequestOrigin>,
    /// Whether any folded row was flawed.
    flawed: AtomicBool,
    /// The first failure that an answer could do without.
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
            accounting: Accounting::default(),
            origin: None,
            runs: None,
            held: None,
            flawed: AtomicBool::new(false),
            fault: OnceLock::new(),
            promise,
        }
    }

    /// Sets the place in the ledger.
    pub(super) fn accounted(self, accounting: Accounting) -> Self {
        RequestData { accounting, ..self }
    }

    /// Sets the client's part.
    pub(super) fn sent_by(self, origin: Option<&RequestOrigin>) -> Self {
        RequestData {
            origin: origin.cloned(),
            ..self
        }
    }

    /// Returns the client's part, or `None` if the request comes from this process.
    pub(super) fn origin(&self) -> Option<&RequestOrigin> {
        self.origin.as_ref()
    }

    /// Adds a log of the runs of its steps, if there is one.
    pub(super) fn logging(self, runs: Option<RunLog>) -> Self {
        RequestData { runs, ..self }
    }

    /// Adds its samples outside the pool, if there are any.
    pub(super) fn holding(self, held: Option<HeldSamples>) -> Self {
        RequestData { held, ..self }
    }

    /// Returns the samples.
    pub(super) fn samples(&self) -> RequestSamples<'_> {
        RequestSamples::new(&self.served.storage, self.held.as_ref())
    }

    /// Copies the samples of a batch's range to `to`, in the layout of its model's input.
    pub(super) fn read(&self, range: &Range, slice: Slice, to: &mut [f32]) {
        let (samples, part, first) = (self.samples(), range.part, range.first);
        match &self.graph {
            Some(graph) if graph.is_gathered(range.plane) => {
                graph.gather(samples, part, first, range.plane, to);
            }
            _ => samples.read(part, first, slice, range.plane, to),
        }
    }

    /// Copies results of steps to `to`, in the layout of a plane.
    pub(super) fn gather(&self, part: usize, first: usize, plane: usize, to: &mut [f32]) {
        if let Some(graph) = &self.graph {
            graph.gather(self.samples(), part, first, plane, to);
        }
    }

    /// Returns the values of a row of a plane gathered from results of steps.
    pub(super) fn gathered_width(&self, plane: usize) -> usize {
        self.graph
            .as_ref()
            .map_or(0, |graph| graph.gathered_width(plane))
    }

    /// Returns whether a plane is gathered from results of steps and is not in the pool.
    pub(super) fn is_gathered(&self, plane: usize) -> bool {
        self.graph
            .as_ref()
            .is_some_and(|graph| graph.is_gathered(plane))
    }

    /// Returns the rows of a range without a result because a model answered NaN or infinities, if
    /// the answer can do without them.
    pub(super) fn lacking(&self, range: &Range) -> Option<RowSet> {
        let is_doubtful = self.is_flawed() && !self.served.non_finite;
        let graph = self.graph.as_ref().filter(|_| is_doubtful)?;
        let is_spared = graph.is_spared(range.step);
        is_spared.then(|| graph.not_finite(range)).flatten()
    }

    /// Records that a step failed for some rows.
    pub(super) fn log_failure(&self, step: StepIndex, why: Code) {
        if let Some(log) = &self.runs {
            log.failed(step, why);
        }
    }

    /// Records a failure that an answer could do without.
    pub(super) fn note_fault(&self, why: &Failure) {
        let _ = self.fault.set(why.clone());
    }

    /// Returns the first failure that an answer could do without.
    pub(super) fn fault(&self) -> Option<&Failure> {
        self.fault.get()
    }

    /// Records that a row is flawed. Its part has the details.
    fn note_flaw(&self) {
        self.flawed.store(true, Ordering::Relaxed);
    }

    /// Returns whether any row is flawed.
    pub(super) fn is_flawed(&self) -> bool {
        self.flawed.load(Ordering::Relaxed)
    }

    /// Returns whether the rows of the answer must be checked as boxes, because the pipeline does
    /// not ensure their form.
    pub(super) fn must_be_boxes(&self) -> bool {
        let answers = self.served.ensemble.answers;
        self.graph.is_some() && answers.boxes().is_some()
    }

    /// Returns the step whose result is not valid boxes although the pipeline answers boxes, and
    /// the reason.
    pub(super) fn box_fault(&self) -> Option<(String, String)> {
        let answers = self.served.ensemble.answers;
        let (graph, boxes) = (self.graph.as_ref()?, answers.boxes()?);
        let answer = graph.whole_answer(self.samples())?;
        let mut rows = answer.rows();
        let why = rows.find_map(|row| boxes.fault(row, answers.count()))?;
        Some((graph.first_output()?.to_owned(), why))
    }

    /// Answers the request. A second call is only counted.
    pub(super) fn answer(&self, outcome: Outcome) {
        self.promise.keep(outcome);
    }

    /// Withdraws the request for its caller.
    pub(super) fn withdraw(&self) {
        self.promise.withdraw();
    }
}

/// A request as carried by batches and steps.
pub(crate) type Payload = Arc<RequestData>;

/// A batch of live requests.
pub(crate) type LiveBatch = Batch<Arc<RequestData>>;

/// The next work for a device.
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
    /// The kind of numbers that the member returns. Declared probabilities are checked.
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
