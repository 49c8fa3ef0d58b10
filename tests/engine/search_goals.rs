//! Whole searches on simulated devices: exact and repeatable, without samples, for a
//! goal, or saying what comes closest; plans of the cheapest devices; profiles kept.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use divisi::allocation::{Footprints, Frame};
use divisi::device::simulated::find_profile;
use divisi::device::{Devices, Host};
use divisi::ensemble::{Ensemble, Files};
use divisi::profile::Costs;
use divisi::search::profiling::Profiler;
use divisi::search::{
    Algorithm, Bounds, Cache, Control, Evaluator, EvaluatorKind, Found, Goal, Job, Kind, Method,
    Objective, PlanOrder, SearchError, VirtualBench, plan,
};

use crate::common::{digits, fakes, two_devices};

fn imn4() -> Arc<Ensemble> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sample_ensembles/imn4");
    Arc::new(Ensemble::read(&Files::at(&folder)).expect("imn4 is valid"))
}

fn v100s(count: usize) -> Devices {
    Devices::simulated(&find_profile("v100").expect("built in"), count)
}

fn search(
    ensemble: &Arc<Ensemble>,
    devices: &Devices,
    method: Method,
) -> Result<Found, SearchError> {
    let job = Job {
        known: None,
        ensemble: Arc::clone(ensemble),
        devices: devices.clone(),
        measured_on: devices.clone(),
        frame: Frame::of(ensemble, devices),
        factory: fakes(ensemble),
        samples: None,
        method,
        cache: None,
    };
    Ok(job.run(&Arc::new(Control::default()))?.found)
}

fn asking(goal: Goal) -> Method {
    Method {
        restarts: 1,
        goal,
        ..Method::quick()
    }
}

#[test]
fn simulated_devices_are_searched_exactly_and_again_the_same() {
    let (ensemble, devices) = (imn4(), v100s(4));
    let greedy = Method {
        bounds: Bounds {
            max_iter: 1,
            max_neighs: 5,
            seed: 1,
        },
        ..Method::default()
    };
    let mut bench = VirtualBench::new(
        Arc::clone(&ensemble),
        devices.clone(),
        Footprints::of(&ensemble, &devices),
        Arc::new(Costs::of_laws(&ensemble, &devices)),
    );
    for method in [Method::quick(), greedy] {
        let found = search(&ensemble, &devices, method).expect("finds");
        let again = search(&ensemble, &devices, method).expect("finds");
        assert_eq!((&found.matrix, found.score), (&again.matrix, again.score));
        let run = bench.score(&found.matrix, 0.0).expect("runs");
        assert_eq!((run.samples_per_s, run.error), (found.score, 0.0));
        assert!(found.score >= found.start_score && found.error == 0.0);
        if let (Some(bound), Some(gap)) = (found.bound, found.gap()) {
            let steady = bench.pace(&found.matrix).expect("runs");
            assert_eq!(Some(steady), found.steady);
            assert!(found.score <= bound && (0.0..0.5).contains(&gap));
            assert!(steady < 1.01 * bound, "{steady} {bound}");
            assert_eq!(gap, (1.0 - steady / bound).max(0.0));
        }
    }
}

#[test]
fn the_model_finds_what_greedy_on_runs_finds_or_more() {
    let (ensemble, devices) = (imn4(), v100s(3));
    let bounds = Bounds {
        max_neighs: 40,
        ..Bounds::default()
    };
    let greedy = Method {
        bounds,
        ..Method::default()
    };
    let by_runs = search(&ensemble, &devices, greedy).expect("finds");
    let by_model = search(&ensemble, &devices, Method::quick()).expect("finds");
    assert!(
        by_model.score >= 0.98 * by_runs.score,
        "{} {}",
        by_model.score,
        by_runs.score
    );
}

#[test]
fn latency_is_sought_at_the_cost_of_throughput_only() {
    let (ensemble, devices) = (digits(), v100s(2));
    let goal = |objective| Goal {
        objective,
        rate: Some(100.0),
        p99: Some(Duration::from_secs(5)),
        ..Goal::default()
    };
    let throughput = search(&ensemble, &devices, asking(goal(Objective::Throughput)));
    let latency = search(&ensemble, &devices, asking(goal(Objective::Latency)));
    let (throughput, latency) = (throughput.expect("finds"), latency.expect("finds"));
    let p99 = |found: &Found| found.latency.expect("simulated").p99;
    assert!(p99(&latency) <= p99(&throughput));
    assert!(throughput.predicted >= latency.predicted);
    assert_eq!((&throughput.shortfall, &latency.shortfall), (&None, &None));
}

#[test]
fn a_goal_that_nothing_meets_says_what_comes_closest() {
    let (ensemble, devices) = (imn4(), v100s(4));
    let cases = [
        (None, Some(1e5), "samples/s at most where 100000 is asked"),
        (Some(3), Some(50.0), "where at most 3 ms is asked"),
    ];
    for (millis, rate, says) in cases {
        let goal = Goal {
            p99: millis.map(Duration::from_millis),
            rate,
            ..Goal::default()
        };
        let found = search(&ensemble, &devices, asking(goal)).expect("finds");
        let shortfall = found.shortfall.expect("cannot be met");
        assert!(shortfall.contains(says), "{shortfall}");
        let p99 = found.latency.map_or(Duration::ZERO, |l| l.p99);
        assert_eq!(millis.is_some(), p99 > Duration::ZERO, "{p99:?}");
    }
}

#[test]
fn what_is_asked_has_to_make_sense() {
    let (ensemble, devices) = (imn4(), v100s(4));
    let bench = |algorithm, goal| Method {
        algorithm,
        goal,
        ..Method::default()
    };
    let spare = |bytes| Goal {
        spare_memory: bytes,
        ..Goal::default()
    };
    let rate = Goal {
        rate: Some(1.0),
        ..Goal::default()
    };
    let cases = [
        (
            bench(Algorithm::Local, Goal::default()),
            "expected evaluator model",
        ),
        (bench(Algorithm::Greedy, rate), "expected evaluator model"),
        (
            asking(spare(1 << 50)),
            "expected at most the 16 GiB that `sim:v100:0` has",
        ),
    ];
    for (method, says) in cases {
        let error = search(&ensemble, &devices, method).expect_err("no sense");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn spare_memory_stays_free() {
    let (ensemble, devices) = (imn4(), v100s(4));
    let spare = 6 << 30;
    let goal = Goal {
        spare_memory: spare,
        ..Goal::default()
    };
    let found = search(&ensemble, &devices, asking(goal)).expect("finds");
    let ledger = Footprints::of(&ensemble, &devices).book(&found.matrix, &devices);
    let ledger = ledger.expect("fits");
    assert!((0..4).all(|device| ledger.free(device) >= spare));
}

fn order(most: usize, p99: Option<Duration>) -> PlanOrder {
    let kind = |name: &str| Kind {
        name: name.into(),
        profile: find_profile(name).expect("built in"),
    };
    PlanOrder {
        ensemble: imn4(),
        kinds: vec![kind("v100")],
        most,
        rate: 150.0,
        p99,
        spare_memory: 0,
        seed: 1,
        wide: false,
    }
}

#[test]
fn a_plan_is_the_fewest_devices_that_meet_the_goal() {
    let control = Arc::new(Control::default());
    let p99 = Duration::from_millis(400);
    let planned = plan(&order(6, Some(p99)), &control).expect("plans");
    let answer = planned.answer.expect("six are enough");
    assert!(answer.latency.expect("keeps up").p99 <= p99);
    assert!(planned.closest.is_none() && planned.ruled_out > 0);
    let fewer = answer.counts[0] - 1;
    let planned = plan(&order(fewer, Some(p99)), &control).expect("plans");
    assert!(planned.answer.is_none(), "one device less does not do");
    for offer in &planned.pareto {
        let beats = |other: &&divisi::search::Offer| {
            other.counts < offer.counts
                && other.throughput > offer.throughput
                && other.latency.map(|l| l.p99) < offer.latency.map(|l| l.p99)
        };
        assert!(!planned.pareto.iter().any(|other| beats(&other)));
    }
}

#[test]
fn bounds_rule_out_what_no_device_can_do() {
    let impossible = order(4, Some(Duration::from_micros(10)));
    let planned = plan(&impossible, &Arc::new(Control::default())).expect("plans");
    assert!(planned.answer.is_none() && planned.tried == 0);
    assert_eq!(planned.ruled_out, 4);
    assert!(
        planned
            .lacks
            .iter()
            .any(|l| l.contains("p99 ≤ 0.01 ms is asked")),
        "{:?}",
        planned.lacks
    );
    let closest = planned.closest.expect("something comes closest");
    assert!(closest.lack(&impossible).is_some());
    let much = PlanOrder {
        rate: 1e5,
        ..order(4, None)
    };
    let planned = plan(&much, &Arc::new(Control::default())).expect("plans");
    let lack = planned.lacks.concat();
    assert!(lack.starts_with("4 × v100 give at most"), "{lack}");
    assert!(
        planned
            .closest
            .is_some_and(|c| c.latency.is_none() && c.counts == [4])
    );
    assert!(
        planned.pareto.is_empty(),
        "what does not keep up is no offer"
    );
    let none = PlanOrder {
        kinds: Vec::new(),
        ..order(4, None)
    };
    let error = plan(&none, &Arc::new(Control::default())).expect_err("nothing to plan with");
    assert!(error.to_string().contains("at least one kind"), "{error}");
}

#[test]
fn profiles_are_kept_shared_and_not_trusted_when_damaged() {
    let (ensemble, devices) = (digits(), two_devices());
    let folder = std::env::temp_dir().join(format!("divisi-profiles-{}", std::process::id()));
    let cache = Cache::at(&folder);
    let measured = |ensemble: &Ensemble| {
        let factory = fakes(ensemble);
        let profiler = Profiler {
            ensemble,
            devices: &devices,
            footprints: &Footprints::of(ensemble, &devices),
            factory: factory.as_ref(),
            cache: Some(&cache),
            control: &Control::default(),
        };
        let profiled = profiler.costs().expect("profiles");
        assert!(profiled.costs.is_complete());
        profiled.measured
    };
    assert_eq!(measured(&ensemble), 6);
    assert_eq!(measured(&ensemble), 0);
    assert_eq!(
        measured(&ensemble.only(3)),
        0,
        "the same network in another ensemble"
    );
    let file = fs::read_dir(&folder).expect("folder").next();
    let file = file.expect("a file").expect("an entry").path();
    let whole = fs::read_to_string(&file).expect("text");
    for damaged in [&whole[..whole.len() / 2], &whole.replace("8,", "9,")] {
        fs::write(&file, damaged).expect("writes");
        assert_eq!(measured(&ensemble), 1, "measured again");
    }
    fs::remove_dir_all(&folder).expect("cleans up");
}

#[test]
fn only_real_devices_need_samples() {
    let real = two_devices();
    let quick = Method::quick();
    let predicted = Method {
        finalists: 0,
        ..quick
    };
    assert!(quick.runs_on(&real) && Method::default().runs_on(&real));
    assert!(!predicted.runs_on(&real) && !Method::default().runs_on(&v100s(1)));
    assert_eq!(quick.evaluator_on(&real), "model, then bench");
    assert_eq!(
        quick.evaluator_on(&v100s(1)),
        "model, then bench, simulated"
    );
    let bench = Method {
        evaluator: EvaluatorKind::Bench,
        ..Method::default()
    };
    assert_eq!(bench.evaluator_on(&v100s(1)), "bench, simulated");
}

#[test]
fn rules_give_their_own_matrix_whatever_scores_it() {
    let (ensemble, devices) = (imn4(), v100s(4));
    for algorithm in [Algorithm::WorstFit, Algorithm::BestBatch] {
        let by = |evaluator, goal| {
            let method = Method {
                algorithm,
                evaluator,
                goal,
                ..Method::default()
            };
            search(&ensemble, &devices, method).expect("finds").matrix
        };
        let plain = by(EvaluatorKind::Bench, Goal::default());
        assert_eq!(by(EvaluatorKind::Model, Goal::default()), plain);
        let quick = Goal {
            objective: Objective::Latency,
            rate: Some(20.0),
            ..Goal::default()
        };
        assert_eq!(by(EvaluatorKind::Model, quick), plain);
    }
}

#[test]
fn local_is_never_below_what_rules_and_greedy_give() {
    let names = ["sim:v100*4".to_owned(), "sim:cpu".to_owned()];
    let nowhere = Host {
        cores: Vec::new(),
        memory_bytes: 0,
    };
    let devices = Devices::named(&names, &nowhere).expect("simulated");
    let score = |algorithm| {
        let method = Method {
            algorithm,
            ..Method::quick()
        };
        search(&imn4(), &devices, method).expect("finds").score
    };
    let local = score(Algorithm::Local);
    for other in [Algorithm::WorstFit, Algorithm::BestBatch, Algorithm::Greedy] {
        let other_score = score(other);
        assert!(
            local >= 0.99 * other_score,
            "{local} {} {other_score}",
            other.name()
        );
    }
}
