//! The device time that queries leave to other goals while devices are overloaded.
//!
//! Each met goal is worth the same, so a device second is worth the queries that it answers.
//! Queries that need less device time therefore go first: the greedy order is optimal for the
//! fractional knapsack (Dantzig, 1957). Deadlines alone would give the time to the queries with the
//! latest deadlines, which book it first, whatever they cost.
//!
//! A query leaves time to the expected queries of cheaper goals, and of goals with shorter latencies
//! that would otherwise find all time booked. Every stream of queries keeps a small share. Without
//! an overloaded device, the terms of all streams are empty and nothing changes.

use std::time::Duration;

use divisi_runtime::device::DeviceIndex;

use super::due_work::nanoseconds;
use super::streams::StreamIndex;
use super::terms::{OfferedLoad, StreamOffer, StreamTerms};

/// The time between two reviews of the terms.
const REVIEW: Duration = Duration::from_millis(250);
/// The time constant of rates and device times.
const MEMORY: Duration = Duration::from_millis(500);
/// The share of a stream's queries without room above which its devices are overloaded.
const CROWDED: f64 = 0.01;
/// The time for which a device counts as overloaded.
const STAYS: Duration = Duration::from_secs(2);
/// The samples a second that count as none: a mean never decays to 0 by itself.
const RARE: f64 = 0.01;
/// The largest ratio of measured device time to that in full batches.
const COARSEST: f64 = 8.0;

/// The load of a stream.
#[derive(Clone, Debug, Default)]
struct StreamLoad {
    /// The samples that arrived since the last review, accepted or not.
    arrived: u64,
    /// The samples among them that found no room.
    crowded: u64,
    /// The accepted samples since the last review, and their device time in nanoseconds.
    booked: (u64, u64),
    /// The unanswered work in nanoseconds.
    waits: u64,
    /// The samples a second.
    rate: f64,
    /// The mean device time of a sample in nanoseconds; 0 if unknown.
    price: f64,
    terms: StreamTerms,
}

/// The terms of all streams, renewed a few times a second.
#[derive(Clone, Debug, Default)]
pub(super) struct OverloadTerms {
    streams: Vec<StreamLoad>,
    /// The time until which each device counts as overloaded.
    overloaded: Vec<Duration>,
    reviewed: Duration,
}

impl OverloadTerms {
    fn stream(&mut self, at: StreamIndex) -> &mut StreamLoad {
        let at = at.get();
        if self.streams.len() <= at {
            self.streams.resize_with(at + 1, StreamLoad::default);
        }
        &mut self.streams[at]
    }

    /// Counts arrived samples, and whether they found no room.
    pub(super) fn arrived(&mut self, at: StreamIndex, samples: u32, found_room: bool) {
        let stream = self.stream(at);
        stream.arrived += u64::from(samples);
        if !found_room {
            stream.crowded += u64::from(samples);
        }
    }

    /// Counts accepted samples.
    pub(super) fn booked(&mut self, at: StreamIndex, samples: u32, work: Duration) {
        let (stream, work) = (self.stream(at), nanoseconds(work));
        stream.booked.0 += u64::from(samples);
        stream.booked.1 += work;
        stream.waits += work;
    }

    /// Removes the work of a finished query.
    pub(super) fn ended(&mut self, at: StreamIndex, work: Duration) {
        let stream = self.stream(at);
        stream.waits = stream.waits.saturating_sub(nanoseconds(work));
    }

    /// Returns the terms of a stream, or `None` if they are empty.
    pub(super) fn terms(&self, at: Option<StreamIndex>) -> Option<&StreamTerms> {
        let stream = self.streams.get(at?.get())?;
        (stream.terms != StreamTerms::default()).then_some(&stream.terms)
    }

    /// Returns whether a stream may have more work waiting on devices in any case.
    pub(super) fn is_kept(
        &self,
        at: Option<StreamIndex>,
        devices: &[(DeviceIndex, f64)],
        work: Duration,
        goal: Duration,
    ) -> bool {
        let stream = at.and_then(|at| self.streams.get(at.get()));
        stream.is_some_and(|stream| {
            let waits = stream.waits.saturating_add(nanoseconds(work));
            waits as f64 <= stream.terms.kept(devices, goal)
        })
    }

    /// Returns whether the terms are due for a review.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        now >= self.reviewed + REVIEW
    }

    /// Renews the terms; `offers` are those of the streams in order, `None` for a stream without a
    /// latency goal or a running variant that meets its goals.
    pub(super) fn review(&mut self, now: Duration, offers: &[Option<StreamOffer>]) {
        let passed = now.saturating_sub(self.reviewed);
        self.reviewed = now;
        self.streams.resize_with(offers.len(), StreamLoad::default);
        for (stream, offer) in self.streams.iter_mut().zip(offers) {
            let is_crowded = stream.pass(passed);
            let devices = offer.iter().flat_map(|offer| &offer.devices);
            for (device, _) in devices.filter(|_| is_crowded) {
                let at = device.get();
                let known = self.overloaded.len().max(at + 1);
                self.overloaded.resize(known, Duration::ZERO);
                self.overloaded[at] = now + STAYS;
            }
        }
        let terms = self.renewed(now, offers);
        for (stream, terms) in self.streams.iter_mut().zip(terms) {
            stream.terms = terms;
        }
    }

    fn renewed(&self, now: Duration, offers: &[Option<StreamOffer>]) -> Vec<StreamTerms> {
        if self.overloaded.iter().all(|until| *until <= now) {
            return vec![StreamTerms::default(); offers.len()];
        }
        let loads = self.streams.iter().zip(offers);
        let loads = loads.map(|(stream, offer)| stream.offered(offer.as_ref()?));
        let loads: Vec<Option<OfferedLoad<'_>>> = loads.collect();
        let each = loads.iter().map(|load| match load {
            Some(load) => self.terms_of(now, load, &loads),
            None => StreamTerms::default(),
        });
        each.collect()
    }

    fn terms_of(
        &self,
        now: Duration,
        own: &OfferedLoad<'_>,
        all: &[Option<OfferedLoad<'_>>],
    ) -> StreamTerms {
        let until = |device: DeviceIndex| self.overloaded.get(device.get()).copied();
        let devices = own.offer.devices.iter().map(|(device, _)| *device);
        let devices = devices.filter(|device| until(*device).is_some_and(|until| until > now));
        let devices: Vec<DeviceIndex> = devices.collect();
        StreamTerms::new(&devices, own, all)
    }
}

impl StreamLoad {
    /// Updates the means after some time. Returns whether too many queries found no room.
    fn pass(&mut self, time: Duration) -> bool {
        let seconds = time.as_secs_f64().max(1e-3);
        let weight = 1.0 - (-seconds / MEMORY.as_secs_f64()).exp();
        self.rate += weight * (self.arrived as f64 / seconds - self.rate);
        if self.rate < RARE {
            self.rate = 0.0;
        }
        let (samples, work) = std::mem::take(&mut self.booked);
        if samples > 0 {
            let price = work as f64 / samples as f64;
            let known = if self.price > 0.0 { self.price } else { price };
            self.price = known + weight * (price - known);
        }
        let (arrived, crowded) = (self.arrived, self.crowded);
        (self.arrived, self.crowded) = (0, 0);
        crowded as f64 > CROWDED * arrived as f64
    }

    fn offered<'a>(&self, offer: &'a StreamOffer) -> Option<OfferedLoad<'a>> {
        (offer.price > 0.0).then_some(OfferedLoad {
            offer,
            rate: self.rate,
            price: self.price.clamp(offer.price, COARSEST * offer.price),
        })
    }
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/routing/overload.rs"]
mod tests;
