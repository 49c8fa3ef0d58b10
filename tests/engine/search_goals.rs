//! Whole searches on simulated devices: exact and repeatable, without samples, for a
//! goal, or saying what comes closest; profiles kept.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::profiling::Profiler;
use divisi_engine::search::{
    Algorithm, Bounds, Cache, Control, Doubt, Evaluator, EvaluatorKind, Gap, Goal, Method,
    Objective, SearchError, SearchJob, SearchResult, VirtualBench,
};
use divisi_model::allocation::{Footprints, Frame};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::Ensemble;
use divisi_model::profile::Costs;
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};

use crate::common::{digits, fakes, imn4, small, two_devices, v100s};

pub fn search(
    ensemble: &Arc<Ensemble>,
    devices: &Devices,
    method: Method,
) -> Result<SearchResult, SearchError> {
    let job = SearchJob {
        known: None,
        demand: Arc::clone(ensemble).into(),
        devices: devices.clone(),
        measured_on: devices.clone(),
        frame: Frame::from_ensemble(ensemble, devices),
        factory: fakes(ensemble),
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
    let (ensemble, devices) = (small(), v100s(4));
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
        Footprints::plan(&ensemble, &devices),
        Arc::new(Costs::of_laws(&ensemble, &devices)),
    );
    for method in [Method::quick(), greedy] {
        let found = search(&ensemble, &devices, method).expect("finds");
        let again = search(&ensemble, &devices, method).expect("finds");
        assert_eq!((&found.matrix, found.score), (&again.matrix, again.score));
        let run = bench.score(&found.matrix, 0.0).expect("runs");
        assert_eq!((run.samples_per_s, run.doubt), (found.score, Doubt::Exact));
        assert!(found.score >= found.start_score && found.doubt == Doubt::Exact);
        if let (Some(bound), Some(gap)) = (found.bound, found.gap()) {
            let steady = bench.pace(&found.matrix).expect("runs");
            assert_eq!(Some(steady), found.steady);
            let lacks = (1.0 - steady.samples_per_s / bound).max(0.0);
            assert!(found.score <= bound && lacks < 0.5);
            assert_eq!(gap, Gap::Lacks(lacks), "{steady:?} {bound}");
        }
    }
}

#[test]
fn the_model_finds_what_greedy_on_runs_finds_or_more() {
    let (ensemble, devices) = (small(), v100s(3));
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
    let (ensemble, devices) = (small(), v100s(2));
    let goal = |objective| Goal {
        objective,
        rate: Some(100.0),
        p99: Some(Duration::from_secs(5)),
        ..Goal::default()
    };
    let throughput = search(&ensemble, &devices, asking(goal(Objective::Throughput)));
    let latency = search(&ensemble, &devices, asking(goal(Objective::Latency)));
    let (throughput, latency) = (throughput.expect("finds"), latency.expect("finds"));
    let p99 = |found: &SearchResult| found.latency.expect("simulated").p99;
    assert!(p99(&latency) <= p99(&throughput));
    assert!(throughput.predicted >= latency.predicted);
    assert_eq!((&throughput.shortfall, &latency.shortfall), (&None, &None));
}

#[test]
fn a_goal_that_nothing_meets_says_what_comes_closest() {
    let (ensemble, devices) = (small(), v100s(4));
    let cases = [
        (None, Some(1e8), "samples/s; 100000000 are required"),
        (Some(3), Some(50.0), "at most 0.003 ms is required"),
    ];
    for (micros, rate, says) in cases {
        let goal = Goal {
            p99: micros.map(Duration::from_micros),
            rate,
            ..Goal::default()
        };
        let found = search(&ensemble, &devices, asking(goal)).expect("finds");
        let shortfall = found.shortfall.expect("cannot be met");
        assert!(shortfall.contains(says), "{shortfall}");
        let p99 = found.latency.map_or(Duration::ZERO, |l| l.p99);
        assert_eq!(micros.is_some(), p99 > Duration::ZERO, "{p99:?}");
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
            "requires evaluator model",
        ),
        (bench(Algorithm::Greedy, rate), "requires evaluator model"),
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
    let ledger = Footprints::plan(&ensemble, &devices).book(&found.matrix, &devices);
    let ledger = ledger.expect("fits");
    assert!((0..4).all(|device| ledger.free(DeviceIndex::new(device)) >= spare));
}

#[test]
fn profiles_are_kept_shared_and_not_trusted_when_damaged() {
    let (ensemble, devices) = (digits(), two_devices());
    let folder = std::env::temp_dir().join(format!("divisi-profiles-{}", std::process::id()));
    let cache = Cache::at(&folder);
    let measured = |ensemble: &Ensemble| {
        let factory = fakes(ensemble);
        let profiler = Profiler {
            catalogue: &Catalogue::from_ensemble(Arc::new(ensemble.clone())),
            devices: &devices,
            footprints: &Footprints::plan(ensemble, &devices),
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
        measured(&ensemble.single_member(MemberIndex::new(3))),
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
    let (ensemble, devices) = (small(), v100s(4));
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
    let devices = Devices::from_names(&names, &nowhere).expect("simulated");
    let score = |algorithm| {
        let method = Method {
            algorithm,
            ..Method::quick()
        };
        search(&digits(), &devices, method).expect("finds").score
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
