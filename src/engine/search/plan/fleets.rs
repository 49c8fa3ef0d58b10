//! The goal of a plan, the possible fleets, and upper bounds for their matrices.

use std::sync::Arc;
use std::time::Duration;

use crate::search::error::AskedError;
use crate::search::model::{Batching, Limits, LinearProgram, WorkerRate};
use divisi_model::allocation::Frame;
use divisi_model::catalogue::Demand;
use divisi_model::profile::Costs;
use divisi_runtime::device::simulated::DeviceProfile;
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};

/// A kind of device that a fleet may contain.
#[derive(Clone, Debug)]
pub struct FleetDevice {
    /// The name of a built-in profile, or a file.
    pub name: String,
    /// Its profile.
    pub profile: Arc<DeviceProfile>,
}

/// An order for a plan.
#[derive(Clone, Debug)]
pub struct PlanOrder {
    /// The ensemble to serve, or several with their shares of the requests.
    pub demand: Demand,
    /// The available kinds of device.
    pub kinds: Vec<FleetDevice>,
    /// The most devices of all kinds together.
    pub most: usize,
    /// The required samples per second.
    pub rate: f64,
    /// The highest allowed p99.
    pub p99: Option<Duration>,
    /// Bytes that must stay free in the memory of every device.
    pub spare_memory: u64,
    /// The seed of the search.
    pub seed: u64,
    /// Whether to continue after the answer, for a longer list of offers.
    pub wide: bool,
}

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
    if how_many(kinds, most).is_some() {
        return Ok(());
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
    for _ in &order.kinds {
        let mut longer = Vec::new();
        for fleet in &fleets {
            let used: usize = fleet.iter().sum();
            for count in 0..=order.most - used {
                longer.push([fleet.as_slice(), &[count]].concat());
            }
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

/// Returns the price of a fleet per hour, or `None` if a kind's price is unknown.
pub(super) fn price(order: &PlanOrder, counts: &[usize]) -> Option<f64> {
    let kinds = order.kinds.iter().zip(counts);
    let prices = kinds.map(|(kind, &count)| Some(kind.profile.price? * count as f64));
    prices.sum()
}

/// Returns the devices of a fleet.
pub(super) fn devices(order: &PlanOrder, counts: &[usize]) -> Result<Devices, AskedError> {
    let kinds = order.kinds.iter().zip(counts);
    let kinds = kinds.filter(|(_, count)| **count > 0);
    let names = kinds.map(|(kind, count)| format!("sim:{}*{count}", kind.name));
    let names: Vec<String> = names.collect();
    let nowhere = Host {
        cores: Vec::new(),
        memory_bytes: 0,
    };
    Ok(Devices::from_names(&names, &nowhere)?)
}

impl PlanOrder {
    /// Returns a fleet in words, such as `16 × v100 + 1 × cpu`.
    pub fn in_words(&self, counts: &[usize]) -> String {
        let kinds = self.kinds.iter().zip(counts).filter(|(_, n)| **n > 0);
        let parts: Vec<String> = kinds
            .map(|(kind, n)| format!("{n} × {}", kind.name))
            .collect();
        parts.join(" + ")
    }
}

/// The bounds of one device of a kind.
struct DeviceCeiling {
    /// The bounds for each member at any batch size.
    workers: Vec<WorkerRate>,
    /// The fewest seconds of one sample of each member.
    least: Vec<f64>,
}

/// The upper bounds of fleets.
pub(super) struct Ceilings {
    members: usize,
    /// The members that determine the latency of requests.
    waited_for: Vec<MemberIndex>,
    shares: Vec<DeviceCeiling>,
}

impl Ceilings {
    /// Computes the bounds for an order's kinds.
    pub(crate) fn new(order: &PlanOrder) -> Self {
        let (models, rows) = (order.demand.models(), order.demand.by_member());
        let kinds = DeviceIndex::enumerate(&order.kinds);
        let share = kinds.map(|(number, kind)| {
            let one = Devices::simulated(&kind.profile, 1);
            let costs = Costs::of_laws(models, &one);
            let frame = Frame::from_ensemble(models, &one);
            let limits =
                Limits::new(&frame, &one, &costs, Batching::from_ensemble(models)).demanding(&rows);
            let best = limits.best_workers(|_, _| true).into_iter();
            let members = MemberIndex::all(models.members.len());
            let alone = DeviceIndex::new(0);
            DeviceCeiling {
                workers: best
                    .map(|w| WorkerRate {
                        device: number,
                        ..w
                    })
                    .collect(),
                least: members.map(|m| costs.alone(m, alone, 1).latency).collect(),
            }
        });
        Ceilings {
            members: models.members.len(),
            waited_for: order.demand.latency_members().collect(),
            shares: share.collect(),
        }
    }

    /// Returns whether a fleet passes all bounds.
    pub(crate) fn allow(&self, order: &PlanOrder, counts: &[usize]) -> bool {
        order.p99.is_none_or(|most| self.quickest(counts) <= most)
            && self.throughput(counts) > order.rate
    }

    /// Returns the most samples per second. Several devices of a kind count as one that is faster
    /// by their number.
    fn throughput(&self, counts: &[usize]) -> f64 {
        let there = self.shares.iter().zip(counts).filter(|(_, n)| **n > 0);
        let workers = there.flat_map(|(share, &count)| {
            share.workers.iter().map(move |worker| WorkerRate {
                seconds: worker.seconds / count as f64,
                most: worker.most * count as f64,
                ..*worker
            })
        });
        let workers: Vec<WorkerRate> = workers.collect();
        LinearProgram::new(self.members, self.shares.len(), &workers).throughput()
    }

    /// Returns the shortest possible latency: of the slowest member, alone on the fastest kind.
    fn quickest(&self, counts: &[usize]) -> Duration {
        let there = || self.shares.iter().zip(counts).filter(|(_, n)| **n > 0);
        let least = |member: MemberIndex| {
            let kinds = there().map(|(share, _)| share.least[member]);
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
