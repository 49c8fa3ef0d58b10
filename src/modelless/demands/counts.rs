//! The queries of a stream, counted, and how many are to be expected.

use std::time::Duration;

use super::stream::QueryStream;
use crate::policies::TaskDemand;
use crate::quantities::QueryRate;

/// The intervals that the means of a stream are taken over, about.
pub const MEAN_INTERVALS: u8 = 4;
/// How much of a mean the last interval is.
const LAST: f64 = 1.0 / MEAN_INTERVALS as f64;
/// The queries a second below which nobody asks: a mean alone never comes to an end.
const NOBODY: f64 = 0.01;
/// The time over which the usual rate is a mean.
const USUAL_OVER: Duration = Duration::from_secs(120);
/// How many standard deviations of Poisson's arrivals an interval has to be off the mean for the
/// rate to be another one.
const ANOTHER_RATE: f64 = 3.0;

/// The counts of a stream since the last demand, and means over those before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamCounts {
    arrived: u32,
    over: u32,
    missed: u32,
    rate: f64,
    usual: f64,
    /// Means of the queries that are over in an interval, and of those that missed a goal.
    mean_over: f64,
    mean_missed: f64,
}

impl StreamCounts {
    /// Counts queries that arrived.
    pub fn arrived(&mut self, queries: u32) {
        self.arrived = self.arrived.saturating_add(queries);
    }

    /// Takes back queries that were counted as arrived.
    pub fn withdrew(&mut self, queries: u32) {
        self.arrived = self.arrived.saturating_sub(queries);
    }

    /// Counts queries that are over, and whether their goals were met.
    pub fn ended(&mut self, queries: u32, met: bool) {
        self.over = self.over.saturating_add(queries);
        if !met {
            self.missed = self.missed.saturating_add(queries);
        }
    }

    /// Returns the queries that are over since the last demand, and how many of them missed a goal.
    pub fn over(&self) -> (u32, u32) {
        (self.over, self.missed)
    }

    /// Returns the part of the queries of the last intervals that missed a goal.
    fn missed_part(&self) -> f64 {
        match self.mean_over > NOBODY {
            true => (self.mean_missed / self.mean_over).clamp(0.0, 1.0),
            false => 0.0,
        }
    }

    /// Returns the demand after an interval, and begins the next one. The rate follows at once where
    /// chance does not explain the interval.
    pub fn demand(&mut self, stream: &QueryStream, interval: Duration) -> TaskDemand {
        let seconds = interval.as_secs_f64().max(1e-3);
        let last = f64::from(self.arrived) / seconds;
        let off = (last - self.rate).abs() / self.rate.max(1.0).sqrt();
        self.rate = match off > ANOTHER_RATE {
            true => last,
            false => self.rate + LAST * (last - self.rate),
        };
        if self.rate < NOBODY {
            self.rate = 0.0;
        }
        self.mean_over += LAST * (f64::from(self.over) - self.mean_over);
        self.mean_missed += LAST * (f64::from(self.missed) - self.mean_missed);
        let part = (seconds / USUAL_OVER.as_secs_f64()).min(1.0);
        self.usual += part * (last - self.usual);
        (self.arrived, self.over, self.missed) = (0, 0, 0);
        let rate = |rate| QueryRate::new(rate).unwrap_or(QueryRate::ZERO);
        TaskDemand {
            task: stream.task,
            goals: stream.goals,
            rate: rate(self.rate),
            usual: rate(self.usual),
            missed: self.missed_part(),
            worth: stream.worth,
        }
    }
}
