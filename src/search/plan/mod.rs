//! Which hardware a goal would need: fleets of simulated devices by rising cost, those
//! that cannot do it ruled out by the linear programme, the others searched and run
//! under load in virtual time.

mod offer;

use std::sync::Arc;
use std::time::Duration;

use crate::allocation::Frame;
use crate::device::simulated::DeviceProfile;
use crate::device::{Devices, Host};
use crate::ensemble::Ensemble;
use crate::profile::Costs;
use crate::serving::FakeFactory;

use super::control::Control;
use super::evaluator::SearchError;
use super::goal::Goal;
use super::goals::{Candidate, best_under_load};
use super::greedy::Bounds;
use super::job::Job;
use super::method::Method;
use super::model::{Programme, Rates, WorkerRate};
use super::modelled::Modelled;
use super::worst_fit::worst_fit;

pub use offer::Offer;
use offer::{nearest, pareto};

/// Fleets that are searched at most, the cheapest first.
const MOST_TRIED: usize = 48;
/// Fleets searched beyond the answer, to show what more would give.
const BEYOND: usize = 3;
/// Climbs after the first for one fleet.
const RESTARTS: usize = 2;
/// More fleets than this are too many to look at.
const MOST_FLEETS: usize = 200_000;

/// A kind of device that could be had.
#[derive(Clone, Debug)]
pub struct Kind {
    /// A built-in profile's name, or a file.
    pub name: String,
    pub profile: Arc<DeviceProfile>,
}

/// What is to be planned.
#[derive(Clone, Debug)]
pub struct PlanOrder {
    pub ensemble: Arc<Ensemble>,
    pub kinds: Vec<Kind>,
    /// Devices at most, of all kinds together.
    pub most: usize,
    /// Samples a second that have to be served.
    pub rate: f64,
    pub p99: Option<Duration>,
    pub spare_memory: u64,
    pub seed: u64,
    /// Goes on beyond the answer, for a longer list of what could be had.
    pub wide: bool,
}

/// What a plan came to.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The cheapest offer that meets the goal: the fewest devices where a price is
    /// not known.
    pub answer: Option<Offer>,
    /// Where there is none: what comes closest.
    pub closest: Option<Offer>,
    /// No other offer seen is as cheap, as fast and as quick to answer.
    pub pareto: Vec<Offer>,
    /// Fleets searched, and those that the programme or memory ruled out.
    pub tried: usize,
    pub ruled_out: usize,
}

/// Finds the cheapest fleet for an order; what happens shows in `control`.
///
/// # Errors
/// There is no kind of device or there are too many fleets, a simulation broke down, or
/// the search was cancelled.
pub fn plan(order: &PlanOrder, control: &Arc<Control>) -> Result<Planned, SearchError> {
    let fleets = fleets(order)?;
    let shares = shares(order);
    let mut seen: Vec<Offer> = Vec::new();
    let (mut tried, mut ruled_out, mut beyond) = (0, 0, 0);
    let mut answer: Option<Offer> = None;
    for counts in &fleets {
        control.checkpoint()?;
        if !could_do(order, &shares, counts) {
            ruled_out += 1;
            continue;
        }
        let Some(offers) = offers(order, counts, control)? else {
            ruled_out += 1;
            continue;
        };
        tried += 1;
        beyond += usize::from(answer.is_some());
        let meeting = offers.iter().filter(|o| o.meets(order));
        let best = meeting.min_by_key(|o| o.p99());
        answer = answer.or(best.cloned());
        seen.extend(offers);
        control.update(|p| p.evaluations = tried);
        if tried >= MOST_TRIED || (answer.is_some() && !order.wide && beyond >= BEYOND) {
            break;
        }
    }
    let closest = answer.is_none().then(|| nearest(&seen)).flatten();
    Ok(Planned {
        answer,
        closest,
        pareto: pareto(seen),
        tried,
        ruled_out,
    })
}

/// Counts of each kind, cheapest first.
fn fleets(order: &PlanOrder) -> Result<Vec<Vec<usize>>, SearchError> {
    if order.kinds.is_empty() || order.most == 0 {
        let expected = "expected at least one kind of device and room for one of it";
        return Err(SearchError::Asked(expected.into()));
    }
    let mut fleets = vec![Vec::new()];
    for _ in &order.kinds {
        let mut longer = Vec::new();
        for fleet in &fleets {
            let used: usize = fleet.iter().sum();
            for count in 0..=order.most - used {
                longer.push([fleet.as_slice(), &[count]].concat());
            }
        }
        if longer.len() > MOST_FLEETS {
            return Err(SearchError::Asked(format!(
                "expected at most {MOST_FLEETS} fleets: fewer kinds, or fewer devices"
            )));
        }
        fleets = longer;
    }
    fleets.retain(|fleet| fleet.iter().sum::<usize>() > 0);
    let cost = |fleet: &[usize]| price(order, fleet).unwrap_or(fleet.iter().sum::<usize>() as f64);
    let devices = |fleet: &[usize]| fleet.iter().sum::<usize>();
    fleets.sort_by(|a, b| {
        let by_cost = cost(a).total_cmp(&cost(b));
        by_cost.then(devices(a).cmp(&devices(b)))
    });
    Ok(fleets)
}

fn price(order: &PlanOrder, counts: &[usize]) -> Option<f64> {
    let kinds = order.kinds.iter().zip(counts);
    let prices = kinds.map(|(kind, &count)| Some(kind.profile.price? * count as f64));
    prices.sum()
}

/// The best that one device of each kind can do for each member, at any batch size,
/// and the least latency of one sample.
fn shares(order: &PlanOrder) -> Vec<(Vec<WorkerRate>, Vec<f64>)> {
    let kinds = order.kinds.iter().enumerate();
    let share = kinds.map(|(number, kind)| {
        let one = Devices::simulated(&kind.profile, 1);
        let costs = Costs::of_laws(&order.ensemble, &one);
        let rates = Rates::new(&Frame::of(&order.ensemble, &one), &one, &costs);
        let best = crate::search::model::best_workers(&rates, |_, _| true);
        let workers = best.into_iter().map(|worker| WorkerRate {
            device: number,
            ..worker
        });
        let members = 0..order.ensemble.members.len();
        let least = members.map(|member| costs.alone(member, 0, 1).latency);
        (workers.collect(), least.collect())
    });
    share.collect()
}

/// Whether no bound stands against a fleet: like devices are one, so many times as fast.
fn could_do(order: &PlanOrder, shares: &[(Vec<WorkerRate>, Vec<f64>)], counts: &[usize]) -> bool {
    let members = order.ensemble.members.len();
    let there = || shares.iter().zip(counts).filter(|(_, count)| **count > 0);
    let workers = there().flat_map(|((workers, _), &count)| {
        workers.iter().map(move |worker| WorkerRate {
            seconds: worker.seconds / count as f64,
            most: worker.most * count as f64,
            ..*worker
        })
    });
    let workers: Vec<WorkerRate> = workers.collect();
    let quick = |most: Duration| {
        let least = |member: usize| there().map(move |((_, least), _)| least[member]);
        (0..members).all(|m| least(m).fold(f64::INFINITY, f64::min) <= most.as_secs_f64())
    };
    order.p99.is_none_or(quick)
        && Programme::new(members, shares.len(), &workers).throughput() > order.rate
}

/// What a fleet can do by several matrices; none where its memory does not suffice.
fn offers(
    order: &PlanOrder,
    counts: &[usize],
    control: &Arc<Control>,
) -> Result<Option<Vec<Offer>>, SearchError> {
    let devices = fleet(order, counts)?;
    let job = job(order, &devices);
    let job = match job.sparing_memory() {
        Ok(job) => job,
        Err(SearchError::Asked(_)) => return Ok(None),
        Err(other) => return Err(other),
    };
    let modelled = Modelled::new(&job, control)?;
    let Ok(start) = worst_fit(&job.frame, &job.devices, &modelled.footprints) else {
        return Ok(None);
    };
    let found = modelled.local(&start)?.0;
    let weighed = best_under_load(&modelled, &start, found, order.rate)?;
    let offer = |candidate: Candidate| Offer {
        counts: counts.to_vec(),
        devices: devices.clone(),
        price: price(order, counts),
        matrix: candidate.matrix,
        throughput: candidate.throughput,
        latency: candidate.latency,
    };
    Ok(Some(weighed.all.into_iter().map(offer).collect()))
}

fn fleet(order: &PlanOrder, counts: &[usize]) -> Result<Devices, SearchError> {
    let kinds = order
        .kinds
        .iter()
        .zip(counts)
        .filter(|(_, count)| **count > 0);
    let names = kinds.map(|(kind, count)| format!("sim:{}*{count}", kind.name));
    let names: Vec<String> = names.collect();
    let nowhere = Host {
        cores: Vec::new(),
        memory_bytes: 0,
    };
    Devices::named(&names, &nowhere).map_err(|e| SearchError::Asked(e.to_string()))
}

fn job(order: &PlanOrder, devices: &Devices) -> Job {
    Job {
        frame: Frame::of(&order.ensemble, devices),
        ensemble: Arc::clone(&order.ensemble),
        devices: devices.clone(),
        measured_on: devices.clone(),
        // Nothing real runs.
        factory: Arc::new(FakeFactory {
            classes: order.ensemble.classes,
        }),
        samples: None,
        method: Method {
            restarts: RESTARTS,
            finalists: 0,
            bounds: Bounds {
                seed: order.seed,
                ..Method::quick().bounds
            },
            goal: Goal {
                p99: order.p99,
                rate: Some(order.rate),
                spare_memory: order.spare_memory,
                ..Goal::default()
            },
            ..Method::quick()
        },
        cache: None,
    }
}
