//! Which hardware a goal would need: fleets of simulated devices by rising cost, those
//! that cannot do it ruled out by the linear programme, the others searched and run
//! under load in virtual time.

mod fleets;
mod offers;

use std::sync::Arc;
use std::time::Duration;

use crate::device::simulated::DeviceProfile;
use crate::ensemble::Ensemble;

use super::control::Control;
use super::error::SearchError;
use fleets::{Ceilings, fleets};
use offers::{nearest, offers, pareto};

pub use offers::Offer;

/// Fleets that are searched at most, the cheapest first.
const MOST_TRIED: usize = 32;
/// The number of fleets searched beyond the answer, to show larger offers.
const BEYOND: usize = 2;
/// Fleets looked at for what comes closest where bounds rule out all, …
const MOST_CLOSEST: usize = 4;
/// … of so many devices at most: to search a larger one for nothing would take long.
const LARGEST_CLOSEST: usize = 64;

/// A kind of device that a fleet may consist of.
#[derive(Clone, Debug)]
pub struct FleetDevice {
    /// A built-in profile's name, or a file.
    pub name: String,
    /// Its profile.
    pub profile: Arc<DeviceProfile>,
}

/// An order for a plan.
#[derive(Clone, Debug)]
pub struct PlanOrder {
    /// The ensemble to serve.
    pub ensemble: Arc<Ensemble>,
    /// The kinds of device that could be had.
    pub kinds: Vec<FleetDevice>,
    /// Devices at most, of all kinds together.
    pub most: usize,
    /// Samples a second that have to be served.
    pub rate: f64,
    /// The highest p99 that is allowed.
    pub p99: Option<Duration>,
    /// Bytes that must stay free in the memory of every device.
    pub spare_memory: u64,
    /// The seed of the search.
    pub seed: u64,
    /// Whether to go on beyond the answer, for a longer list of offers.
    pub wide: bool,
}

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
    /// The number of fleets that the programme or memory ruled out.
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
