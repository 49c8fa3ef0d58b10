//! The latency of batches by size, from measured points.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The latency of batches of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyPoint {
    /// The number of samples.
    pub batch: u32,
    /// The mean latency.
    pub mean: Duration,
    /// The latency that 99 % of batches do not exceed.
    pub p99: Duration,
}

/// Points with ascending batch sizes and linear interpolation.
///
/// INFaaS fits a line to batches of 1, 4 and 8; here every measured size counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<LatencyPoint>", into = "Vec<LatencyPoint>")]
pub struct LatencyCurve(Vec<LatencyPoint>);

/// Latencies that cannot have been measured.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum VariantProfileError {
    /// There are no points.
    #[error("expected the latency of at least one batch size, found none")]
    NoPoints,
    /// A point is impossible.
    #[error(
        "latency of a batch of {}: expected a size above 0 and 0 < mean <= p99, found mean {:?}, p99 {:?}",
        .0.batch, .0.mean, .0.p99
    )]
    Point(LatencyPoint),
    /// A latency falls although the batch grows.
    #[error(
        "latencies of batches of {} and {}: expected sizes and latencies that rise, found {:?} and {:?}",
        .0.batch, .1.batch, .0.mean, .1.mean
    )]
    Falls(LatencyPoint, LatencyPoint),
}

impl VariantProfileError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            VariantProfileError::NoPoints => "profile_empty",
            VariantProfileError::Point(_) => "profile_latency",
            VariantProfileError::Falls(..) => "profile_falls",
        }
    }
}

impl LatencyCurve {
    /// Creates a curve from points with ascending batch sizes.
    ///
    /// # Errors
    /// Returns an error if there are no points, sizes are 0 or do not ascend, or a latency is 0,
    /// falls with the size or exceeds its 99th percentile.
    pub fn new(points: Vec<LatencyPoint>) -> Result<Self, VariantProfileError> {
        if points.is_empty() {
            return Err(VariantProfileError::NoPoints);
        }
        for point in &points {
            let is_sound = point.batch > 0 && !point.mean.is_zero() && point.mean <= point.p99;
            if !is_sound {
                return Err(VariantProfileError::Point(*point));
            }
        }
        let falls = points.windows(2).find(|pair| {
            pair[1].batch <= pair[0].batch
                || pair[1].mean < pair[0].mean
                || pair[1].p99 < pair[0].p99
        });
        match falls {
            None => Ok(LatencyCurve(points)),
            Some(pair) => Err(VariantProfileError::Falls(pair[0], pair[1])),
        }
    }

    /// Returns the points of a line, `slope` × batch + `intercept`, at powers of two up to `most`
    /// and at `most`, with a 99th percentile `spread` times the mean.
    ///
    /// # Errors
    /// Returns the errors of [`LatencyCurve::new`]; numbers that are not durations become latencies
    /// of 0.
    pub fn line(
        slope: Duration,
        intercept: Duration,
        most: u32,
        spread: f64,
    ) -> Result<Self, VariantProfileError> {
        let powers = (0..32).map(|bit| 1_u32 << bit);
        let sizes = powers.take_while(|size| *size < most).chain([most]);
        let point = |batch: u32| {
            let mean = slope.saturating_mul(batch).saturating_add(intercept);
            let p99 = Duration::try_from_secs_f64(mean.as_secs_f64() * spread);
            LatencyPoint {
                batch,
                mean,
                p99: p99.unwrap_or_default(),
            }
        };
        Self::new(sizes.map(point).collect())
    }

    /// Returns the measured points.
    pub fn points(&self) -> &[LatencyPoint] {
        &self.0
    }

    /// Returns the mean latency of a batch.
    pub fn mean(&self, batch: u32) -> Duration {
        self.at(batch, |point| point.mean)
    }

    /// Returns the 99th percentile of a batch's latency.
    pub fn p99(&self, batch: u32) -> Duration {
        self.at(batch, |point| point.p99)
    }

    /// Interpolates between two points. Below the first point, returns its value; beyond the last,
    /// the value grows in proportion to the size, a bound for devices that split the batch.
    fn at(&self, batch: u32, value: impl Fn(&LatencyPoint) -> Duration) -> Duration {
        let above = self.0.partition_point(|point| point.batch < batch);
        let (Some(next), Some(last)) = (self.0.get(above), self.0.last()) else {
            let last = self.0.last();
            return last.map_or(Duration::ZERO, |last| {
                value(last) * batch.div_ceil(last.batch)
            });
        };
        let Some(before) = above.checked_sub(1).and_then(|at| self.0.get(at)) else {
            return value(next);
        };
        debug_assert!(next.batch <= last.batch);
        let way = f64::from(batch - before.batch) / f64::from(next.batch - before.batch);
        value(before) + (value(next).saturating_sub(value(before))).mul_f64(way)
    }
}

impl TryFrom<Vec<LatencyPoint>> for LatencyCurve {
    type Error = VariantProfileError;

    fn try_from(points: Vec<LatencyPoint>) -> Result<Self, Self::Error> {
        Self::new(points)
    }
}

impl From<LatencyCurve> for Vec<LatencyPoint> {
    fn from(curve: LatencyCurve) -> Self {
        curve.0
    }
}
