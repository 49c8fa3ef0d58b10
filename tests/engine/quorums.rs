//! Quorums beside failures: an answer does without a member that fails, as without one that is late, and
//! fails by that member's name where too few are left.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::serving::{BuildError, Engine, Failure, PredictorFactory, Request};
use divisi_model::dataflow::{
    Dataflow, FlowStep, PartProgress, RowJoin, RowSet, StepIndex, StepReport, StepWork,
};
use divisi_model::ensemble::{BatchSize, ComputedMember, Ensemble, Files};
use divisi_model::metrics::LatencySplit;
use divisi_runtime::compute::{Predictor, write_rows};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::device::ThreadTeam;

use crate::common::start;
use crate::flaws::not_finite;
use crate::folder::Folder;
use crate::wait::wait_until;

/// The mean of two of three members; `c` is read through a step that divides by `scale`.
fn pipeline(scale: f32) -> Arc<Ensemble> {
    let member = |name: &str| {
        format!(
            "[[members]]\nname = \"{name}\"\nnetwork = {{ builder = \"perceptron\", hidden = [] }}\n"
        )
    };
    let step = |name: &str| {
        format!("[[steps]]\nmodel = \"{name}\"\ninputs = \"input\"\noutputs = \"of-{name}\"\n")
    };
    let text = format!(
        "name = \"q\"\nanswers = {{ values = 2 }}\noutputs = [\"out\"]\n[input]\nshape = [2]\n\
         {}{}[[steps]]\nhost = \"normalise\"\ninputs = \"of-c\"\noutputs = \"scaled\"\nscale = {scale:?}\n\
         [[steps]]\nhost = \"mean\"\ninputs = [\"of-a\", \"of-b\", \"scaled\"]\noutputs = \"out\"\n\
         quorum = 2\nwait_ms = 60000\n",
        ["a", "b", "c"].map(member).concat(),
        ["a", "b", "c"].map(step).concat(),
    );
    let folder = Folder::new();
    folder.write("pipeline.toml", text.as_bytes());
    Arc::new(Ensemble::read(&Files::from_path(folder.path())).expect("a pipeline"))
}

/// The answer of a member to each row.
#[derive(Clone, Copy)]
enum Answers {
    Value(f32),
    /// A value for the first row's first class, and another one for all others.
    First(f32, f32),
    Panics,
}

impl Predictor for Answers {
    fn predict(
        &mut self,
        _rows: usize,
        _input: &candle_core::Tensor,
        output: &candle_core::Tensor,
    ) -> Result<(), divisi_runtime::compute::ComputeError> {
        write_rows(output, |rows| match *self {
            Answers::Value(value) => rows.fill(value),
            Answers::First(first, value) => {
                rows.fill(value);
                rows[0] = first;
            }
            Answers::Panics => panic!("on purpose"),
        })
    }
}

struct Members([Answers; 3]);

impl PredictorFactory for Members {
    fn build(
        &self,
        network: ComputedMember,
        _size: BatchSize,
        _pool: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        Ok(Box::new(self.0[network.member.get()]))
    }
}

fn serve(scale: f32, members: [Answers; 3]) -> Engine {
    start(&pipeline(scale), Arc::new(Members(members)))
}

/// Two samples, of which the first may be answered NaN.
const SAMPLES: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

#[test]
fn an_answer_does_without_the_member_that_fails() {
    use Answers::{First, Panics, Value};
    // The answers of the members, the steps that are missing, and the first value of both rows.
    let cases = [
        (
            1.0,
            [Value(1.0), Value(3.0), Value(8.0)],
            &[][..],
            [4.0, 4.0],
        ),
        (
            1.0,
            [First(f32::NAN, 1.0), Value(3.0), Value(8.0)],
            &["a"],
            [5.5, 4.0],
        ),
        (
            1.0,
            [Value(1.0), Value(3.0), First(f32::NAN, 8.0)],
            &["c", "normalise"],
            [2.0, 4.0],
        ),
        (1.0, [Panics, Value(3.0), Value(8.0)], &["a"], [5.5, 5.5]),
        // The host fails for both rows, and then for one.
        (
            3e38,
            [Value(1.0), Value(3.0), Value(8.0)],
            &["normalise"],
            [2.0, 2.0],
        ),
        (
            2.0,
            [Value(1.0), Value(3.0), First(3e38, 7.0)],
            &["normalise"],
            [2.0, 6.0],
        ),
    ];
    for (case, (scale, members, missing, expected)) in cases.into_iter().enumerate() {
        let engine = serve(scale, members);
        let answer = engine.predict(Request::new(&SAMPLES)).expect("let in");
        let answer = answer.unwrap_or_else(|why| panic!("case {case}: {why}"));
        assert_eq!(answer.missing().names, missing, "case {case}");
        let first: Vec<f32> = answer.rows().map(|row| row[0]).collect();
        assert_eq!(first, expected, "case {case}");
        wait_until("the pool is empty", || engine.telemetry().pooled() == 0);
    }
}

#[test]
fn a_request_fails_by_the_members_of_a_quorum_that_is_not_met() {
    use Answers::{First, Panics, Value};
    let engine = serve(
        1.0,
        [First(f32::NAN, 1.0), First(f32::NAN, 3.0), Value(8.0)],
    );
    let outcome = engine.predict(Request::new(&SAMPLES)).expect("let in");
    let both = vec![not_finite("a", 1), not_finite("b", 1)];
    assert_eq!(outcome, Err(Failure::NotFinite(both)));
    wait_until("the pool is empty", || engine.telemetry().pooled() == 0);
    let engine = serve(1.0, [Panics, First(f32::NAN, 3.0), Value(8.0)]);
    let outcome = engine.predict(Request::new(&SAMPLES)).expect("let in");
    assert!(
        matches!(&outcome, Err(Failure::Worker(why)) if why.contains("worker `a`")),
        "{outcome:?}"
    );
}

fn model(member: usize, needs: &[u16]) -> FlowStep {
    FlowStep {
        work: StepWork::Model {
            member: MemberIndex::new(member),
            plane: 0,
        },
        needs: needs.iter().map(|&need| StepIndex::new(need)).collect(),
        join: RowJoin::All,
    }
}

fn quorum(needs: &[u16], least: usize, wait: u64) -> FlowStep {
    let wait = Duration::from_millis(wait);
    FlowStep {
        work: StepWork::Host,
        join: RowJoin::Quorum { least, wait },
        ..model(0, needs)
    }
}

/// A part of a request of two rows, and what its last event reported.
struct Course {
    flow: Dataflow,
    part: PartProgress,
    report: StepReport,
}

impl Course {
    fn of(steps: Vec<FlowStep>) -> Self {
        let last = steps.len() - 1;
        let flow = Dataflow::new(steps, &[last]).expect("a graph");
        let mut report = StepReport::default();
        let part = PartProgress::begin(&flow, flow.all_steps(), 2, Duration::ZERO, &mut report);
        Course { flow, part, report }
    }

    /// A model has run, and failed for some rows.
    fn ran(&mut self, step: u16, failed: &[usize]) {
        self.report.clear();
        let step = StepIndex::new(step);
        let failed = RowSet::filter(2, |row| failed.contains(&row));
        self.part.record_failed_rows(step, &failed);
        let (flow, report) = (&self.flow, &mut self.report);
        self.part
            .record_rows(flow, step, 2, LatencySplit::default, report);
    }

    /// The host has made what it can.
    fn made(&mut self, step: u16) {
        self.report.clear();
        let step = StepIndex::new(step);
        let rows = self.part.rows_of(step).clone();
        let report = &mut self.report;
        self.part
            .record_host_result(&self.flow, step, rows, Duration::ZERO, report);
    }

    fn waited(&mut self, millis: u64) {
        self.report.clear();
        let waited = Duration::from_millis(millis);
        self.part
            .lose_patience(&self.flow, waited, &mut self.report);
    }

    fn is_ready(&self, step: u16) -> bool {
        self.report.ready.contains(&StepIndex::new(step))
    }
}

fn models(count: usize) -> Vec<FlowStep> {
    (0..count).map(|member| model(member, &[])).collect()
}

#[test]
fn a_quorum_is_met_where_other_members_have_failed_for_other_rows() {
    let voters = quorum(&[0, 1, 2, 3], 2, 50);
    let mut course = Course::of([models(4), vec![voters]].concat());
    course.ran(0, &[0]);
    course.ran(2, &[]);
    course.ran(3, &[1]);
    assert!(!course.is_ready(4), "all are waited for");
    course.waited(50);
    assert!(course.is_ready(4));
    let late = [3, 1, 0].map(StepIndex::new);
    assert_eq!(course.report.late, late);
}

#[test]
fn a_quorum_that_cannot_be_met_any_more_fails_the_request_at_once() {
    let voters = quorum(&[0, 1, 2], 2, 50);
    let mut course = Course::of([models(3), vec![voters]].concat());
    course.ran(0, &[0]);
    assert!(!course.report.unmet, "two are left");
    course.ran(1, &[1]);
    assert!(!course.report.unmet, "each row has two of three still");
    course.ran(2, &[1]);
    assert!(course.report.unmet);
    let mut course = Course::of([models(3), vec![quorum(&[0, 1, 2], 2, 50)]].concat());
    course.ran(0, &[0]);
    course.ran(1, &[0]);
    assert!(course.report.unmet, "the third is not waited for");
}

#[test]
fn a_quorum_does_without_one_that_is_not_met() {
    let inner = quorum(&[0, 1], 1, 50);
    let outer = quorum(&[4, 2, 3], 2, 50);
    let mut course = Course::of([models(4), vec![inner, outer]].concat());
    course.ran(0, &[0]);
    course.ran(1, &[0]);
    assert!(
        course.is_ready(4) && !course.report.unmet,
        "one row is left"
    );
    assert_eq!(course.report.late, [1, 0].map(StepIndex::new));
    course.made(4);
    course.ran(2, &[]);
    course.ran(3, &[]);
    assert!(course.is_ready(5) && !course.report.unmet);
    assert_eq!(course.report.late, [StepIndex::new(4)]);
    assert!(course.part.rows_of(StepIndex::new(5)).is_all());
}
