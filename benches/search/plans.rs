//! Plans against allocations: ten ensembles with five goals each. A plan has to choose the fewest
//! devices on which an allocation meets the goal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use divisi_engine::search::{Control, FleetDevice, Goal, Method, PlanOrder, plan};
use divisi_model::ensemble::Ensemble;
use divisi_runtime::device::Devices;
use divisi_runtime::device::simulated::find_profile;

use crate::common::Bed;

/// Most devices of a plan.
const MOST: usize = 3;
/// The goals: a share of the most that the model allows on one device, and a p99 in milliseconds.
const GOALS: [(f64, Option<u64>); 5] = [
    (0.3, Some(100)),
    (0.75, None),
    (0.9, Some(50)),
    (1.6, Some(500)),
    (2.3, None),
];

/// The ensembles, each with members to keep (all if empty) and a kind of device.
const CASES: [(&str, &[usize], &str); 10] = [
    ("digits", &[], "v100"),
    ("digits", &[], "h100"),
    ("digits", &[0, 2, 5], "l40s"),
    ("digits", &[1], "titan-rtx"),
    ("digits", &[1, 2], "h200"),
    ("digits", &[3, 4], "a100"),
    ("digits", &[5], "l4"),
    ("digits-onnx", &[], "a10"),
    ("digits-cascade", &[], "v100"),
    ("snippets", &[], "l4"),
];

pub fn run() -> Result<()> {
    let (mut agree, mut all) = (0, 0);
    for (name, members, kind) in CASES {
        let ensemble = ensemble(name, members)?;
        let one = bound_of_one(&ensemble, kind)?;
        for (share, p99) in GOALS {
            let goal = Goal {
                rate: Some(share * one),
                p99: p99.map(Duration::from_millis),
                ..Goal::default()
            };
            let started = Instant::now();
            let planned = planned(&ensemble, kind, goal)?;
            let took = started.elapsed().as_secs_f64();
            let allocated = allocated(&ensemble, kind, goal)?;
            all += 1;
            agree += usize::from(planned == allocated);
            println!(
                "{name} {members:?} on {kind}, {goal}: plan {planned:?}, allocations {allocated:?}, {took:.1} s"
            );
        }
    }
    println!("plan and allocate: the same number of devices for {agree} of {all} goals");
    Ok(())
}

fn ensemble(name: &str, members: &[usize]) -> Result<Arc<Ensemble>> {
    let whole = Bed::open(&format!("sample_ensembles/{name}"), &["sim:v100"])?.ensemble;
    if members.is_empty() {
        return Ok(whole);
    }
    let mut part = Ensemble::clone(&whole);
    part.members = members
        .iter()
        .map(|&m| Arc::clone(&whole.members[m]))
        .collect();
    Ok(Arc::new(part))
}

fn devices(kind: &str, count: usize) -> Result<Devices> {
    let profile = find_profile(kind).map_err(|e| anyhow!(e))?;
    Ok(Devices::simulated(&profile, count))
}

fn bed(ensemble: &Arc<Ensemble>, kind: &str, count: usize) -> Result<Bed> {
    Ok(Bed {
        ensemble: Arc::clone(ensemble),
        devices: devices(kind, count)?,
    })
}

/// Returns the most samples per second that the model allows on one device.
fn bound_of_one(ensemble: &Arc<Ensemble>, kind: &str) -> Result<f64> {
    let predicted = Method {
        restarts: 0,
        finalists: 0,
        ..Method::quick()
    };
    let job = bed(ensemble, kind, 1)?.job(predicted, None);
    let found = job.run(&Arc::new(Control::default()))?.found;
    found.bound.ok_or_else(|| anyhow!("no bound"))
}

/// Returns the number of devices of a plan.
fn planned(ensemble: &Arc<Ensemble>, kind: &str, goal: Goal) -> Result<Option<usize>> {
    let profile = find_profile(kind).map_err(|e| anyhow!(e))?;
    let order = PlanOrder {
        demand: Arc::clone(ensemble).into(),
        kinds: vec![FleetDevice::simulated(kind, &profile)],
        most: MOST,
        rate: goal.rate.unwrap_or(1.0),
        p99: goal.p99,
        spare_memory: 0,
        seed: 1,
        wide: false,
        factory: bed(ensemble, kind, 1)?.fakes(),
        cache: None,
    };
    let planned = plan(&order, &Arc::new(Control::default()))?;
    Ok(planned.answer.map(|offer| offer.counts[0]))
}

/// Returns the fewest devices on which an allocation meets the goal.
fn allocated(ensemble: &Arc<Ensemble>, kind: &str, goal: Goal) -> Result<Option<usize>> {
    for count in 1..=MOST {
        let method = Method {
            goal,
            ..Method::quick()
        };
        let job = bed(ensemble, kind, count)?.job(method, None);
        let found = job.run(&Arc::new(Control::default()));
        if found.is_ok_and(|outcome| outcome.found.shortfall.is_none()) {
            return Ok(Some(count));
        }
    }
    Ok(None)
}
