//! Pipelines: what is written becomes a graph or an error that names the place; served, they answer
//! as the same graph computed row by row without any engine.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use divisi_engine::serving::{
    BuildError, Engine, EngineOptions, Failure, FakeFactory, PredictorFactory, Request,
};
use divisi_engine::simulation::{Scenario, Workload, simulate};
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::{
    AnswerKind, AnswerWidth, BatchSize, BoxCount, ComputedMember, Ensemble, Files, PolicyKind,
    Threshold,
};
use divisi_model::pipeline::StepCondition;
use divisi_model::profile::Costs;
use divisi_runtime::compute::{Predictor, host_rows, read_rows, write_rows};
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{Devices, MemberIndex};
use proptest::prelude::*;

use crate::common::{everywhere, networks, reload, start};
use crate::flaws::not_finite;
use crate::folder::Folder;
use crate::wait::{LIMIT, wait_until};

/// Three small networks of four numbers, any of which can follow any other.
const MODELS: &str = r#"
name = "p"
answers = { values = 4 }
segment_size = 16
batch_sizes = [1, 8]

[input]
shape = [4]

[[members]]
name = "a"
network = { builder = "perceptron", hidden = [8] }
[[members]]
name = "b"
network = { builder = "perceptron", hidden = [4] }
[[members]]
name = "c"
network = { builder = "perceptron", hidden = [16, 8] }
"#;

fn read(steps: &str) -> Result<Ensemble, String> {
    let folder = Folder::new();
    // Fields of the whole manifest stand before its tables.
    let (outputs, steps) = steps.split_once('\n').expect("a line of outputs");
    folder.write(
        "pipeline.toml",
        format!("{outputs}\n{MODELS}\n{steps}").as_bytes(),
    );
    Ensemble::read(&Files::from_path(folder.path())).map_err(|e| e.to_string())
}

/// Computes rows of members one at a time.
struct Alone(HashMap<MemberIndex, Box<dyn Predictor>>);

impl Alone {
    fn new(ensemble: &Arc<Ensemble>) -> Self {
        let factory = networks(ensemble);
        let size = BatchSize::new(1).expect("a size");
        let build = |member| {
            let built = factory.build(ensemble.network(member), size, None);
            built.expect("builds")
        };
        let members = MemberIndex::all(ensemble.members.len());
        Alone(members.map(|m| (m, build(m))).collect())
    }

    fn row(&mut self, member: MemberIndex, row: &[f32]) -> Vec<f32> {
        let (from, to) = (
            host_rows(1, 4).expect("memory"),
            host_rows(1, 4).expect("memory"),
        );
        write_rows(&from, |rows| rows.copy_from_slice(row)).expect("written");
        let predictor = self.0.get_mut(&member).expect("a member");
        predictor.predict(1, &from, &to).expect("predicted");
        let mut answer = Vec::new();
        read_rows(&to, |rows| answer = rows.to_vec()).expect("read");
        answer
    }
}

/// Serves on two devices by the batch sizes of each.
fn start_by(
    ensemble: &Arc<Ensemble>,
    factory: Arc<dyn PredictorFactory>,
    rows: [[i64; 3]; 2],
) -> Engine {
    let devices = crate::common::two_devices();
    let frame = crate::common::frame(ensemble, &devices);
    let matrix = Matrix::from_rows(frame, &rows.map(Vec::from)).expect("valid");
    let options = EngineOptions::default();
    let started = Engine::start(Arc::clone(ensemble), devices, &matrix, factory, options);
    started.expect("starts")
}

fn samples(count: usize) -> Vec<f32> {
    let at = |i: usize| ((i as f32 * 0.7548).fract() - 0.5) * 4.0;
    (0..count * 4).map(at).collect()
}

/// A random pipeline as it is written, with an answer that always exists.
fn written() -> impl Strategy<Value = String> {
    let index = any::<prop::sample::Index>;
    let step = (
        0usize..7,
        index(),
        index(),
        prop::option::of((index(), -1.0f32..1.0)),
    );
    prop::collection::vec(step, 1..9).prop_map(|drawn| {
        let mut tensors = vec!["input".to_owned()];
        let mut steps = Vec::new();
        for (at, (kind, one, other, when)) in drawn.into_iter().enumerate() {
            let [one, other] = [one, other].map(|t| tensors[t.index(tensors.len())].clone());
            let work = match kind {
                0..3 => format!("model = \"{}\"\ninputs = \"{one}\"", ["a", "b", "c"][kind]),
                3 => format!("host = \"softmax\"\ninputs = \"{one}\""),
                4 => format!("host = \"sigmoid\"\ninputs = \"{one}\""),
                5 => format!("host = \"mean\"\ninputs = [\"{one}\", \"{other}\"]"),
                _ => format!("host = \"first\"\ninputs = [\"{one}\", \"{other}\"]"),
            };
            let when = when.map(|(t, bound)| {
                let tensor = &tensors[t.index(tensors.len())];
                format!("when = \"max({tensor}) < {bound}\"\n")
            });
            let when = when.unwrap_or_default();
            steps.push(format!(
                "[[steps]]\nname = \"s{at}\"\n{work}\noutputs = \"t{at}\"\n{when}"
            ));
            tensors.push(format!("t{at}"));
        }
        // Whoever is written later may be read by whoever is written earlier.
        steps.reverse();
        let last = tensors.last().expect("a tensor");
        let end = format!(
            "[[steps]]\nname = \"end\"\nhost = \"first\"\ninputs = [\"{last}\", \"input\"]\n\
             outputs = \"answer\"\n"
        );
        format!("outputs = [\"answer\"]\n{end}{}", steps.join("\n"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_pipeline_answers_as_the_same_graph_row_by_row(
        text in written(), sizes in prop::collection::vec(1usize..40, 1..5),
    ) {
        let ensemble = Arc::new(read(&text).expect("a pipeline"));
        let pipeline = ensemble.pipeline.clone().expect("has steps");
        let engine = start(&ensemble, networks(&ensemble));
        let mut alone = Alone::new(&ensemble);
        let all = samples(40);
        let requests: Vec<_> = sizes.iter().map(|n| {
            (*n, engine.submit(Request::new(&all[..n * 4])).expect("let in"))
        }).collect();
        for (count, pending) in requests {
            let answer = pending.wait().expect("answered");
            prop_assert_eq!(answer.len(), count);
            for (row, sample) in answer.rows().zip(all.chunks_exact(4)) {
                let expected = pipeline.answer(sample, |member, row| alone.row(member, row));
                for (found, expected) in row.iter().zip(&expected) {
                    prop_assert!((found - expected).abs() < 1e-5, "{:?} {:?}", row, expected);
                }
            }
        }
        prop_assert_eq!(engine.telemetry().pooled(), 0);
    }
}

const CASCADE: &str = r#"outputs = ["answer"]
[[steps]]
model = "a"
inputs = "input"
outputs = "x"
[[steps]]
model = "b"
inputs = "x"
outputs = "y"
when = "max(x) > 0"
[[steps]]
host = "first"
inputs = ["y", "x"]
outputs = "answer"
"#;

#[test]
fn workers_may_come_and_go_while_requests_are_between_two_steps() {
    let ensemble = Arc::new(read(CASCADE).expect("a pipeline"));
    let engine = start(&ensemble, networks(&ensemble));
    let full = engine.matrix();
    let half = {
        let rows = vec![vec![8; 3], vec![0; 3]];
        let frame = crate::common::frame(&ensemble, engine.devices());
        Matrix::from_rows(frame, &rows).expect("valid")
    };
    let expected = engine.predict(Request::new(&samples(30))).expect("let in");
    let expected = expected.expect("answered");
    for round in 0..6 {
        let pending: Vec<_> = (0..20)
            .map(|_| engine.submit(Request::new(&samples(30))).expect("let in"))
            .collect();
        reload(&engine, if round % 2 == 0 { &half } else { &full }).expect("reloads");
        for pending in pending {
            let answer = pending.wait().expect("answered");
            for (found, expected) in answer.rows().zip(expected.rows()) {
                let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
                assert!(apart.fold(0.0, f32::max) < 1e-5);
            }
        }
    }
}

/// The factory of networks, but for one member whose batches end when a test opens the gate.
struct Hanging(Arc<dyn PredictorFactory>, MemberIndex, Arc<Gate>);

struct Hangs(Arc<Gate>);

/// A gate that is closed until a test opens it.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn open(&self) {
        *self.0.lock().expect("no panic") = true;
        self.1.notify_all();
    }

    /// Waits until it is open, or the test has failed.
    fn pass(&self) {
        let open = self.0.lock().expect("no panic");
        drop(self.1.wait_timeout_while(open, LIMIT, |open| !*open));
    }
}

impl Predictor for Hangs {
    fn predict(
        &mut self,
        _rows: usize,
        _input: &candle_core::Tensor,
        _output: &candle_core::Tensor,
    ) -> Result<(), divisi_runtime::compute::ComputeError> {
        self.0.pass();
        Ok(())
    }
}

impl PredictorFactory for Hanging {
    fn build(
        &self,
        network: ComputedMember,
        size: BatchSize,
        pool: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        match network.member == self.1 {
            true => Ok(Box::new(Hangs(Arc::clone(&self.2)))),
            false => self.0.build(network, size, pool),
        }
    }
}

const QUORUM: &str = r#"outputs = ["answer"]
[[steps]]
model = "a"
inputs = "input"
outputs = "x"
[[steps]]
model = "b"
inputs = "input"
outputs = "y"
[[steps]]
model = "c"
inputs = "input"
outputs = "z"
[[steps]]
host = "mean"
inputs = ["x", "y", "z"]
outputs = "answer"
quorum = 2
wait_ms = 50
"#;

#[test]
fn a_quorum_answers_without_the_member_that_is_late() {
    let ensemble = Arc::new(read(QUORUM).expect("a pipeline"));
    let late = MemberIndex::new(2);
    let gate = Arc::new(Gate::default());
    let factory = Arc::new(Hanging(networks(&ensemble), late, Arc::clone(&gate)));
    let engine = start_by(&ensemble, factory, [[8, 8, 0], [0, 0, 8]]);
    let begin = std::time::Instant::now();
    let answer = engine.predict(Request::new(&samples(3))).expect("let in");
    let answer = answer.expect("answered");
    assert!(
        begin.elapsed() >= Duration::from_millis(50),
        "all are waited for"
    );
    // The gate was closed: the answer came without the late one.
    gate.open();
    let missing = answer.missing();
    assert_eq!(
        (&missing.names[..], missing.is_certain),
        (&["c".to_owned()][..], None)
    );
    let graphs = engine.telemetry().step_graphs();
    let late = graphs[0]
        .steps
        .iter()
        .map(|step| (&*step.name, step.stats.late));
    let expected = [("a", 0), ("b", 0), ("c", 1), ("mean", 0)];
    assert!(late.eq(expected), "{graphs:?}");
    let mut alone = Alone::new(&ensemble);
    for (row, sample) in answer.rows().zip(samples(3).chunks_exact(4)) {
        let [x, y] = [0, 1].map(|m| alone.row(MemberIndex::new(m), sample));
        for (at, found) in row.iter().enumerate() {
            assert!((found - (x[at] + y[at]) / 2.0).abs() < 1e-5);
        }
    }
}

const CHAIN: &str = r#"outputs = ["y"]
[[steps]]
model = "a"
inputs = "input"
outputs = "x"
[[steps]]
model = "b"
inputs = "x"
outputs = "y"
"#;

/// Nothing else is under way that would wake the device of the second step.
#[test]
fn a_step_that_follows_on_another_device_wakes_it() {
    let ensemble = Arc::new(read(CHAIN).expect("a pipeline"));
    let engine = start_by(&ensemble, networks(&ensemble), [[8, 0, 8], [0, 8, 0]]);
    for _ in 0..20 {
        wait_until("both devices sleep", || engine.telemetry().in_flight() == 0);
        // Longer than a thread spins before it sleeps.
        std::thread::sleep(Duration::from_millis(1));
        let sample = samples(1);
        let request = Request::new(&sample).within(Duration::from_secs(60));
        let answer = engine.predict(request).expect("let in");
        answer.expect("the second device was woken");
    }
}

#[test]
fn a_pipeline_ends_in_virtual_time() {
    for text in [CASCADE, QUORUM] {
        let ensemble = Arc::new(read(text).expect("a pipeline"));
        let profile = find_profile("v100").expect("a profile");
        let devices = Devices::simulated(&profile, 2);
        let scene = Scenario {
            matrix: everywhere(&ensemble, &devices),
            costs: Arc::new(Costs::of_laws(&ensemble, &devices)),
            policy: PolicyKind::NoWait,
            demand: ensemble.into(),
            devices,
        };
        let report = simulate(&scene, Workload::Saturate { samples: 100 }).expect("ends");
        assert_eq!(report.samples, 100);
    }
}

#[test]
fn a_model_that_answers_nan_fails_the_request_by_its_name() {
    struct Broken;
    impl Predictor for Broken {
        fn predict(
            &mut self,
            _rows: usize,
            _input: &candle_core::Tensor,
            output: &candle_core::Tensor,
        ) -> Result<(), divisi_runtime::compute::ComputeError> {
            write_rows(output, |rows| rows.fill(f32::NAN))
        }
    }
    struct Factory(FakeFactory);
    impl PredictorFactory for Factory {
        fn build(
            &self,
            network: ComputedMember,
            size: BatchSize,
            pool: Option<Arc<ThreadTeam>>,
        ) -> Result<Box<dyn Predictor>, BuildError> {
            match network.member.get() {
                0 => Ok(Box::new(Broken)),
                _ => self.0.build(network, size, pool),
            }
        }
    }
    let ensemble = Arc::new(read(CASCADE).expect("a pipeline"));
    let engine = start(&ensemble, Arc::new(Factory(FakeFactory { classes: 4 })));
    let outcome = engine.predict(Request::new(&samples(2))).expect("let in");
    assert_eq!(outcome, Err(Failure::NotFinite(vec![not_finite("a", 2)])));
    // What was running when it failed ends after it.
    wait_until("the pool is empty", || engine.telemetry().pooled() == 0);
}

#[test]
fn a_step_that_makes_infinities_fails_the_request_by_its_name() {
    let text = "outputs = [\"answer\"]\n[[steps]]\nhost = \"normalise\"\ninputs = \"input\"\n\
                outputs = \"x\"\nscale = 1e10\n[[steps]]\nhost = \"vote\"\ninputs = \"x\"\n\
                outputs = \"answer\"\n";
    let ensemble = Arc::new(read(text).expect("a pipeline"));
    let engine = start(&ensemble, networks(&ensemble));
    let samples = [1.0, 2.0, 3.0, 4.0, 3e38, 0.0, 0.0, 0.0];
    let outcome = engine.predict(Request::new(&samples)).expect("let in");
    let failure = Failure::Step {
        step: "normalise".into(),
        reason: "NaN or infinities for 1 sample".into(),
    };
    assert_eq!(outcome, Err(failure));
}

#[test]
fn errors_name_the_file_the_step_and_the_tensor() {
    let model = |name: &str, from: &str, to: &str| {
        format!("[[steps]]\nmodel = \"{name}\"\ninputs = \"{from}\"\noutputs = \"{to}\"\n")
    };
    let host = |kind: &str, from: &str, to: &str, more: &str| {
        format!("[[steps]]\nhost = \"{kind}\"\ninputs = {from}\noutputs = {to}\n{more}\n")
    };
    let cases = [
        (
            model("d", "input", "x"),
            "steps.model: expected one of a, b, c, found `d`",
        ),
        (
            model("a", "nothing", "x"),
            "step `a`: no step makes `nothing`; expected one of input, x",
        ),
        (
            model("a", "y", "x") + &model("b", "x", "y"),
            "steps wait for each other in a cycle: a → b → a",
        ),
        (
            model("a", "input", "x") + &model("b", "input", "x"),
            "`x` is made by both `a` and `b`",
        ),
        (
            model("a", "input", "x") + &model("a", "x", "y"),
            "step `a` appears twice",
        ),
        (
            host("top-k", "\"input\"", "[\"x\", \"i\"]", "k = 2") + &model("a", "x", "y"),
            "step `a`, input `input`: expected FP32 [4], but `x` is FP32 [2]",
        ),
        (
            host("tok-k", "\"input\"", "\"x\"", ""),
            "steps.host: expected one of mean, weighted-mean, vote, first, concat, softmax, \
             sigmoid, arg-max, top-k, threshold, normalise, resize, found `tok-k`",
        ),
        (
            host("softmax", "\"input\"", "\"x\"", "k = 2"),
            "steps.k: not valid for `softmax`",
        ),
        (
            host("softmax", "\"input\"", "\"x\"", "quorum = 1"),
            "steps.quorum: not valid for `softmax`",
        ),
        (
            model("a", "input", "y") + &host("mean", "\"y\"", "\"x\"", "quorum = 2"),
            "step `mean`: expected a quorum of at most 1, the number of steps that it reads, \
             found 2",
        ),
        (
            host("softmax", "[\"input\", \"input\"]", "\"x\"", ""),
            "step `softmax`: `softmax` expects 1 inputs, found 2",
        ),
        (
            host("softmax", "\"input\"", "\"x\"", "when = \"max(input)\""),
            "steps.when: expected a comparison such as `max(probs) < 0.9`, with one of max, min, \
             sum, mean, argmax, margin, found `max(input)`",
        ),
        (
            host("softmax", "\"input\"", "\"x\"", "when = \"input > 1\""),
            "step `softmax`, when: expected one number, but `input` is FP32 [4]; compare \
             `max(input)`",
        ),
        (
            host("softmax", "\"input\"", "\"x\"", "when = \"max(input) > 1\""),
            "output `x` does not exist for samples that skip `softmax`",
        ),
    ];
    for (steps, expected) in cases {
        let error = read(&format!("outputs = [\"x\"]\n{steps}")).expect_err(expected);
        assert!(error.contains(expected), "{error}\n{expected}");
        assert!(error.contains("pipeline.toml:"), "{error}");
    }
    let error = read("outputs = [\"input\", \"x\"]\n[[steps]]\nmodel = \"a\"\noutputs = \"x\"")
        .expect_err("too wide");
    assert!(
        error.contains("outputs: expected 4 values per sample, found 8 values"),
        "{error}"
    );
}

#[test]
fn errors_of_a_field_stand_at_its_line() {
    let cases = [
        ("top-k", "k = 0", "steps.k: expected a whole number from 1"),
        ("softmax", "k = 2", "steps.k: not valid for `softmax`"),
        (
            "normalise",
            "std = 0",
            "steps.std: expected numbers above 0",
        ),
        (
            "normalise",
            "mean = nan",
            "steps.mean: expected finite numbers",
        ),
        (
            "normalise",
            "scale = inf",
            "steps.scale: expected a finite number",
        ),
        (
            "threshold",
            "at = nan",
            "steps.at: expected a finite number",
        ),
        (
            "weighted-mean",
            "weights = [0]",
            "steps.weights: expected a number above 0",
        ),
        (
            "resize",
            "size = [4, 4, 4]",
            "steps.size: expected [height, width]",
        ),
        (
            "resize",
            "size = [4]",
            "steps.size: expected [height, width]",
        ),
        (
            "resize",
            "size = [0, 4]",
            "each from 1 to 32768, found [0, 4]",
        ),
    ];
    for (kind, field, expected) in cases {
        let steps = format!(
            "outputs = [\"x\"]\n[[steps]]\nhost = \"{kind}\"\ninputs = \"input\"\noutputs = \"x\"\n{field}\n"
        );
        let error = read(&steps).expect_err(expected);
        assert!(error.contains(expected), "{error}\n{expected}");
        // The field stands in the last line: the first of steps, the models, an empty one, five of the step.
        let line = 1 + MODELS.lines().count() + 1 + 5;
        assert!(
            error.contains(&format!("pipeline.toml:{line}")),
            "{error}, line {line}"
        );
    }
}

#[test]
fn rows_that_a_pipeline_answers_as_boxes_are_boxes() {
    const TEXT: &str = "name = \"p\"\nanswers = { values = 13 }\nsegment_size = 16\nbatch_sizes = [1, 8]\n\
         outputs = [\"x\"]\n[input]\nshape = [13]\n\
         [[members]]\nname = \"a\"\nnetwork = { builder = \"perceptron\", hidden = [8] }\n\
         [[steps]]\nmodel = \"a\"\ninputs = \"input\"\noutputs = \"z\"\n\
         [[steps]]\nhost = \"concat\"\ninputs = [\"input\"]\noutputs = \"x\"\n";
    let folder = Folder::new();
    folder.write("pipeline.toml", TEXT.as_bytes());
    let ensemble = Ensemble::read(&Files::from_path(folder.path())).expect("a pipeline");
    let answers = AnswerKind::Boxes {
        count: AnswerWidth::nearest(3),
        most: BoxCount::nearest(2),
        overlap: Threshold::default(),
        least: Threshold::default(),
    };
    let ensemble = Arc::new(Ensemble {
        answers,
        ..ensemble
    });
    let engine = start(&ensemble, networks(&ensemble));
    let rows = answers.boxes().expect("boxes");
    let row = |numbers: &[f32]| {
        let mut row = vec![0.0; rows.width()];
        row[..numbers.len()].copy_from_slice(numbers);
        row
    };
    for (numbers, expected) in [
        (&[0.0][..], None),
        (&[1.0, 2.0, 0.5, 0.0, 0.0, 4.0, 4.0], None),
        (&[3.0], Some("a number of boxes from 0 to 2, found 3")),
        (&[0.5], Some("found 0.5")),
        (&[-1.0], Some("found -1")),
        (
            &[1.0, 3.0, 0.5, 0.0, 0.0, 4.0, 4.0],
            Some("box 0: expected a class from 0 to 2, found 3"),
        ),
        (&[1.0, 0.5, 0.5, 0.0, 0.0, 4.0, 4.0], Some("found 0.5")),
        (
            &[1.0, 0.0, 1.5, 0.0, 0.0, 4.0, 4.0],
            Some("scores from 0 to 1"),
        ),
        (&[1.0, 0.0, 0.5, 5.0, 0.0, 4.0, 4.0], Some("left <= right")),
        (
            &[
                2.0, 0.0, 0.5, 0.0, 0.0, 4.0, 4.0, 0.0, 0.6, 0.0, 0.0, 4.0, 4.0,
            ],
            Some("box 1: expected scores from 0 to 1 in descending order, found 0.6 after 0.5"),
        ),
    ] {
        let outcome = engine.predict(Request::new(&row(numbers))).expect("let in");
        match (expected, outcome) {
            (None, Ok(_)) => {}
            (Some(words), Err(Failure::Step { step, reason })) => {
                assert!(
                    step == "concat" && reason.contains(words),
                    "{step}: {reason}"
                );
            }
            (_, other) => panic!("{numbers:?}: {other:?}"),
        }
    }
}

/// Three values of one model, and one of another.
const TWO_OUTPUTS: &str = r#"outputs = ["x", "y"]
[[steps]]
model = "a"
inputs = "input"
outputs = "of_a"
[[steps]]
host = "top-k"
inputs = "of_a"
k = 3
outputs = ["x", "places"]
[[steps]]
model = "b"
inputs = "input"
outputs = "of_b"
[[steps]]
host = "arg-max"
inputs = "of_b"
outputs = "y"
"#;

#[test]
fn outputs_that_are_asked_for_come_in_that_order_and_the_others_are_not_computed() {
    let folder = Folder::new();
    let (outputs, steps) = TWO_OUTPUTS.split_once('\n').expect("a line of outputs");
    let text = format!("{outputs}\n{MODELS}\n{steps}");
    folder.write("pipeline.toml", text.as_bytes());
    let ensemble = Ensemble::read(&Files::from_path(folder.path())).expect("a pipeline");
    let ensemble = Arc::new(ensemble);
    let engine = start(&ensemble, networks(&ensemble));
    let rows = |outputs: &[usize]| {
        let sample = samples(1);
        let request = Request::new(&sample).asking(outputs);
        let answer = engine
            .predict(request)
            .map(|answer| answer.expect("answered"));
        answer.map(|answer| answer.rows().flatten().copied().collect::<Vec<f32>>())
    };
    let runs = || {
        let graph = engine.telemetry().step_graphs().remove(0);
        let of = |name: &str| graph.steps.iter().find(|step| step.name == name);
        ["a", "b"].map(|name| of(name).expect("a step").stats.rows)
    };
    let second = rows(&[1]).expect("let in");
    assert_eq!((second.len(), runs()), (1, [0, 1]));
    let both = rows(&[]).expect("let in");
    assert_eq!((both[3..].to_vec(), runs()), (second, [1, 2]));
    let turned = rows(&[1, 0]).expect("let in");
    assert_eq!(turned, [&both[3..], &both[..3]].concat());
    let refused = rows(&[2]).expect_err("there are two");
    assert_eq!(
        refused.to_string(),
        "there is no output 2: outputs are numbered from 0, and there are 2"
    );
}

#[test]
fn a_class_is_certain_where_the_inputs_that_are_late_cannot_change_it() {
    let steps = |combination: &str, inputs: &str| {
        format!(
            "outputs = [\"answer\"]\n{}[[steps]]\nname = \"end\"\n{combination}\ninputs = [{inputs}]\n\
             outputs = \"answer\"\nquorum = 2\nwait_ms = 50\n",
            [("a", "x"), ("b", "y"), ("c", "z")].map(|(model, made)| format!(
                "[[steps]]\nmodel = \"{model}\"\ninputs = \"input\"\noutputs = \"{made}\"\n\
                 [[steps]]\nname = \"p{made}\"\nhost = \"softmax\"\ninputs = \"{made}\"\noutputs = \"p{made}\"\n"
            )).concat()
        )
    };
    let shares = "\"px\", \"py\", \"pz\"";
    let (vote, mean) = ("host = \"vote\"", "host = \"mean\"");
    let weighted = "host = \"weighted-mean\"\nweights = [3.0, 1.0, 1.0]";
    // The combination, what it reads, its row of two inputs of three, whether that is certain.
    let cases = [
        (vote, shares, [1.0, 0.0, 0.0, 0.0], Some(true)),
        (vote, shares, [0.5, 0.5, 0.0, 0.0], Some(false)),
        (mean, shares, [0.8, 0.1, 0.1, 0.0], Some(true)),
        (mean, shares, [0.7, 0.3, 0.0, 0.0], Some(false)),
        (weighted, shares, [0.7, 0.3, 0.0, 0.0], Some(true)),
        (weighted, shares, [0.6, 0.4, 0.0, 0.0], Some(false)),
        // Other values have no bounds.
        (mean, "\"x\", \"y\", \"z\"", [9.0, 0.0, 0.0, 0.0], None),
    ];
    for (combination, inputs, made, expected) in cases {
        let ensemble = read(&steps(combination, inputs)).expect("a pipeline");
        let pipeline = ensemble.pipeline.as_ref().expect("steps");
        let named = pipeline
            .flow()
            .steps()
            .find(|(at, _)| pipeline.step(*at).name == "end");
        let (step, _) = named.expect("the step");
        let found = pipeline.is_certain(step, &[0, 1], &[2], &made);
        assert_eq!(found, expected, "{combination} of {inputs}: {made:?}");
    }
}

#[test]
fn integers_are_exact_or_refused() {
    let condition = |text: &str| text.parse::<StepCondition>();
    for exact in ["x < 16777216", "x == -16777216", "max(x) < 1e9", "x < 0.1"] {
        assert!(condition(exact).is_ok(), "{exact}");
    }
    for rounded in [
        "x < 16777217",
        "sum(x) > 9007199254740993",
        "x == -16777217.0",
    ] {
        let refused = condition(rounded).expect_err(rounded).to_string();
        assert!(refused.contains("cannot be compared exactly"), "{refused}");
    }
    let more = condition("sum(x) > 16777216").expect("a condition");
    assert!(more.holds(&[16_777_216.0, 1.0]), "the sum is exact");
    let text = "outputs = [\"p\"]\n[[steps]]\nhost = \"softmax\"\ninputs = \"input\"\noutputs = \"p\"\n\
                [[steps]]\nhost = \"arg-max\"\ninputs = \"p\"\noutputs = \"at\"\n";
    let ensemble = read(text).expect("a pipeline");
    let steps = ensemble.pipeline.as_ref().expect("steps").steps();
    for (step, row, expected) in [
        ("softmax", 16_777_216.0, false),
        ("arg-max", 16_777_215.0, false),
        ("arg-max", 16_777_216.0, true),
        ("arg-max", -16_777_216.0, true),
        ("arg-max", f32::NAN, true),
        ("softmax", f32::NAN, false),
    ] {
        let found = steps
            .iter()
            .find(|found| found.name == step)
            .expect("the step");
        assert_eq!(
            found.inexact(&vec![row; found.width]).is_some(),
            expected,
            "{step}: {row}"
        );
    }
}
