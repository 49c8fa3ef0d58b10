//! The possible fleets of a plan, and upper bounds for their matrices.

use std::sync::Arc;
use std::time::Duration;

use crate::search::control::Control;
use crate::search::error::{AskedError, SearchError};
use crate::search::model::{Batching, Limits, LinearProgram, WorkerRate};
use crate::search::profiling::Profiler;
use divisi_model::allocation::{Footprints, Frame};
use divisi_model::profile::Costs;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

use super::order::{FleetDevice, PlanOrder};

/// The most fleets to examine.
const MOST_FLEETS: u128 = 200_000;
/// The most devices of a fleet, equal to the longest list of devices.
const MOST_DEVICES: usize = Devices::MOST;

/// Returns the number of fleets of up to `most` devices of `kinds` kinds, or `None` if it is too
/// large.
fn how_many(kinds: usize, most: usize) -> Option<u128> {
    let mut count = 1;
    for kind in 1..=kinds as u128 {
        count = count * (most as u128 + kind) / kind;
        if count > MOST_FLEETS {
            return None;
        }
    }
    (most <= MOST_DEVICES).then_some(count - 1)
}

/// Checks an order before its fleets are created.
fn check(order: &PlanOrder) -> Result<(), AskedError> {
    let (kinds, most) = (order.kinds.len(), order.most);
    if kinds == 0 || most == 0 {
        return Err(AskedError::NoFleet);
    }
    if kinds > MOST_DEVICES {
        return Err(AskedError::ManyKinds(kinds));
    }
    if how_many(kinds, most).is_some() {
        return order.check_kinds();
    }
    let fits = (1..=MOST_DEVICES)
        .rev()
        .find(|&n| how_many(kinds, n).is_some());
    Err(match fits {
        Some(fits) => AskedError::ManyDevices {
            most: fits,
            kinds,
            found: most,
        },
        None => AskedError::ManyKinds(kinds),
    })
}

/// Returns the fleets as counts of each kind, the cheapest first.
pub(super) fn fleets(order: &PlanOrder) -> Result<Vec<Vec<usize>>, AskedError> {
    check(order)?;
    let mut fleets = vec![Vec::new()];
    for kind in &order.kinds {
        let mut longer = Vec::new();
        for fleet in &fleets {
            let used: usize = fleet.iter().sum();
            for count in 0..=kind.most.min(order.most - used) {
                longer.push([fleet.as_slice(), &[count]].concat());
            }
        }
        fleets = longer;
    }
    fleets.retain(|fleet| fleet.iter().sum::<usize>() > 0);
    let devices = |fleet: &[usize]| fleet.iter().sum::<usize>();
    let cost = |fleet: &[usize]| order.price(fleet).unwrap_or(devices(fleet) as f64);
    fleets.sort_by(|a, b| {
        let by_cost = cost(a).total_cmp(&cost(b));
        by_cost.then(devices(a).cmp(&devices(b)))
    });
    Ok(fleets)
}

/// The bounds of one of a kind.
struct KindCeiling {
    /// The bounds for each member at any batch size, by number of the device in the unit.
    workers: Vec<WorkerRate>,
    /// The number of devices in the unit.
    devices: usize,
    /// The fewest seconds of one sample of each member.
    least: Vec<f64>,
}

/// The upper bounds of fleets.
pub(super) struct Ceilings {
    members: usize,
    /// The members that determine the latency of requests.
    waited_for: Vec<MemberIndex>,
    kinds: Vec<KindCeiling>,
}

impl Ceilings {
    /// Computes the bounds for an order's kinds. Profiles kinds of this machine.
    ///
    /// # Errors
    /// A measurement failed, or the plan was cancelled.
    pub(crate) fn new(order: &PlanOrder, control: &Arc<Control>) -> Result<Self, SearchError> {
        let kinds = order.kinds.iter();
        let kinds = kinds.map(|kind| ceiling(order, kind, control));
        Ok(Ceilings {
            members: order.demand.models().members.len(),
            waited_for: order.demand.latency_members().collect(),
            kinds: kinds.collect::<Result<_, _>>()?,
        })
    }

    /// Returns whether a fleet passes all bounds.
    pub(crate) fn allow(&self, order: &PlanOrder, counts: &[usize]) -> bool {
        order.p99.is_none_or(|most| self.quickest(counts) <= most)
            && self.throughput(counts) > order.rate
    }

    /// Returns the most samples per second. Several of a kind count as one that is faster by their
    /// number.
    fn throughput(&self, counts: &[usize]) -> f64 {
        let (mut workers, mut first) = (Vec::new(), 0);
        for (kind, &count) in self.kinds.iter().zip(counts).filter(|(_, n)| **n > 0) {
            workers.extend(kind.workers.iter().map(|worker| WorkerRate {
                device: DeviceIndex::new(first + worker.device.get()),
                seconds: worker.seconds / count as f64,
                most: worker.most * count as f64,
                ..*worker
            }));
            first += kind.devices;
        }
        LinearProgram::new(self.members, first, &workers).throughput()
    }

    /// Returns the shortest possible latency: of the slowest member, alone on the fastest kind.
    fn quickest(&self, counts: &[usize]) -> Duration {
        let there = || self.kinds.iter().zip(counts).filter(|(_, n)| **n > 0);
        let least = |member: MemberIndex| {
            let kinds = there().map(|(kind, _)| kind.least[member]);
            kinds.fold(f64::INFINITY, f64::min)
        };
        let members = self.waited_for.iter().copied();
        let slowest = members.map(least).fold(0.0, f64::max);
        Duration::try_from_secs_f64(slowest).unwrap_or(Duration::MAX)
    }

    /// Returns the fleets by falling bound of throughput. Of equal fleets the cheapest comes first.
    pub(crate) fn highest<'a>(&self, fleets: &'a [Vec<usize>]) -> Vec<&'a [usize]> {
        let bounds = fleets.iter().map(|f| (self.throughput(f), f.as_slice()));
        let mut bounds: Vec<_> = bounds.collect();
        // A stable sort keeps the cheapest of equal fleets first.
        bounds.sort_by(|a, b| b.0.total_cmp(&a.0));
        bounds.into_iter().map(|(_, fleet)| fleet).collect()
    }

    /// Returns the parts of an order that no fleet can meet, in words.
    pub(crate) fn lacks(&self, order: &PlanOrder, fleets: &[Vec<usize>]) -> Vec<String> {
        let mut lacks = Vec::new();
        let highest = self.highest(fleets).into_iter().next();
        if let Some(fleet) = highest.filter(|f| self.throughput(f) <= order.rate) {
            lacks.push(format!(
                "{} serve at most {:.0} samples/s; {} are required",
                order.in_words(fleet),
                self.throughput(fleet),
                order.rate
            ));
        }
        let quickest = fleets.iter().min_by_key(|f| self.quickest(f));
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        if let (Some(fleet), Some(most)) = (quickest, order.p99) {
            let least = self.quickest(fleet);
            if least > most {
                lacks.push(format!(
                    "the fastest answer takes {:.3} ms ({}, one sample); p99 ≤ {} ms is required",
                    ms(least),
                    order.in_words(fleet),
                    ms(most)
                ));
            }
        }
        lacks
    }
}

/// Returns the bounds of one of a kind.
fn ceiling(
    order: &PlanOrder,
    kind: &FleetDevice,
    control: &Arc<Control>,
) -> Result<KindCeiling, SearchError> {
    let (models, rows) = (order.demand.models(), order.demand.by_member());
    let costs = costs(order, &kind.unit, control)?;
    let frame = Frame::from_ensemble(models, &kind.unit);
    let batching = Batching::from_ensemble(models);
    let limits = Limits::new(&frame, &kind.unit, &costs, batching).demanding(&rows);
    let least = |member| {
        let alone = kind
            .unit
            .indices()
            .map(|d| costs.alone(member, d, 1).latency);
        alone.fold(f64::INFINITY, f64::min)
    };
    Ok(KindCeiling {
        workers: limits.best_workers(|_, _| true),
        devices: kind.unit.count(),
        least: MemberIndex::all(models.members.len()).map(least).collect(),
    })
}

/// Returns the costs of batches on `devices`: by their laws, or as profiled.
fn costs(
    order: &PlanOrder,
    devices: &Devices,
    control: &Arc<Control>,
) -> Result<Costs, SearchError> {
    let catalogue = order.demand.catalogue();
    let profiler = Profiler {
        catalogue,
        devices,
        footprints: &Footprints::plan_catalogue(catalogue, devices),
        factory: order.factory.as_ref(),
        cache: order.cache.as_ref(),
        control,
    };
    Ok(profiler.costs()?.costs)
}
