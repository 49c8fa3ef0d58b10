//! Which hardware a goal would need: fleets of simulated devices by rising cost, those
//! that cannot do it ruled out by the linear program, the others searched and run
//! under load in virtual time.

mod fleets;

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::FakeFactory;
use divisi_model::allocation::{Frame, Matrix};
use divisi_runtime::device::Devices;

use super::control::Control;
use super::error::{AskedError, SearchError};
use super::evaluator::Doubt;
use super::greedy::Bounds;
use super::job::SearchJob;
use super::method::{Goal, Method};
use super::model_search::ModelSearch;
use super::placement::worst_fit;
use super::result::LoadedLatency;
use super::under_load::{Candidate, best_under_load, shortfall};

use fleets::{Ceilings, devices, fleets, price};

pub use fleets::{FleetDevice, PlanOrder};

/// Fleets that are searched at most, the cheapest first.
const MOST_TRIED: usize = 32;
/// The number of fleets searched beyond the answer, to show larger offers.
const BEYOND: usize = 2;
/// Fleets looked at for what comes closest where bounds rule out all, …
const MOST_CLOSEST: usize = 4;
/// … of so many devices at most: to search a larger one for nothing would take long.
const LARGEST_CLOSEST: usize = 64;

/// The result of a plan.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// The cheapest offer that meets the goal, also under arrivals that it was not
    /// chosen by: the fewest devices where a price is not known.
    pub answer: Option<Offer>,
    /// The closest offer, if there is no answer.
    pub closest: Option<Offer>,
    /// The parts of the goal that no fleet can reach by the bounds, in words.
    pub lacks: Vec<String>,
    /// The offers that no other one dominates in price, throughput and latency.
    pub pareto: Vec<Offer>,
    /// The number of fleets searched.
    pub tried: usize,
    /// The number of fleets that the linear program or memory ruled out.
    pub ruled_out: usize,
    /// Whether it was cancelled before its end.
    pub cancelled: bool,
}

/// Finds the cheapest fleet for an order; what happens shows in `control`.
///
/// # Errors
/// There is no kind of device or there are too many fleets, or a simulation broke down.
/// A plan that was cancelled is no error but says so.
pub fn plan(order: &PlanOrder, control: &Arc<Control>) -> Result<Planned, SearchError> {
    let fleets = fleets(order)?;
    let ceilings = Ceilings::new(order);
    let (mut planned, mut seen) = (Planned::default(), Vec::new());
    let mut walked = walk(order, &fleets, &ceilings, &mut planned, &mut seen, control);
    if walked.is_ok() && planned.answer.is_none() {
        planned.lacks = ceilings.lacks(order, &fleets);
        if seen.is_empty() {
            walked = look_closest(order, &fleets, &ceilings, &mut seen, control);
        }
        if walked.is_ok() && seen.is_empty() {
            let cramped =
                "no memory of these devices holds what serves, beside what is to stay free";
            planned.lacks.push(cramped.into());
        }
    }
    match walked {
        Err(SearchError::Stopped(_)) => planned.cancelled = true,
        other => other?,
    }
    if planned.answer.is_none() {
        planned.closest = nearest(&seen);
    }
    planned.pareto = pareto(planned.answer.iter().chain(&seen));
    Ok(planned)
}

/// Searches the fleets that may do it, until there is an answer and a little beyond.
fn walk(
    order: &PlanOrder,
    fleets: &[Vec<usize>],
    ceilings: &Ceilings,
    planned: &mut Planned,
    seen: &mut Vec<Offer>,
    control: &Arc<Control>,
) -> Result<(), SearchError> {
    let mut beyond = 0;
    for counts in fleets {
        control.checkpoint()?;
        let offers = match ceilings.allow(order, counts) {
            true => offers(order, counts, control)?,
            false => None,
        };
        let Some(offers) = offers else {
            planned.ruled_out += 1;
            continue;
        };
        planned.tried += 1;
        beyond += usize::from(planned.answer.is_some());
        if planned.answer.is_none() {
            planned.answer = offers.iter().find(|o| o.meets(order)).cloned();
        }
        seen.extend(offers);
        let enough = planned.answer.is_some() && !order.wide && beyond >= BEYOND;
        let (tried, ruled_out) = (planned.tried, planned.ruled_out);
        control.update(|p| p.fleets = (tried, ruled_out));
        if planned.tried >= MOST_TRIED || enough {
            break;
        }
    }
    Ok(())
}

/// Where no fleet may do it: what those do that come nearest by the bounds.
fn look_closest(
    order: &PlanOrder,
    fleets: &[Vec<usize>],
    ceilings: &Ceilings,
    seen: &mut Vec<Offer>,
    control: &Arc<Control>,
) -> Result<(), SearchError> {
    let small = |counts: &&[usize]| counts.iter().sum::<usize>() <= LARGEST_CLOSEST;
    let highest = ceilings.highest(fleets).into_iter().filter(small);
    for counts in highest.take(MOST_CLOSEST) {
        control.checkpoint()?;
        if let Some(offers) = offers(order, counts, control)? {
            seen.extend(offers);
            break;
        }
    }
    Ok(())
}

/// Climbs after the first for one fleet.
const RESTARTS: usize = 1;
/// The share by which figures must differ to count as different.
const ALIKE: f64 = 0.02;

/// A fleet with its figures by one matrix.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The number of devices of each kind.
    pub counts: Vec<usize>,
    /// The devices.
    pub devices: Devices,
    /// The price of an hour, if every kind's price is known.
    pub price: Option<f64>,
    /// The matrix.
    pub matrix: Matrix,
    /// Samples a second in the long run.
    pub throughput: f64,
    /// The uncertainty of that.
    pub doubt: Doubt,
    /// The worst latency of several runs at the rate asked; `None` if it does not keep up.
    pub latency: Option<LoadedLatency>,
}

impl Offer {
    /// Returns its price, or the number of devices if the price is not known.
    fn cost(&self) -> f64 {
        self.price
            .unwrap_or(self.counts.iter().sum::<usize>() as f64)
    }

    fn p99(&self) -> Duration {
        self.latency.map_or(Duration::MAX, |l| l.p99)
    }

    fn meets(&self, order: &PlanOrder) -> bool {
        self.latency.is_some() && order.p99.is_none_or(|most| self.p99() <= most)
    }

    /// Returns the part of an order's goal that it does not reach, in words.
    pub fn lack(&self, order: &PlanOrder) -> Option<String> {
        shortfall(self.throughput, self.latency, &goal(order), order.rate)
    }

    /// As good in everything and better in something.
    fn dominates(&self, other: &Offer) -> bool {
        let no_worse = self.cost() <= other.cost()
            && self.throughput >= other.throughput
            && self.p99() <= other.p99();
        let better = self.cost() < other.cost()
            || self.throughput > other.throughput
            || self.p99() < other.p99();
        no_worse && better
    }

    fn is_like(&self, other: &Offer) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= ALIKE * a.max(b);
        let times = |o: &Offer| {
            o.latency
                .map(|l| (l.p50.as_secs_f64(), l.p99.as_secs_f64()))
        };
        let as_quick = match (times(self), times(other)) {
            (Some(a), Some(b)) => close(a.0, b.0) && close(a.1, b.1),
            (a, b) => a == b,
        };
        as_quick && close(self.cost(), other.cost()) && close(self.throughput, other.throughput)
    }
}

/// Returns the offers of a fleet, the best for the goal first, or `None` if its memory does
/// not suffice.
fn offers(
    order: &PlanOrder,
    counts: &[usize],
    control: &Arc<Control>,
) -> Result<Option<Vec<Offer>>, SearchError> {
    let devices = devices(order, counts)?;
    let job = match job(order, &devices).sparing_memory() {
        Ok(job) => job,
        Err(SearchError::Asked(AskedError::SpareMemory { .. })) => return Ok(None),
        Err(other) => return Err(other),
    };
    let modelled = ModelSearch::new(&job, control)?;
    let Ok(start) = worst_fit(&job.frame, &job.devices, &modelled.footprints) else {
        return Ok(None);
    };
    let found = modelled.local(&start)?.matrices;
    let weighed = best_under_load(&modelled, &start, found, order.rate)?;
    let offer = |candidate: Candidate| Offer {
        counts: counts.to_vec(),
        devices: devices.clone(),
        price: price(order, counts),
        matrix: candidate.matrix,
        throughput: candidate.throughput,
        doubt: candidate.doubt,
        latency: candidate.latency,
    };
    let best = weighed.best.clone();
    // Of the others only what long runs under fresh arrivals have confirmed.
    let others = weighed.all.into_iter();
    let others = others.filter(|c| c.confirmed && c.matrix != best.matrix);
    Ok(Some(
        std::iter::once(best.clone())
            .chain(others)
            .map(offer)
            .collect(),
    ))
}

fn job(order: &PlanOrder, devices: &Devices) -> SearchJob {
    SearchJob {
        known: None,
        frame: Frame::of(order.demand.models(), devices),
        demand: order.demand.clone(),
        devices: devices.clone(),
        measured_on: devices.clone(),
        // Nothing real runs.
        factory: Arc::new(FakeFactory {
            classes: order.demand.models().answer_width(),
        }),
        method: Method {
            restarts: RESTARTS,
            finalists: 0,
            bounds: Bounds {
                seed: order.seed,
                ..Method::quick().bounds
            },
            goal: goal(order),
            ..Method::quick()
        },
        cache: None,
    }
}

fn goal(order: &PlanOrder) -> Goal {
    Goal {
        p99: order.p99,
        rate: Some(order.rate),
        spare_memory: order.spare_memory,
        ..Goal::default()
    }
}

/// Returns the offer with the lowest p99 of those that keep up, or the highest throughput.
fn nearest(seen: &[Offer]) -> Option<Offer> {
    let nearer = |a: &&Offer, b: &&Offer| match a.p99().cmp(&b.p99()) {
        Ordering::Equal => b.throughput.total_cmp(&a.throughput),
        other => other,
    };
    seen.iter().min_by(nearer).cloned()
}

/// The offers that keep up and that no other dominates, cheapest first; of those that
/// are alike the first.
fn pareto<'a>(seen: impl Iterator<Item = &'a Offer>) -> Vec<Offer> {
    let seen: Vec<&Offer> = seen.filter(|o| o.latency.is_some()).collect();
    let mut kept: Vec<Offer> = Vec::new();
    for offer in &seen {
        let beaten = seen.iter().any(|o| o.dominates(offer));
        if !beaten && !kept.iter().any(|k| k.is_like(offer)) {
            kept.push((*offer).clone());
        }
    }
    kept.sort_by(|a, b| {
        let by_cost = a.cost().total_cmp(&b.cost());
        by_cost.then(a.throughput.total_cmp(&b.throughput))
    });
    kept
}
