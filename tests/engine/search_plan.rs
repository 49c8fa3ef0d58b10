//! Plans: the cheapest devices that meet a goal, the same devices as allocations need, and what
//! bounds rule out.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::{
    Control, FleetDevice, Goal, LatencyRun, Method, PlanOrder, SearchError, VirtualBench, plan,
};
use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::ensemble::Ensemble;
use divisi_model::profile::Costs;
use divisi_runtime::device::Devices;
use divisi_runtime::device::simulated::find_profile;

use crate::common::{digits, fakes, imn4, small, two_devices, v100s};
use crate::search_bounds::{imn1, policy};
use crate::search_goals::search;

fn kind(name: &str) -> FleetDevice {
    FleetDevice::simulated(name, &find_profile(name).expect("built in"))
}

/// Returns an order for up to `most` V100s.
fn served(ensemble: &Arc<Ensemble>, rate: f64, most: usize) -> PlanOrder {
    PlanOrder {
        demand: Arc::clone(ensemble).into(),
        kinds: vec![kind("v100")],
        most,
        rate,
        p99: None,
        spare_memory: 0,
        seed: 1,
        wide: false,
        factory: fakes(ensemble),
        cache: None,
    }
}

/// Returns the most samples per second that the model allows on one V100.
fn bound_of_one(ensemble: &Arc<Ensemble>) -> f64 {
    let predicted = Method {
        restarts: 0,
        finalists: 0,
        ..Method::quick()
    };
    let found = search(ensemble, &v100s(1), predicted).expect("finds");
    found.bound.expect("by the model")
}

/// Returns an order for a rate that two V100s and a half could serve at most.
fn order(most: usize, p99: Option<Duration>) -> PlanOrder {
    PlanOrder {
        p99,
        ..served(&small(), 2.5 * bound_of_one(&small()), most)
    }
}

/// Returns whether the default search of an allocation meets the goal of `order` on `devices`.
fn allocates(ensemble: &Arc<Ensemble>, order: &PlanOrder, devices: &Devices) -> bool {
    let goal = Goal {
        p99: order.p99,
        rate: Some(order.rate),
        ..Goal::default()
    };
    let method = Method {
        goal,
        ..Method::quick()
    };
    let found = search(ensemble, devices, method).expect("finds");
    found.shortfall.is_none()
}

/// A plan bought two devices for 12 500 samples/s within 50 ms; an allocation on one meets that.
#[test]
fn a_plan_buys_no_device_more_than_an_allocation_needs() {
    for ensemble in [digits(), small()] {
        let one = bound_of_one(&ensemble);
        for (share, p99) in [(0.9, None), (0.85, Some(50)), (1.6, Some(20))] {
            let order = PlanOrder {
                p99: p99.map(Duration::from_millis),
                ..served(&ensemble, share * one, 3)
            };
            let planned = plan(&order, &Arc::new(Control::default())).expect("plans");
            let counts = planned.answer.map(|answer| answer.counts[0]);
            let fewest = (1..=3).find(|&n| allocates(&ensemble, &order, &v100s(n)));
            assert_eq!(counts, fewest, "{share} of {one} within {p99:?} ms");
        }
    }
}

#[test]
fn this_machine_is_preferred_if_it_is_enough() {
    let order = PlanOrder {
        kinds: vec![kind("h200"), FleetDevice::of_machine("here", two_devices())],
        ..served(&small(), 1.0, 2)
    };
    let planned = plan(&order, &Arc::new(Control::default())).expect("plans");
    let answer = planned.answer.expect("one of them is enough");
    assert_eq!((&answer.counts, answer.price), (&vec![0, 1], Some(0.0)));
    assert_eq!(order.in_words(&answer.counts), "here");
    assert_eq!(order.in_words(&[1, 1]), "1 × h200 + here");
    assert_eq!(planned.tried, 2, "one larger set is searched too");
}

#[test]
fn devices_of_this_machine_are_in_one_kind_only() {
    let twice = PlanOrder {
        kinds: ["here", "cpu:0"]
            .map(|n| FleetDevice::of_machine(n, two_devices()))
            .to_vec(),
        ..served(&small(), 1.0, 2)
    };
    let error = plan(&twice, &Arc::new(Control::default())).expect_err("the cores overlap");
    assert!(error.to_string().contains("overlap"), "{error}");
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
        let beats = |other: &&divisi_engine::search::Offer| {
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
            .any(|l| l.contains("p99 ≤ 0.01 ms is required")),
        "{:?}",
        planned.lacks
    );
    let closest = planned.closest.expect("something comes closest");
    assert!(closest.shortfall.is_some());
    let much = PlanOrder {
        rate: 1e9,
        ..order(4, None)
    };
    let planned = plan(&much, &Arc::new(Control::default())).expect("plans");
    let lack = planned.lacks.concat();
    assert!(lack.starts_with("4 × v100 serve at most"), "{lack}");
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

/// The bound of one batch at a time in each worker ruled out four, which serve it.
#[test]
fn a_plan_rules_nothing_out_that_the_policy_can_do() {
    let order = served(&imn1("elastic"), 500.0, 4);
    let planned = plan(&order, &Arc::new(Control::default())).expect("plans");
    assert_eq!((planned.tried, planned.ruled_out), (1, 3));
    let answer = planned.answer.expect("four are enough");
    assert!(answer.counts == [4] && answer.throughput > 500.0);
}

#[test]
fn a_plan_of_too_many_devices_is_refused_before_any_is_made() {
    let refused = |order: &PlanOrder| match plan(order, &Arc::new(Control::default())) {
        Err(SearchError::Asked(why)) => why.to_string(),
        other => panic!("{other:?}"),
    };
    let one = served(&imn1("no-wait"), 100.0, 1_000_000_000);
    let says = "devices at most: expected 1 to 1024 with 1 kinds of device, found 1000000000";
    assert_eq!(refused(&one), says);
    let three = PlanOrder {
        kinds: vec![one.kinds[0].clone(); 3],
        most: usize::MAX,
        ..one.clone()
    };
    assert!(refused(&three).contains("expected 1 to 104 with 3 kinds"));
    let many = PlanOrder {
        kinds: vec![one.kinds[0].clone(); 300_000],
        most: 1,
        ..one
    };
    assert!(refused(&many).contains("kinds of device: expected fewer"));
}

/// Under `static` a batch that is not full takes as long as one that is: full batches
/// serve more than the rate, samples that arrive one by one do not come to it.
#[test]
fn latencies_that_grow_without_end_are_none() {
    let mut ensemble = Ensemble::clone(&imn4());
    ensemble.policy = policy("static:50ms");
    let ensemble = Arc::new(ensemble);
    let devices = v100s(3);
    let frame = Frame::from_ensemble(&ensemble, &devices);
    let rows = [[0, 8, 8, 8], [0, 16, 8, 8], [8, 0, 0, 16]].map(|row| row.to_vec());
    let matrix = Matrix::from_rows(frame, &rows).expect("valid");
    let costs = Arc::new(Costs::of_laws(&ensemble, &devices));
    let footprints = Footprints::plan(&ensemble, &devices);
    let bench = VirtualBench::new(ensemble, devices, footprints, costs);
    assert!(bench.pace(&matrix).expect("runs").samples_per_s > 150.0);
    let latency = |rate, arriving| bench.latency(&matrix, rate, arriving).expect("runs");
    for arriving in [LatencyRun::WHOLE, LatencyRun::FRESH[0]] {
        assert_eq!(latency(150.0, arriving), None, "{arriving:?}");
        assert!(latency(100.0, arriving).is_some(), "{arriving:?}");
    }
}
