//! Batch times as they were measured, or as they were learnt from serving: less exact, and
//! free.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Seconds that batches of one member take on one kind of device, by rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(usize, f64)>", into = "Vec<(usize, f64)>")]
pub struct BatchTimes {
    /// Rows increase; every time is above zero.
    points: Vec<(usize, f64)>,
}

/// Points from which no batch time follows.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected at least one batch of 1 row or more, each with a time above 0 s")]
pub struct NotMeasured;

impl BatchTimes {
    /// Takes `(rows, seconds)` in any order; the last one of equal rows counts.
    ///
    /// # Errors
    /// There is no point, or one makes no sense.
    pub fn new(mut points: Vec<(usize, f64)>) -> Result<Self, NotMeasured> {
        points.sort_by_key(|(rows, _)| *rows);
        points.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = later.1;
            }
            same
        });
        let sane = |(rows, s): &(usize, f64)| *rows > 0 && s.is_finite() && *s > 0.0;
        if points.is_empty() || !points.iter().all(sane) {
            return Err(NotMeasured);
        }
        Ok(BatchTimes { points })
    }

    /// The same where every batch takes `pace` (above 0) times as long.
    ///
    /// # Errors
    /// A time would make no sense.
    pub fn at_pace(&self, pace: f64) -> Result<Self, NotMeasured> {
        let points = self.points.iter().map(|(rows, s)| (*rows, s * pace));
        BatchTimes::new(points.collect())
    }

    /// Seconds of a batch of `rows`: on the line between its neighbours, beyond the
    /// ends in proportion.
    pub fn seconds(&self, rows: usize) -> f64 {
        let at = self.points.partition_point(|(r, _)| *r < rows);
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        if at == self.points.len() {
            return last.1 * rows as f64 / last.0 as f64;
        }
        let (r1, s1) = self.points[at];
        if at == 0 {
            return first.1 * rows as f64 / first.0 as f64;
        }
        let (r0, s0) = self.points[at - 1];
        s0 + (s1 - s0) * (rows - r0) as f64 / (r1 - r0) as f64
    }
}

impl TryFrom<Vec<(usize, f64)>> for BatchTimes {
    type Error = NotMeasured;

    fn try_from(points: Vec<(usize, f64)>) -> Result<Self, NotMeasured> {
        BatchTimes::new(points)
    }
}

impl From<BatchTimes> for Vec<(usize, f64)> {
    fn from(measured: BatchTimes) -> Self {
        measured.points
    }
}

/// Batches remembered of each member on each kind of device; beyond it, old ones count
/// half as much, and again.
const MEMORY: f64 = 4096.0;
/// Fewer batches say nothing of a pace.
const ENOUGH: f64 = 32.0;
/// Rows spread by less than this share of their mean say nothing of how time grows.
const SPREAD: f64 = 0.05;

/// What was seen, by member and kind of device.
#[derive(Clone, Debug, Default)]
pub struct Learnt {
    seen: HashMap<(usize, usize), BatchSums>,
}

/// Weighted sums over batches: rows and seconds.
#[derive(Clone, Copy, Debug, Default)]
struct BatchSums {
    weight: f64,
    rows: f64,
    seconds: f64,
    rows_rows: f64,
    rows_seconds: f64,
}

impl Learnt {
    /// `batches` of `member` on a device of `kind` (a number that like devices share) had
    /// so many rows and seconds on average.
    pub fn see(&mut self, member: usize, kind: usize, batches: u64, rows: f64, seconds: f64) {
        if batches == 0 || rows <= 0.0 || seconds <= 0.0 {
            return;
        }
        let sums = self.seen.entry((member, kind)).or_default();
        sums.add(batches as f64, rows, seconds);
    }

    /// Whether enough batches were seen for their times to stay about as they are.
    pub fn is_settled(&self, member: usize, kind: usize) -> bool {
        let sums = self.seen.get(&(member, kind));
        sums.is_some_and(|sums| sums.weight >= ENOUGH)
    }

    /// How many times as long batches took as `profile` says of as many rows, on
    /// average; none where too few were seen.
    pub fn pace(&self, member: usize, kind: usize, profile: &BatchTimes) -> Option<f64> {
        let sums = self.seen.get(&(member, kind))?;
        let rows = (sums.rows / sums.weight).round().max(1.0) as usize;
        let seconds = sums.seconds / sums.weight;
        (sums.weight >= ENOUGH).then(|| seconds / profile.seconds(rows))
    }

    /// What follows for batches of `sizes`: fixed seconds and seconds a row where
    /// batches of several sizes were seen, else in proportion. None where none were.
    pub fn measured(&self, member: usize, kind: usize, sizes: &[usize]) -> Option<BatchTimes> {
        let (fixed, each) = self.seen.get(&(member, kind))?.line()?;
        let point = |rows: &usize| (*rows, fixed + each * *rows as f64);
        BatchTimes::new(sizes.iter().map(point).collect()).ok()
    }
}

impl BatchSums {
    fn add(&mut self, weight: f64, rows: f64, seconds: f64) {
        if self.weight > MEMORY {
            let sums = [
                &mut self.weight,
                &mut self.rows,
                &mut self.seconds,
                &mut self.rows_rows,
                &mut self.rows_seconds,
            ];
            sums.into_iter().for_each(|sum| *sum /= 2.0);
        }
        self.weight += weight;
        self.rows += weight * rows;
        self.seconds += weight * seconds;
        self.rows_rows += weight * rows * rows;
        self.rows_seconds += weight * rows * seconds;
    }

    /// Fixed seconds, and seconds a row: least squares, neither below zero.
    fn line(&self) -> Option<(f64, f64)> {
        let mean = |sum: f64| sum / self.weight;
        let (rows, seconds) = (mean(self.rows), mean(self.seconds));
        if self.weight <= 0.0 || rows <= 0.0 {
            return None;
        }
        let proportional = seconds / rows;
        let variance = mean(self.rows_rows) - rows * rows;
        if variance <= (SPREAD * rows).powi(2) {
            return Some((0.0, proportional));
        }
        let slope = (mean(self.rows_seconds) - rows * seconds) / variance;
        let each = slope.clamp(0.0, proportional);
        Some((seconds - each * rows, each))
    }
}
