//! The hardware for a goal: sets of devices (*fleets*) by rising cost. The linear program rules out
//! fleets that are too slow. The search of `divisi allocate` decides about the others, so that a
//! plan and an allocation never disagree.

mod fleets;
mod order;

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use divisi_model::allocation::{Frame, Matrix};
use divisi_runtime::device::Devices;

use super::control::Control;
use super::error::{AskedError, SearchError};
use super::evaluator::Doubt;
use super::job::SearchJob;
use super::progress::SearchProgress;
use super::result::{LoadedLatency, SearchResult};

use fleets::{Ceilings, fleets};

pub use order::{FleetDevice, PlanOrder};

/// The most fleets to search, the cheapest first.
const MOST_TRIED: usize = 32;
/// The number of fleets searched beyond the answer, to show a larger offer.
const BEYOND: usize = 1;
/// Fleets to search for the closest offer if bounds rule out all, …
const MOST_CLOSEST: usize = 4;
/// … each with at most this number of devices, because searching a larger one would take long for
/// no result.
const LARGEST_CLOSEST: usize = 64;

/// The result of a plan.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// The cheapest offer that meets the goal, confirmed under arrivals that did not influence its
    /// choice. If a price is unknown, the offer with the fewest devices.
    pub answer: Option<Offer>,
    /// The closest offer, if there is no answer.
    pub closest: Option<Offer>,
    /// The parts of the goal that no fleet can meet by the bounds, in words.
    pub lacks: Vec<String>,
    /// The offers on the Pareto front of price, throughput and latency.
    pub pareto: Vec<Offer>,
    /// The number of fleets searched.
    pub tried: usize,
    /// The number of fleets that the linear program or memory ruled out.
    pub ruled_out: usize,
    /// Whether the plan was cancelled.
    pub cancelled: bool,
}

/// Finds the cheapest fleet for an order and reports progress in `control`.
///
/// # Errors
/// There is no kind of device, there are too many fleets, or a simulation failed. A cancelled plan
/// is not an error; its result is marked as cancelled.
pub fn plan(order: &PlanOrder, control: &Arc<Control>) -> Result<Planned, SearchError> {
    let fleets = fleets(order)?;
    let (mut planned, mut seen) = (Planned::default(), Vec::new());
    match search(order, &fleets, &mut planned, &mut seen, control) {
        Err(SearchError::Stopped(_)) => planned.cancelled = true,
        other => other?,
    }
    if planned.answer.is_none() {
        planned.closest = nearest(&seen);
    }
    planned.pareto = pareto(planned.answer.iter().chain(&seen));
    Ok(planned)
}

fn search(
    order: &PlanOrder,
    fleets: &[Vec<usize>],
    planned: &mut Planned,
    seen: &mut Vec<Offer>,
    control: &Arc<Control>,
) -> Result<(), SearchError> {
    let ceilings = Ceilings::new(order, control)?;
    walk(order, fleets, &ceilings, planned, seen, control)?;
    if planned.answer.is_some() {
        return Ok(());
    }
    planned.lacks = ceilings.lacks(order, fleets);
    if seen.is_empty() {
        look_closest(order, fleets, &ceilings, seen, control)?;
    }
    if seen.is_empty() {
        let cramped = "the models do not fit on these devices with the requested memory reserve";
        planned.lacks.push(cramped.into());
    }
    Ok(())
}

/// Searches the fleets that pass the bounds, until there is an answer and a few larger offers.
fn walk(
    order: &PlanOrder,
    fleets: &[Vec<usize>],
    ceilings: &Ceilings,
    planned: &mut Planned,
    seen: &mut Vec<Offer>,
    control: &Arc<Control>,
) -> Result<(), SearchError> {
    let allowed = fleets.iter().filter(|counts| ceilings.allow(order, counts));
    let allowed: Vec<&Vec<usize>> = allowed.collect();
    planned.ruled_out = fleets.len() - allowed.len();
    control.update(|p| p.fleets.candidates = allowed.len().min(MOST_TRIED));
    let mut beyond = 0;
    for counts in allowed {
        let Some(offer) = offer(order, counts, control)? else {
            planned.ruled_out += 1;
            continue;
        };
        planned.tried += 1;
        beyond += usize::from(planned.answer.is_some());
        if planned.answer.is_none() && offer.shortfall.is_none() {
            planned.answer = Some(offer.clone());
        }
        seen.push(offer);
        let enough = planned.answer.is_some() && !order.wide && beyond >= BEYOND;
        control.update(|p| p.fleets.tried = planned.tried);
        if planned.tried >= MOST_TRIED || enough {
            break;
        }
    }
    Ok(())
}

/// Searches the fleets that come closest by the bounds, if none passes them.
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
        if let Some(offer) = offer(order, counts, control)? {
            seen.push(offer);
            break;
        }
    }
    Ok(())
}

/// Figures that differ by a smaller share count as equal.
const ALIKE: f64 = 0.02;

/// A fleet with a matrix and its figures.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The number of devices of each kind.
    pub counts: Vec<usize>,
    /// The devices.
    pub devices: Devices,
    /// The price per hour, or `None` if a kind's price is unknown.
    pub price: Option<f64>,
    /// The matrix.
    pub matrix: Matrix,
    /// Samples per second in the long run.
    pub throughput: f64,
    /// The uncertainty of the throughput.
    pub doubt: Doubt,
    /// The worst latency of several runs at the requested rate, or `None` if the offer does not
    /// keep up.
    pub latency: Option<LoadedLatency>,
    /// The part of the goal that the offer does not reach, in words.
    pub shortfall: Option<String>,
}

impl Offer {
    fn new(order: &PlanOrder, counts: &[usize], devices: Devices, found: SearchResult) -> Self {
        let steady = found.steady.unwrap_or(found.scored());
        Offer {
            counts: counts.to_vec(),
            devices,
            price: order.price(counts),
            matrix: found.matrix,
            throughput: steady.samples_per_s,
            doubt: steady.doubt,
            latency: found.latency,
            shortfall: found.shortfall,
        }
    }

    /// Returns the price, or the number of devices if the price is unknown.
    fn cost(&self) -> f64 {
        self.price
            .unwrap_or(self.counts.iter().sum::<usize>() as f64)
    }

    fn p99(&self) -> Duration {
        self.latency.map_or(Duration::MAX, |l| l.p99)
    }

    /// Returns whether the offer is as good in everything and better in something.
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

/// Returns the result of the search for a fleet, or `None` if its memory is too small.
fn offer(
    order: &PlanOrder,
    counts: &[usize],
    control: &Arc<Control>,
) -> Result<Option<Offer>, SearchError> {
    control.checkpoint()?;
    // The figures of another fleet do not apply.
    control.update(|p| {
        *p = SearchProgress {
            fleets: p.fleets,
            ..SearchProgress::default()
        }
    });
    let devices = order.devices(counts).map_err(AskedError::from)?;
    match job(order, &devices).run(control) {
        Ok(outcome) => Ok(Some(Offer::new(order, counts, devices, outcome.found))),
        Err(SearchError::NoDevice(_) | SearchError::Asked(AskedError::SpareMemory { .. })) => {
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

fn job(order: &PlanOrder, devices: &Devices) -> SearchJob {
    SearchJob {
        known: None,
        frame: Frame::from_ensemble(order.demand.models(), devices),
        demand: order.demand.clone(),
        devices: devices.clone(),
        measured_on: devices.clone(),
        factory: Arc::clone(&order.factory),
        method: order.method(devices),
        cache: order.cache.clone(),
    }
}

/// Returns the offer with the lowest p99 among those that keep up, or else the one with the highest
/// throughput.
fn nearest(seen: &[Offer]) -> Option<Offer> {
    let nearer = |a: &&Offer, b: &&Offer| match a.p99().cmp(&b.p99()) {
        Ordering::Equal => b.throughput.total_cmp(&a.throughput),
        other => other,
    };
    seen.iter().min_by(nearer).cloned()
}

/// Returns the offers on the Pareto front that keep up, the cheapest first. Of similar offers,
/// returns the first.
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
