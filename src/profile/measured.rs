//! Batch times as they were measured.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Seconds that batches of one member take on one kind of device, by rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(usize, f64)>", into = "Vec<(usize, f64)>")]
pub struct Measured {
    /// Rows increase; every time is above zero.
    points: Vec<(usize, f64)>,
}

/// Points from which no batch time follows.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected at least one batch of 1 row or more, each with a time above 0 s")]
pub struct NotMeasured;

impl Measured {
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
        Ok(Measured { points })
    }

    /// The same where every batch takes `pace` (above 0) times as long.
    ///
    /// # Errors
    /// A time would make no sense.
    pub fn at_pace(&self, pace: f64) -> Result<Self, NotMeasured> {
        let points = self.points.iter().map(|(rows, s)| (*rows, s * pace));
        Measured::new(points.collect())
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

impl TryFrom<Vec<(usize, f64)>> for Measured {
    type Error = NotMeasured;

    fn try_from(points: Vec<(usize, f64)>) -> Result<Self, NotMeasured> {
        Measured::new(points)
    }
}

impl From<Measured> for Vec<(usize, f64)> {
    fn from(measured: Measured) -> Self {
        measured.points
    }
}
