//! The terms on which the queries of a stream are accepted while devices are overloaded.

use std::time::Duration;

use divisi_runtime::device::DeviceIndex;

use super::due_work::nanoseconds;

/// The ratio of device times above which queries count as more expensive: for less, profiles are
/// too coarse.
const MORE_EXPENSIVE: f64 = 1.25;
/// The share of a device that all streams together keep, whatever cheaper queries need.
pub(super) const KEPT: f64 = 0.1;
/// The share of a device up to which cheap queries go ahead of accepted expensive ones.
const AHEAD: f64 = 0.5;
/// The number of standard deviations of Poisson arrivals that are left to others.
const SPREAD: f64 = 3.0;

/// The way in which the queries of a stream would be answered on idle devices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StreamOffer {
    /// The device time of a sample in a full batch, in nanoseconds.
    pub(super) price: f64,
    /// The latency goal.
    pub(super) latency: Duration,
    /// The devices, each with its share of the work.
    pub(super) devices: Vec<(DeviceIndex, f64)>,
}

/// The terms on which the queries of a stream are accepted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StreamTerms {
    /// Whether the queries go ahead of accepted queries of more expensive goals.
    pub(super) hurries: bool,
    devices: Vec<(DeviceIndex, DeviceTerms)>,
}

/// The terms on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct DeviceTerms {
    /// The share of the device that is left to others.
    left: f64,
    /// The sum of these shares, each times the device time of a sample in nanoseconds.
    spread: f64,
    /// The share of the device that the stream keeps.
    kept: f64,
}

impl StreamTerms {
    /// Creates the terms of a stream on its overloaded devices; `all` are the streams in order.
    pub(super) fn new(
        devices: &[DeviceIndex],
        own: &OfferedLoad<'_>,
        all: &[Option<OfferedLoad<'_>>],
    ) -> Self {
        let others = |device: DeviceIndex| {
            let active = all.iter().flatten().filter(|load| load.rate > 0.0);
            active.filter(move |load| load.part(device) > 0.0)
        };
        let has_more_expensive =
            |at: &DeviceIndex| others(*at).any(|load| load.is_more_expensive_than(own));
        let is_small = |at: &DeviceIndex| ahead(*at, own, others(*at)) <= AHEAD;
        let terms = devices
            .iter()
            .map(|at| (*at, device_terms(*at, own, others(*at))));
        StreamTerms {
            hurries: devices.iter().any(has_more_expensive) && devices.iter().all(is_small),
            devices: terms.collect(),
        }
    }

    fn on(&self, device: DeviceIndex) -> DeviceTerms {
        let mut devices = self.devices.iter();
        let found = devices.find(|(at, _)| *at == device);
        found.map_or_else(DeviceTerms::default, |(_, terms)| *terms)
    }

    /// Returns the work in nanoseconds that is left to other queries on a device for some time.
    pub(super) fn left(&self, device: DeviceIndex, time: Duration) -> u64 {
        let (terms, time) = (self.on(device), nanoseconds(time) as f64);
        (terms.left * time + SPREAD * (terms.spread * time).sqrt()) as u64
    }

    /// Returns the work in nanoseconds that the stream may have waiting in any case.
    pub(super) fn kept(&self, devices: &[(DeviceIndex, f64)], time: Duration) -> f64 {
        let shares = devices.iter().map(|(device, _)| self.on(*device).kept);
        shares.sum::<f64>() * nanoseconds(time) as f64
    }
}

/// A stream with its offer, as the terms see it.
pub(super) struct OfferedLoad<'a> {
    pub(super) offer: &'a StreamOffer,
    /// The samples a second.
    pub(super) rate: f64,
    /// The device time of a sample in nanoseconds, at the current batch sizes.
    pub(super) price: f64,
}

impl OfferedLoad<'_> {
    fn part(&self, device: DeviceIndex) -> f64 {
        let mut devices = self.offer.devices.iter();
        let found = devices.find(|(at, _)| *at == device);
        found.map_or(0.0, |(_, part)| *part)
    }

    /// Returns the share of a device that the queries need.
    fn share(&self, device: DeviceIndex) -> f64 {
        1e-9 * self.rate * self.price * self.part(device)
    }

    fn is_more_expensive_than(&self, other: &Self) -> bool {
        self.offer.price > MORE_EXPENSIVE * other.offer.price
    }
}

/// Returns the share of a device that a stream needs, together with all streams that are not more
/// expensive.
fn ahead<'l, 'o: 'l>(
    device: DeviceIndex,
    own: &OfferedLoad<'_>,
    all: impl Iterator<Item = &'l OfferedLoad<'o>>,
) -> f64 {
    let cheap = all.filter(|load| !load.is_more_expensive_than(own));
    cheap.map(|load| load.share(device)).sum()
}

fn device_terms<'l, 'o: 'l>(
    device: DeviceIndex,
    own: &OfferedLoad<'_>,
    all: impl Iterator<Item = &'l OfferedLoad<'o>> + Clone,
) -> DeviceTerms {
    let is_alike = |load: &&OfferedLoad<'_>| {
        !load.is_more_expensive_than(own) && !own.is_more_expensive_than(load)
    };
    let (count, alike) = (
        all.clone().count().max(1),
        all.clone().filter(is_alike).count(),
    );
    let kept = KEPT / count as f64;
    let (mut left, mut spread) = (0.0, 0.0);
    for load in all {
        let is_sooner = load.offer.latency < own.offer.latency;
        let share = match load.share(device) {
            share if own.is_more_expensive_than(load) => share,
            share if is_sooner && load.is_more_expensive_than(own) => share.min(kept),
            // Equally expensive queries have equal parts.
            share if is_sooner => share.min(1.0 / alike.max(1) as f64),
            _ => 0.0,
        };
        left += share;
        spread += share * load.price;
    }
    DeviceTerms {
        left: left.min(1.0 - KEPT),
        spread,
        kept,
    }
}
