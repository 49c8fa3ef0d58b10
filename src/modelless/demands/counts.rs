//! The counted queries of a stream, and the expected rate.

use std::time::Duration;

use super::stream::QueryStream;
use crate::policies::TaskDemand;
use crate::quantities::QueryRate;

/// The approximate number of intervals over which the means of a stream are taken.
pub const MEAN_INTERVALS: u8 = 4;
/// The weight of the last interval in a mean.
const LAST: f64 = 1.0 / MEAN_INTERVALS as f64;
/// The rate in queries per second that counts as zero: a mean never decays to zero by itself.
const NOBODY: f64 = 0.01;
/// The time over which the usual rate is averaged.
const USUAL_OVER: Duration = Duration::from_secs(120);
/// The number of standard deviations of Poisson arrivals by which an interval must differ from the
/// mean to replace the rate.
const ANOTHER_RATE: f64 = 3.0;

/// The counts of a stream since the last demand, and earlier means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamCounts {
    arrived: u32,
    over: u32,
    missed: u32,
    rate: f64,
    usual: f64,
    /// The means of finished queries per interval, and of those that missed a goal.
    mean_over: f64,
    mean_missed: f64,
}

impl StreamCounts {
    /// Counts arrived queries.
    pub fn arrived(&mut self, queries: u32) {
        self.arrived = self.arrived.saturating_add(queries);
    }

    /// Removes queries that were counted as arrived.
    pub fn withdrew(&mut self, queries: u32) {
        self.arrived = self.arrived.saturating_sub(queries);
    }

    /// Counts finished queries, and whether they met their goals.
    pub fn ended(&mut self, queries: u32, met: bool) {
        self.over = self.over.saturating_add(queries);
        if !met {
            self.missed = self.missed.saturating_add(queries);
        }
    }

    /// Returns the finished queries since the last demand, and how many missed a goal.
    pub fn finished(&self) -> (u32, u32) {
        (self.over, self.missed)
    }

    /// Returns the share of recent queries that missed a goal.
    fn missed_part(&self) -> f64 {
        match self.mean_over > NOBODY {
            true => (self.mean_missed / self.mean_over).clamp(0.0, 1.0),
            false => 0.0,
        }
    }

    /// Returns the demand after an interval, and starts the next one. The rate changes at once if
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
