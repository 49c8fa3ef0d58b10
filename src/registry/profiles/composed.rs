//! The profile of a sub-ensemble, composed of the profiles of its members.
//!
//! A sub-ensemble is not measured as a whole, because there are up to 4 095 of them. The
//! composition assumes an otherwise idle device that runs one member's batch after another, so
//! times, loading and memory add up. The sum of the members' 99th percentiles replaces the 99th
//! percentile of the sum, which is at most about that large. Accelerators run lanes in parallel, so
//! for them the sum is also a cautious estimate.

use std::num::NonZeroU32;
use std::time::Duration;

use divisi_modelless::quantities::DeviceShare;
use divisi_modelless::variants::{
    DeviceSharing, LatencyCurve, LatencyPoint, PricedDevice, VariantProfile, VariantProfileError,
};

/// A member's batches of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchPoint {
    /// The number of samples.
    pub batch: u32,
    /// The time of a batch.
    pub time: Duration,
    /// The 99th percentile of a batch's time, divided by its usual time.
    pub tail: f64,
    /// The memory of a worker for batches of this size, in bytes.
    pub memory: u64,
}

/// The measurements of one member in one precision on one kind of device.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberProfile {
    /// Its batches, in ascending size. All members have the same sizes.
    pub points: Vec<BatchPoint>,
    /// The time from weights in memory to the answer to the first batch.
    pub loading: Duration,
}

/// Composes the profile of members that answer together in batches of up to `batch`.
///
/// # Errors
/// As [`LatencyCurve::new`]: no size was measured, or a time is 0.
pub fn composed(
    members: &[&MemberProfile],
    device: &PricedDevice,
    batch: NonZeroU32,
) -> Result<VariantProfile, VariantProfileError> {
    let sum = |of: &dyn Fn(&MemberProfile) -> Duration| members.iter().map(|m| of(m)).sum();
    let sizes = members.first().map_or(&[][..], |m| &m.points[..]);
    let sizes = sizes.iter().map(|point| point.batch);
    let points = sizes.take_while(|size| *size <= batch.get()).map(|size| {
        let time = |m: &MemberProfile| m.time(size);
        LatencyPoint {
            batch: size,
            mean: sum(&time),
            p99: sum(&|m| m.p99(size)),
        }
    });
    let memory = members.iter().map(|m| m.memory(batch.get()));
    let share = DeviceShare::WHOLE;
    Ok(VariantProfile {
        latency: LatencyCurve::new(rising(points.collect()))?,
        lanes: NonZeroU32::MIN,
        loading: sum(&|m| m.loading),
        memory: memory.fold(0, u64::saturating_add),
        share,
        sharing: DeviceSharing::Time,
        cost: device.cost(share),
    })
}

impl MemberProfile {
    fn point(&self, batch: u32) -> Option<&BatchPoint> {
        self.points.iter().find(|point| point.batch == batch)
    }

    fn time(&self, batch: u32) -> Duration {
        self.point(batch).map_or(Duration::ZERO, |point| point.time)
    }

    fn p99(&self, batch: u32) -> Duration {
        let p99 = |point: &BatchPoint| point.time.mul_f64(point.tail.max(1.0));
        self.point(batch).map_or(Duration::ZERO, p99)
    }

    fn memory(&self, batch: u32) -> u64 {
        self.point(batch).map_or(0, |point| point.memory)
    }
}

/// Raises the time of each batch to at least that of smaller batches. A lower time is measurement
/// noise.
fn rising(mut points: Vec<LatencyPoint>) -> Vec<LatencyPoint> {
    for at in 1..points.len() {
        let before = points[at - 1];
        points[at].mean = points[at].mean.max(before.mean);
        points[at].p99 = points[at].p99.max(before.p99);
    }
    points
}
