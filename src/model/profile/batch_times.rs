//! Batch times: measured, or learnt while serving. Learnt times are less exact, but cost nothing.

use divisi_runtime::device::{DeviceIndex, MemberIndex};
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The times of batches of one member on one kind of device, in seconds by number of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(usize, f64)>", into = "Vec<(usize, f64)>")]
pub struct BatchTimes {
    /// The points, with increasing rows and times above zero.
    points: Vec<(usize, f64)>,
}

/// Points that are not valid batch times.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected at least one batch of 1 row or more, each with a time above 0 s")]
pub struct NotMeasured;

impl BatchTimes {
    /// Creates batch times from points `(rows, seconds)` in any order. Of points with equal rows,
    /// the last one counts.
    ///
    /// # Errors
    /// There is no point, or a point has no row or no time.
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

    /// Returns the points `(rows, seconds)` with increasing rows.
    pub fn points(&self) -> &[(usize, f64)] {
        &self.points
    }

    /// Returns the times multiplied by `pace`, which is above 0.
    ///
    /// # Errors
    /// A time would be 0 or infinite.
    pub fn at_pace(&self, pace: f64) -> Result<Self, NotMeasured> {
        let points = self.points.iter().map(|(rows, s)| (*rows, s * pace));
        BatchTimes::new(points.collect())
    }

    /// Returns the seconds of a batch of `rows`: interpolated between neighbours, and proportional
    /// beyond the ends.
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

/// The number of remembered batches of each member on each kind of device. Beyond it, the weight of
/// old batches is halved.
const MEMORY: f64 = 4096.0;
/// The minimum number of batches for stable times.
const ENOUGH: f64 = 32.0;
/// The minimum spread of rows, as a share of their mean, for estimating the growth of the time.
const SPREAD: f64 = 0.05;

/// Batch times seen while serving, by member and kind of device.
#[derive(Clone, Debug, Default)]
pub struct Learnt {
    seen: HashMap<(MemberIndex, DeviceIndex), BatchSums>,
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
    /// Forgets the batches of a member whose computation changes.
    pub fn forget(&mut self, member: MemberIndex) {
        self.seen.retain(|(of, _), _| *of != member);
    }

    /// Adds `batches` of `member` on a device of `kind` (a number shared by equal devices), with
    /// their mean rows and seconds.
    pub fn see(
        &mut self,
        member: MemberIndex,
        kind: DeviceIndex,
        batches: u64,
        rows: f64,
        seconds: f64,
    ) {
        if batches == 0 || rows <= 0.0 || seconds <= 0.0 {
            return;
        }
        let sums = self.seen.entry((member, kind)).or_default();
        sums.add(batches as f64, rows, seconds);
    }

    /// Returns whether enough batches were seen for stable times.
    pub fn is_settled(&self, member: MemberIndex, kind: DeviceIndex) -> bool {
        let sums = self.seen.get(&(member, kind));
        sums.is_some_and(|sums| sums.weight >= ENOUGH)
    }

    /// Returns the times of batches of `sizes`: fixed seconds plus seconds per row if batches of
    /// several sizes were seen, else proportional times. Returns `None` if no batches were seen.
    pub fn measured(
        &self,
        member: MemberIndex,
        kind: DeviceIndex,
        sizes: &[usize],
    ) -> Option<BatchTimes> {
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

    /// Returns fixed seconds and seconds per row, by least squares with both at least zero.
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
