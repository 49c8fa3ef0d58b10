//! A mix of several models: as it is written, what it asks of each member, and that load, virtual time
//! and searches follow it. One ensemble alone is the mix of today.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::load::{Generator, LoadPattern, LoadSamples, Until, saturate_mix};
use divisi_engine::search::model::{Batching, Limits, ModelEvaluator, Rates};
use divisi_engine::search::{
    Control, EvaluatorKind, FleetDevice, Goal, Method, PlanOrder, SearchJob, SearchResult,
    VirtualBench, plan, worst_fit,
};
use divisi_engine::serving::{Engine, EngineOptions, FakeFactory, PredictorFactory};
use divisi_engine::simulation::{Scenario, Simulation, SimulationReport, Workload};
use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::catalogue::{
    Catalogue, Demand, Interface, Mix, NamedMix, NewEntry, StepShare, Turns,
};
use divisi_model::codes::Code;
use divisi_model::ensemble::{Ensemble, Files, Samples};
use divisi_model::profile::Costs;
use divisi_runtime::device::{Devices, MemberIndex};
use divisi_session::{Command, LiveSession, SearchState, Session};
use proptest::prelude::*;

use crate::common::{digits, imn4, networks, small, two_devices, until, v100s};
use crate::folder::Folder;
use crate::wait::wait_until;

fn catalogue(all: &[&Arc<Ensemble>]) -> Arc<Catalogue> {
    let entries = all.iter().enumerate().map(|(at, ensemble)| NewEntry {
        name: ["a", "b", "c"][at].into(),
        ..NewEntry::from_ensemble(Arc::clone(ensemble), Interface::default())
    });
    Arc::new(Catalogue::new("all", entries.collect()).expect("a catalogue"))
}

fn demand(all: &[&Arc<Ensemble>], mix: &str) -> Demand {
    let catalogue = catalogue(all);
    let mix: NamedMix = mix.parse().expect("a mix");
    let mix = mix.resolve(&catalogue).expect("known names");
    Demand::new(catalogue, mix)
}

#[test]
fn a_mix_is_written_as_names_with_shares() {
    let all = catalogue(&[&small(), &imn4()]);
    let mix: NamedMix = " a = 3 , b=1".parse().expect("a mix");
    assert_eq!(mix.to_string(), "a=3,b=1");
    let mix = mix.resolve(&all).expect("known");
    assert_eq!([mix.share(0), mix.share(1)], [0.75, 0.25]);
    let one: NamedMix = "b=2e-3".parse().expect("a mix");
    let one = one.resolve(&all).expect("known");
    assert_eq!([one.share(0), one.share(1)], [0.0, 1.0]);
    for (text, why) in [
        ("", "expected NAME=SHARE"),
        ("a", "found `a`"),
        ("=1", "found `=1`"),
        ("a=1,", "found ``"),
        ("a=1,a=2", "`a` has two shares"),
        ("a=0", "the share of `a`: expected a number above 0"),
        ("a=-1", "found `-1`"),
        ("a=NaN", "found `NaN`"),
        ("a=inf", "found `inf`"),
        ("a=1e10", "up to 1000000000"),
    ] {
        let error = text.parse::<NamedMix>().expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let unknown: NamedMix = "c=1".parse().expect("a mix");
    let error = unknown
        .resolve(&all)
        .expect_err("there is no c")
        .to_string();
    assert_eq!(error, "`c` is not served: expected one of a, b");
}

proptest! {
    /// The samples sent to each are never more than a piece away from its share.
    #[test]
    fn turns_keep_to_the_shares(shares in prop::collection::vec(0u64..50, 1..6), most in 1usize..200) {
        prop_assume!(shares.iter().any(|s| *s > 0));
        let mix = Mix::from_counts(&shares).expect("some");
        let mut turns = Turns::new(mix.clone());
        let mut sent = vec![0usize; shares.len()];
        for _ in 0..200 {
            let entry = turns.next();
            let piece = turns.chunk_size(entry, most);
            prop_assert!((1..=most).contains(&piece) && mix.share(entry) > 0.0);
            turns.record_sent(entry, piece);
            sent[entry] += piece;
            let all = sent.iter().sum::<usize>() as f64;
            for (entry, sent) in sent.iter().enumerate() {
                let behind = (mix.share(entry) * all - *sent as f64).abs();
                prop_assert!(behind <= (shares.len() * most) as f64, "{sent} of {all}");
            }
        }
    }
}

#[test]
fn a_member_is_asked_by_all_entries_that_hold_it() {
    let two = small();
    let first = Arc::new(Ensemble {
        members: vec![Arc::clone(&two.members[0])],
        ..Ensemble::clone(&two)
    });
    assert_eq!(
        Demand::from_ensemble(Arc::clone(&two)).by_member(),
        [1.0, 1.0]
    );
    assert_eq!(demand(&[&two, &first], "a=1,b=3").by_member(), [1.0, 0.25]);
    let idle = demand(&[&two, &first], "b=1").by_member();
    assert_eq!(idle[0], 1.0);
    assert!(
        idle[1] > 0.0 && idle[1] < 1e-3,
        "it has a worker all the same: {idle:?}"
    );
}

/// Two networks, the second of which answers what the first is not sure of.
const CASCADE: &str = r#"
name = "cascade"
answers = { values = 4 }
segment_size = 16
batch_sizes = [1, 8]
outputs = ["y"]

[input]
shape = [4]

[[members]]
name = "small"
network = { builder = "perceptron", hidden = [8] }
[[members]]
name = "large"
network = { builder = "perceptron", hidden = [2048, 2048] }

[[steps]]
model = "small"
inputs = "input"
outputs = "x"
[[steps]]
model = "large"
inputs = "input"
outputs = "z"
when = "max(x) < 0.9"
[[steps]]
host = "first"
inputs = ["z", "x"]
outputs = "y"
"#;

fn cascade() -> Arc<Ensemble> {
    let folder = Folder::new();
    folder.write("pipeline.toml", CASCADE.as_bytes());
    Arc::new(Ensemble::read(&Files::from_path(folder.path())).expect("a pipeline"))
}

/// The demand of the cascade, of which so many rows of a hundred reach the second network.
fn reached(percent: u64) -> Demand {
    let cascade = cascade();
    let flow = cascade.dataflow();
    let pipeline = cascade.pipeline.as_ref().expect("steps");
    let shares = flow.steps().map(|(at, _)| match &pipeline.step(at).role {
        divisi_model::pipeline::StepRole::Gate(_) => StepShare::from_rows(100, 0, percent),
        divisi_model::pipeline::StepRole::Model(member) if member.get() == 1 => {
            StepShare::from_rows(percent, 100 - percent, percent)
        }
        _ => StepShare::ALL,
    });
    let shares = vec![shares.collect()];
    Demand::from_ensemble(Arc::clone(&cascade)).with_steps(shares)
}

fn everywhere(demand: &Demand, devices: &Devices, size: i64) -> Matrix {
    let rows = vec![vec![size; demand.models().members.len()]; devices.count()];
    Matrix::from_rows(Frame::from_ensemble(demand.models(), devices), &rows).expect("valid")
}

fn served(demand: &Demand, devices: &Devices, workload: Workload) -> SimulationReport {
    let scene = Scenario {
        matrix: everywhere(demand, devices, 8),
        costs: Arc::new(Costs::of_laws(demand.models(), devices)),
        policy: demand.models().policy,
        demand: demand.clone(),
        devices: devices.clone(),
    };
    let simulation = Simulation::new(&scene)
        .expect("known costs")
        .with_requests();
    simulation.run(workload).expect("runs")
}

#[test]
fn rows_that_do_not_reach_a_step_ask_nothing_of_its_model() {
    assert_eq!(reached(25).by_member(), [1.0, 0.25]);
    let waited: Vec<MemberIndex> = reached(1).latency_members().collect();
    assert_eq!(waited, [MemberIndex::new(0)]);
    let run = |percent| {
        let report = served(
            &reached(percent),
            &v100s(1),
            Workload::Saturate { samples: 2000 },
        );
        assert_eq!(report.samples, 2000);
        report.samples_per_s()
    };
    let [few, all] = [10, 100].map(run);
    assert!(few > 1.1 * all, "{few} and {all}");
}

#[test]
fn virtual_time_serves_entries_in_their_shares() {
    let demand = demand(&[&small(), &imn4()], "a=3,b=1");
    let patterns = [LoadPattern::poisson(200.0), LoadPattern::closed(4, 4)];
    let patterned = patterns.map(|pattern| Workload::Pattern {
        pattern,
        samples: 2000,
        seed: 1,
    });
    for workload in patterned
        .into_iter()
        .chain([Workload::Saturate { samples: 2000 }])
    {
        let report = served(&demand, &v100s(2), workload.clone());
        let of_first = report.served.iter().filter(|s| s.entry == 0);
        let first: usize = of_first.map(|s| s.samples).sum();
        assert_eq!(report.samples, 2000);
        assert!((1400..1600).contains(&first), "{first} in {workload:?}");
    }
}

#[test]
fn no_run_of_a_mix_exceeds_its_bound_and_the_model_is_near() {
    let devices = v100s(2);
    // Work on accelerators is shared out worse than the linear program says: how much, one alone says.
    let mut alone = 0.0;
    for mix in ["b=1", "a=1,b=1", "a=5,b=1", "a=1,b=5"] {
        let demand = demand(&[&small(), &imn4()], mix);
        let (models, rows) = (demand.models(), demand.by_member());
        let costs = Arc::new(Costs::of_laws(models, &devices));
        let matrix = everywhere(&demand, &devices, 8);
        let (frame, batching) = (matrix.frame(), Batching::from_ensemble(models));
        let limits = Limits::new(frame, &devices, &costs, batching).demanding(&rows);
        let rates = Rates::new(frame, &devices, &costs, batching).demanding(&rows);
        let footprints = Footprints::plan_catalogue(demand.catalogue(), &devices);
        let predicted =
            ModelEvaluator::from_rates(rates, &devices, footprints.clone()).throughput(&matrix);
        let bench = VirtualBench::new(demand.clone(), devices.clone(), footprints, costs);
        let pace = bench.pace(&matrix).expect("runs").samples_per_s;
        assert!(pace <= 1.01 * limits.throughput(&matrix), "{mix}: {pace}");
        let share = pace / predicted;
        alone = if mix == "b=1" { share } else { alone };
        assert!(
            (0.8 * alone..1.1).contains(&share),
            "{mix}: {share}, and {alone} alone"
        );
    }
}

fn job(demand: &Demand, devices: &Devices, method: Method) -> SearchJob {
    let factory: Arc<dyn PredictorFactory> = Arc::new(FakeFactory { classes: 10 });
    SearchJob {
        known: None,
        frame: Frame::from_ensemble(demand.models(), devices),
        demand: demand.clone(),
        devices: devices.clone(),
        measured_on: devices.clone(),
        factory,
        method,
        cache: None,
    }
}

fn found(demand: &Demand, devices: &Devices, method: Method) -> SearchResult {
    let control = Arc::new(Control::default());
    let outcome = job(demand, devices, method).run(&control);
    outcome.expect("finds").found
}

/// Devices that hold a worker of the members of an entry.
fn workers(found: &SearchResult, columns: std::ops::Range<usize>) -> usize {
    let workers = found.matrix.workers();
    workers
        .filter(|(cell, _)| columns.contains(&cell.member.get()))
        .count()
}

#[test]
fn a_search_gives_devices_to_what_is_asked() {
    let devices = v100s(4);
    let all = [&small(), &imn4()];
    let quick = Method {
        restarts: 2,
        ..Method::quick()
    };
    let [much, little] = ["a=1,b=9", "a=500,b=1"].map(|mix| {
        let found = found(&demand(&all, mix), &devices, quick);
        assert!(found.score >= found.start_score, "{mix}");
        let bound = found.bound.expect("by the model");
        assert!(
            found.steady.expect("runs").samples_per_s <= 1.01 * bound,
            "{mix}"
        );
        found
    });
    let of_large = |found| workers(found, 2..6);
    assert!(of_large(&much) >= of_large(&little), "{much:?} {little:?}");
    assert!(little.score > much.score, "small networks are quick");
    for algorithm in ["worst-fit", "best-batch", "greedy"] {
        let method = Method {
            algorithm: algorithm.parse().expect("an algorithm"),
            evaluator: EvaluatorKind::Bench,
            bounds: divisi_engine::search::Bounds {
                max_iter: 1,
                max_neighs: 4,
                seed: 1,
            },
            ..Method::default()
        };
        let found = found(&demand(&all, "a=1,b=1"), &devices, method);
        assert!(found.score > 0.0, "{algorithm}");
    }
}

#[test]
fn a_goal_holds_for_each_entry() {
    let (devices, all) = (v100s(2), [&small(), &imn4()]);
    let goal = |p99| Goal {
        p99: Some(p99),
        rate: Some(20.0),
        ..Goal::default()
    };
    let method = |p99| Method {
        restarts: 0,
        finalists: 0,
        goal: goal(p99),
        ..Method::quick()
    };
    let demand = demand(&all, "a=1,b=1");
    let met = found(&demand, &devices, method(Duration::from_secs(2)));
    assert_eq!(met.shortfall, None);
    let [a, b] = &met.by_entry[..] else {
        panic!("{:?}", met.by_entry);
    };
    assert!(
        a.name == "a" && b.name == "b" && a.p99 < b.p99,
        "{a:?} {b:?}"
    );
    assert!(met.latency.expect("under load").p99 <= Duration::from_secs(2));
    // What the quick one does is no excuse for the slow one.
    let between = (a.p99 + b.p50) / 2;
    let missed = found(&demand, &devices, method(between.min(b.p50 / 2)));
    assert!(
        missed.shortfall.is_some_and(|lack| lack.contains("p99")),
        "{between:?}"
    );
}

#[test]
fn a_plan_is_for_the_mix() {
    let order = |mix: &str| PlanOrder {
        demand: demand(&[&small(), &imn4()], mix),
        kinds: vec![FleetDevice::simulated(
            "v100",
            &divisi_runtime::device::simulated::find_profile("v100").expect("built in"),
        )],
        most: 3,
        rate: 120.0,
        p99: None,
        spare_memory: 0,
        seed: 1,
        wide: false,
        factory: Arc::new(FakeFactory { classes: 10 }),
        cache: None,
    };
    let devices = |mix| {
        let planned = plan(&order(mix), &Arc::new(Control::default())).expect("plans");
        planned.answer.map_or(usize::MAX, |offer| offer.counts[0])
    };
    assert!(devices("a=99,b=1") < devices("a=1,b=99"));
}

/// A network of four numbers with samples of its own.
fn network(name: &str, hidden: usize, samples: bool) -> Arc<Ensemble> {
    let folder = Folder::new();
    let text = format!(
        "name = \"{name}\"\nanswers = {{ values = 3 }}\nsegment_size = 8\nbatch_sizes = [1, 4]\n\
         [input]\nshape = [4]\n[[members]]\nname = \"{name}\"\n\
         network = {{ builder = \"perceptron\", hidden = [{hidden}] }}\n"
    );
    folder.write("ensemble.toml", text.as_bytes());
    let mut ensemble = Ensemble::read(&Files::from_path(folder.path())).expect("an ensemble");
    let values = (0..64).map(|i| (i as f32 * 0.37).fract()).collect();
    let calibration = Samples::new(values, 4, None).expect("samples");
    ensemble.calibration = samples.then(|| Arc::new(calibration));
    Arc::new(ensemble)
}

fn engine(catalogue: &Arc<Catalogue>) -> Arc<Engine> {
    let devices = two_devices();
    let frame = Frame::from_ensemble(catalogue.models(), &devices);
    let footprints = Footprints::plan_catalogue(catalogue, &devices);
    let matrix = worst_fit(&frame, &devices, &footprints).expect("fits");
    let engine = Engine::start_catalogue(
        Arc::clone(catalogue),
        devices,
        &matrix,
        networks(catalogue.models()),
        EngineOptions::default(),
    );
    Arc::new(engine.expect("starts"))
}

#[test]
fn the_load_asks_entries_in_their_shares() {
    let all = catalogue(&[&network("x", 8, true), &network("y", 16, true)]);
    let mix: NamedMix = "a=3,b=1".parse().expect("a mix");
    let samples = LoadSamples::for_mix(&all, &mix.resolve(&all).expect("known")).expect("samples");
    let answered = |engine: &Engine| {
        let entries = engine.telemetry().entries();
        [entries[0].samples, entries[1].samples]
    };
    let saturated = engine(&all);
    let run = saturate_mix(&saturated, &samples, 400, Until::default()).expect("runs");
    assert_eq!(run.samples, 400);
    let [a, b] = answered(&saturated);
    assert!(a + b == 400 && (290..=310).contains(&a), "{a} and {b}");
    let seen = saturated.telemetry().seen_mix().expect("answered");
    assert!((seen.share(0) - 0.75).abs() < 0.03);
    for pattern in [LoadPattern::closed(4, 2), LoadPattern::steady(5000.0)] {
        let patterned = engine(&all);
        let load = Generator::start(
            Arc::clone(&patterned),
            samples.clone(),
            pattern,
            1,
            Some(400),
        );
        let load = load.expect("starts");
        wait_until("the load is over", || load.is_finished());
        wait_until("all are answered", || {
            answered(&patterned).iter().sum::<u64>() == 400
        });
        let [a, _] = answered(&patterned);
        assert!((250..=350).contains(&a), "{a} of 400");
    }
}

#[test]
fn what_has_no_samples_is_named() {
    let all = catalogue(&[&network("x", 8, true), &network("y", 16, false)]);
    let error = LoadSamples::for_mix(&all, &Mix::equal_shares(2)).expect_err("b has none");
    assert!(error.to_string().starts_with("`b` has no samples to send"));
    let session = &mut LiveSession::new(engine(&all), networks(all.models()), None);
    let mix = |text: &str| Command::SetMix(Some(text.parse().expect("a mix")));
    session
        .command(mix("a=1,b=1"))
        .expect("for searches that run nothing");
    let refused = session.command(Command::StartLoad(LoadPattern::closed(1, 1)));
    assert_eq!(refused.expect_err("no samples").code(), Code::NoSamples);
    let refused = session.command(Command::StartSearch(Method::default()));
    assert_eq!(refused.expect_err("no samples").code(), Code::NoSamples);
    let refused = session.command(mix("z=1"));
    assert_eq!(refused.expect_err("not served").code(), Code::MixInvalid);
    session.command(mix("a=1")).expect("it has samples");
    session
        .command(Command::StartLoad(LoadPattern::closed(1, 1)))
        .expect("it has samples");
    session
        .command(mix("b=1"))
        .expect_err("load runs, and b has none");
    assert_eq!(
        session.snapshot().load.mix.expect("kept").to_string(),
        "a=1"
    );
}

#[test]
fn a_search_that_measures_measures_several_models() {
    let all = catalogue(&[&network("x", 8, true), &network("y", 16, true)]);
    let mut session = LiveSession::new(engine(&all), networks(all.models()), None);
    let mix = "a=1,b=3".parse().expect("a mix");
    session.command(Command::SetMix(Some(mix))).expect("set");
    let pattern = LoadPattern::closed(2, 2);
    session
        .command(Command::StartLoad(pattern))
        .expect("starts");
    let order = Method {
        bounds: divisi_engine::search::Bounds {
            max_iter: 1,
            max_neighs: 2,
            seed: 1,
        },
        ..Method::default()
    };
    session
        .command(Command::StartSearch(order))
        .expect("starts");
    let seen = until(&mut session, |s| {
        s.search
            .as_ref()
            .is_some_and(|search| search.state != SearchState::Running)
    });
    let search = seen.search.expect("ran");
    assert_eq!(search.state, SearchState::Finished);
    assert!(search.progress.best_score.is_some_and(|score| score > 0.0));
    let said = |text: &str| seen.log.iter().any(|entry| entry.text.contains(text));
    assert!(said("25 % a, 75 % b"), "{:?}", seen.log);
}

#[test]
fn a_mix_of_one_is_the_ensemble_alone() {
    let (ensemble, devices) = (digits(), v100s(2));
    let alone = Demand::from_ensemble(Arc::clone(&ensemble));
    let workload = || Workload::Pattern {
        pattern: LoadPattern::poisson(500.0),
        samples: 300,
        seed: 3,
    };
    let mixed = demand(&[&ensemble], "a=7");
    let [one, other] = [&alone, &mixed].map(|d| served(d, &devices, workload()));
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}
