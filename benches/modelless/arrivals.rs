//! Generated loads of fleets: arrival times and streams of queries.

use std::time::Duration;

use divisi_modelless::fleet::QueryArrival;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

/// A rate over time: points with linear interpolation.
#[derive(Clone, Debug, PartialEq)]
pub struct RateShape(Vec<(Duration, f64)>);

/// An invalid shape.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("point {at}: expected times that rise and rates from 0 to 1e9, found {found:?}")]
pub struct RateShapeError {
    /// The point, counted from 0.
    pub at: usize,
    /// The time and rate, or `None` if there are fewer than two points.
    pub found: Option<(Duration, f64)>,
}

impl RateShape {
    /// Creates a shape from times and rates in queries per second.
    ///
    /// # Errors
    /// Returns an error if there are fewer than two points, times do not ascend, or a rate is out
    /// of range.
    pub fn new(points: Vec<(Duration, f64)>) -> Result<Self, RateShapeError> {
        let mut before = None;
        for (at, point) in points.iter().enumerate() {
            let rises = before.is_none_or(|before| before < point.0);
            if !rises || !(0.0..=1e9).contains(&point.1) {
                return Err(RateShapeError {
                    at,
                    found: Some(*point),
                });
            }
            before = Some(point.0);
        }
        match points.len() {
            0 | 1 => Err(RateShapeError {
                at: points.len(),
                found: None,
            }),
            _ => Ok(RateShape(points)),
        }
    }

    /// Returns a constant rate.
    ///
    /// # Errors
    /// Returns an error if the rate is out of range or the length is 0.
    pub fn flat(rate: f64, length: Duration) -> Result<Self, RateShapeError> {
        Self::new(vec![(Duration::ZERO, rate), (length, rate)])
    }

    /// Returns a day compressed to `length`, from `least` at night to `most` in the evening, with a
    /// lower peak at noon and four short spikes of intermediate heights at seeded times.
    ///
    /// # Errors
    /// Returns an error if a rate is out of range or the length is 0.
    pub fn day(least: f64, most: f64, length: Duration, seed: u64) -> Result<Self, RateShapeError> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let spikes = [(); 4].map(|()| {
            let at = random.random_range(0.1..0.9);
            (at, random.random_range(0.1..0.35))
        });
        let height = |x: f64| {
            let bump = |at: f64, wide: f64| (-((x - at) / wide).powi(2)).exp();
            let day = 0.45 * bump(0.42, 0.12) + bump(0.75, 0.1);
            let spikes: f64 = spikes
                .iter()
                .map(|(at, high)| high * bump(*at, 0.006))
                .sum();
            (day + spikes).min(1.0)
        };
        let point = |step: u32| {
            let x = f64::from(step) / 500.0;
            (length.mul_f64(x), least + (most - least) * height(x))
        };
        Self::new((0..=500).map(point).collect())
    }

    /// Returns the rate at a time; outside of the points it is 0.
    pub fn rate(&self, at: Duration) -> f64 {
        let above = self.0.partition_point(|(time, _)| *time <= at);
        let (Some(next), Some(before)) = (self.0.get(above), above.checked_sub(1)) else {
            return 0.0;
        };
        let before = self.0[before];
        let way = (at - before.0).as_secs_f64() / (next.0 - before.0).as_secs_f64();
        before.1 + (next.1 - before.1) * way
    }

    /// Returns the expected number of queries until the end.
    pub fn expected(&self) -> f64 {
        let pieces = self.0.windows(2);
        let each = pieces.map(|p| 0.5 * (p[0].1 + p[1].1) * (p[1].0 - p[0].0).as_secs_f64());
        each.sum()
    }

    /// Returns the same course over another length.
    #[must_use]
    pub fn stretched(&self, factor: f64) -> Self {
        let stretch = |(at, rate): &(Duration, f64)| (at.mul_f64(factor), *rate);
        RateShape(self.0.iter().map(stretch).collect())
    }

    fn end(&self) -> Duration {
        self.0.last().map_or(Duration::ZERO, |(at, _)| *at)
    }

    fn most(&self) -> f64 {
        self.0.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }
}

/// Returns Poisson arrivals with a changing rate (by thinning: Lewis and Shedler 1979), each
/// assigned to a stream by the streams' shares.
pub fn poisson(shape: &RateShape, shares: &[f64], seed: u64) -> Vec<QueryArrival> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (most, end) = (shape.most(), shape.end().as_secs_f64());
    let all: f64 = shares.iter().sum();
    let mut arrivals = Vec::new();
    let mut at = 0.0;
    if most <= 0.0 || all <= 0.0 {
        return arrivals;
    }
    loop {
        // From above 0 to 1, so that the logarithm is finite.
        at -= (1.0 - random.random::<f64>()).ln() / most;
        if at >= end {
            return arrivals;
        }
        let time = Duration::from_secs_f64(at);
        let taken = random.random::<f64>() * most < shape.rate(time);
        let stream = pick(shares, random.random::<f64>() * all);
        if taken {
            arrivals.push(QueryArrival { at: time, stream });
        }
    }
}

fn pick(shares: &[f64], mut point: f64) -> u16 {
    for (at, share) in shares.iter().enumerate() {
        point -= share;
        if point < 0.0 {
            return at as u16;
        }
    }
    // Rounding may leave a remainder after the last stream.
    shares.len().saturating_sub(1) as u16
}

/// Returns `count` shares by Zipf's law with this exponent.
pub fn zipf_shares(count: usize, exponent: f64) -> Vec<f64> {
    let weights = (1..=count).map(|rank| (rank as f64).powf(-exponent));
    let weights: Vec<f64> = weights.collect();
    let all: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / all).collect()
}
