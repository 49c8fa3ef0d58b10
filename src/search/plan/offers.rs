//! The offers of a fleet by several matrices, and the choice of those worth showing.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use crate::allocation::{Frame, Matrix};
use crate::device::Devices;
use crate::search::control::Control;
use crate::search::error::{AskedError, SearchError};
use crate::search::evaluator::Doubt;
use crate::search::goal::{Goal, LoadedLatency};
use crate::search::greedy::Bounds;
use crate::search::job::SearchJob;
use crate::search::method::Method;
use crate::search::model_search::ModelSearch;
use crate::search::placement::worst_fit;
use crate::search::under_load::{Candidate, best_under_load, shortfall};
use crate::serving::FakeFactory;

use super::PlanOrder;
use super::fleets::{devices, price};

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

    pub(super) fn meets(&self, order: &PlanOrder) -> bool {
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
pub(super) fn offers(
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
pub(super) fn nearest(seen: &[Offer]) -> Option<Offer> {
    let nearer = |a: &&Offer, b: &&Offer| match a.p99().cmp(&b.p99()) {
        Ordering::Equal => b.throughput.total_cmp(&a.throughput),
        other => other,
    };
    seen.iter().min_by(nearer).cloned()
}

/// The offers that keep up and that no other dominates, cheapest first; of those that
/// are alike the first.
pub(super) fn pareto<'a>(seen: impl Iterator<Item = &'a Offer>) -> Vec<Offer> {
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
