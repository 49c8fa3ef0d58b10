//! Counts: recent amounts and queue lengths, and readings of all counters, whose difference
//! describes the time between two moments.

use std::collections::VecDeque;
use std::time::Duration;

use super::latency::LogHistogram;

/// Amounts in buckets of equal width, for a limited time. It has no clock.
#[derive(Clone, Debug)]
pub struct RateRing {
    width: Duration,
    bound: usize,
    /// The number of the newest bucket, counted from time zero.
    newest: u64,
    /// The end of the newest bucket.
    end: Duration,
    buckets: VecDeque<f64>,
    total: f64,
}

impl RateRing {
    /// Creates a ring of `bound` buckets of `width`.
    pub fn new(width: Duration, bound: usize) -> Self {
        RateRing {
            width,
            bound: bound.max(2),
            newest: 0,
            end: width,
            buckets: VecDeque::from([0.0]),
            total: 0.0,
        }
    }

    /// Adds `amount` at `now`. An amount from the past counts in the newest bucket.
    pub fn add(&mut self, now: Duration, amount: f64) {
        self.advance(now);
        self.total += amount;
        if let Some(newest) = self.buckets.back_mut() {
            *newest += amount;
        }
    }

    /// Returns the sum of all amounts ever added.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Returns the amount per second over the last whole buckets within `window`.
    pub fn rate(&mut self, now: Duration, window: Duration) -> f64 {
        self.advance(now);
        let most = (window.as_secs_f64() / self.width.as_secs_f64()).ceil() as usize;
        // The newest bucket is incomplete and would lower the rate.
        let whole = self.buckets.iter().rev().skip(1).take(most.max(1));
        let (count, sum) = whole.fold((0usize, 0.0), |(n, s), v| (n + 1, s + v));
        if count == 0 {
            return 0.0;
        }
        sum / (count as f64 * self.width.as_secs_f64())
    }

    /// Returns the amount per second of each whole bucket, oldest first.
    pub fn series(&mut self, now: Duration) -> Vec<f64> {
        self.advance(now);
        let seconds = self.width.as_secs_f64();
        let whole = self.buckets.len() - 1;
        self.buckets
            .iter()
            .take(whole)
            .map(|v| v / seconds)
            .collect()
    }

    fn advance(&mut self, now: Duration) {
        // Avoids a division in 128 bits for every amount.
        if now < self.end {
            return;
        }
        let width = self.width.as_nanos().max(1);
        let bucket = (now.as_nanos() / width) as u64;
        let missing = bucket.saturating_sub(self.newest).min(self.bound as u64);
        for _ in 0..missing {
            self.buckets.push_back(0.0);
        }
        while self.buckets.len() > self.bound {
            self.buckets.pop_front();
        }
        self.newest = self.newest.max(bucket);
        self.end = Duration::from_nanos(((u128::from(bucket) + 1) * width) as u64);
    }
}

/// The lengths of queues at several recent moments. It has no clock.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    seen: VecDeque<(Duration, Vec<usize>)>,
}

/// The minimum time between two moments.
const APART: Duration = Duration::from_millis(500);
/// The time for which a moment is kept.
const KEPT: Duration = Duration::from_secs(5);

impl Growth {
    /// Records the queues' lengths at `now`.
    pub fn note(&mut self, now: Duration, lengths: impl Iterator<Item = usize>) {
        let due = self.seen.back().is_none_or(|(at, _)| now >= *at + APART);
        if due {
            self.seen.push_back((now, lengths.collect()));
        }
        while self.seen.front().is_some_and(|(at, _)| *at + KEPT < now) {
            self.seen.pop_front();
        }
    }

    /// Returns the growth of a queue in samples per second: the slope of the best-fitting line, or
    /// 0 for fewer than three moments.
    pub fn growth(&self, queue: usize) -> f64 {
        let points = || {
            let seen = self.seen.iter();
            seen.filter_map(|(at, all)| Some((at.as_secs_f64(), *all.get(queue)? as f64)))
        };
        let count = points().count() as f64;
        let (sum_t, sum_q) = points().fold((0.0, 0.0), |(t, q), (at, len)| (t + at, q + len));
        let (mean_t, mean_q) = (sum_t / count.max(1.0), sum_q / count.max(1.0));
        let (mut over, mut under) = (0.0, 0.0);
        for (at, len) in points() {
            over += (at - mean_t) * (len - mean_q);
            under += (at - mean_t).powi(2);
        }
        if count < 3.0 || under <= 0.0 {
            return 0.0;
        }
        over / under
    }
}

/// An engine's counters since its start, which never decrease.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Time since the engine's start.
    pub at: Duration,
    /// Requests answered.
    pub answered: u64,
    /// Their samples.
    pub samples: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Refused requests.
    pub refused: u64,
    /// The time in which requests were answered.
    pub active: Duration,
    /// Samples with a known label.
    pub labelled: u64,
    /// Samples whose answer was their label.
    pub right: u64,
    /// Latencies of requests, from submission to answer.
    pub latency: LogHistogram,
}

impl Reading {
    /// Returns the difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Reading) -> Reading {
        Reading {
            at: self.at.saturating_sub(earlier.at),
            answered: self.answered.saturating_sub(earlier.answered),
            samples: self.samples.saturating_sub(earlier.samples),
            failed: self.failed.saturating_sub(earlier.failed),
            refused: self.refused.saturating_sub(earlier.refused),
            active: self.active.saturating_sub(earlier.active),
            labelled: self.labelled.saturating_sub(earlier.labelled),
            right: self.right.saturating_sub(earlier.right),
            latency: self.latency.since(&earlier.latency),
        }
    }

    /// Returns the samples per second over the time in which requests were answered.
    pub fn samples_per_s(&self) -> f64 {
        let active = self.active.min(self.at);
        match active.is_zero() {
            true => 0.0,
            false => self.samples as f64 / active.as_secs_f64(),
        }
    }

    /// Returns the share of right answers among labelled samples, or `None` without such samples.
    pub fn accuracy(&self) -> Option<f64> {
        (self.labelled > 0).then(|| self.right as f64 / self.labelled as f64)
    }
}
