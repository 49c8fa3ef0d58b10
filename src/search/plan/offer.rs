//! What a set of devices can do, and which of several sets is worth a look.

use std::cmp::Ordering;
use std::time::Duration;

use crate::allocation::Matrix;
use crate::device::Devices;
use crate::search::goal::LoadedLatency;

use super::PlanOrder;

/// Devices and what they can do.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Of each kind.
    pub counts: Vec<usize>,
    pub devices: Devices,
    /// An hour, where every kind's price is known.
    pub price: Option<f64>,
    pub matrix: Matrix,
    /// Samples a second of a run of benchmark mode, as predicted.
    pub throughput: f64,
    /// At the rate asked; none where it does not keep up.
    pub latency: Option<LoadedLatency>,
}

impl Offer {
    /// What it costs in the plan's terms: money where known, else devices.
    fn cost(&self) -> f64 {
        self.price
            .unwrap_or(self.counts.iter().sum::<usize>() as f64)
    }

    pub(super) fn p99(&self) -> Duration {
        self.latency.map_or(Duration::MAX, |l| l.p99)
    }

    /// Whether it keeps up and answers in time.
    pub(super) fn meets(&self, order: &PlanOrder) -> bool {
        self.latency.is_some() && order.p99.is_none_or(|most| self.p99() <= most)
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
}

/// What keeps up with the least p99, or serves most.
pub(super) fn nearest(seen: &[Offer]) -> Option<Offer> {
    let nearer = |a: &&Offer, b: &&Offer| match a.p99().cmp(&b.p99()) {
        Ordering::Equal => b.throughput.total_cmp(&a.throughput),
        other => other,
    };
    seen.iter().min_by(nearer).cloned()
}

/// The offers that no other dominates, cheapest first, one of each kind.
pub(super) fn pareto(seen: Vec<Offer>) -> Vec<Offer> {
    let mut kept: Vec<Offer> = Vec::new();
    for offer in &seen {
        let same = |k: &Offer| {
            k.counts == offer.counts && k.throughput == offer.throughput && k.p99() == offer.p99()
        };
        if !seen.iter().any(|o| o.dominates(offer)) && !kept.iter().any(same) {
            kept.push(offer.clone());
        }
    }
    kept.sort_by(|a, b| {
        let by_cost = a.cost().total_cmp(&b.cost());
        by_cost.then(a.throughput.total_cmp(&b.throughput))
    });
    kept
}
