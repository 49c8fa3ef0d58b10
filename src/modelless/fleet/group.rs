//! The instances of a variant on a device.

use std::collections::VecDeque;
use std::time::Duration;

use crate::placement::DeviceSlot;
use crate::variants::{Variant, VariantIndex};

/// A waiting query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WaitingQuery {
    pub(super) query: usize,
    pub(super) arrived: Duration,
    pub(super) deadline: Option<Duration>,
}

/// The instances of a variant on a device. Loaded instances share a queue.
#[derive(Clone, Debug)]
pub(super) struct HostedGroup {
    pub(super) variant: VariantIndex,
    pub(super) device: DeviceSlot,
    pub(super) loaded: u32,
    /// The end times of running batches, online and offline.
    pub(super) ends: Vec<Duration>,
    pub(super) queue: VecDeque<WaitingQuery>,
    /// The end time of its last batch.
    last_end: Duration,
    /// The time of online batches in this second, and their slowdown.
    pub(super) busy: Duration,
    /// The time that the same batches take on an undisturbed device.
    pub(super) profiled: Duration,
    slowdowns: f64,
    batches: u32,
    /// The mean slowdown of the last seconds.
    pub(super) pace: f64,
}

/// The times of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLatencies {
    /// The time that it took.
    pub(super) latency: Duration,
    /// The time that it takes on an undisturbed device.
    pub(super) profiled: Duration,
}

impl HostedGroup {
    pub(super) fn new(variant: VariantIndex, device: DeviceSlot) -> Self {
        HostedGroup {
            variant,
            device,
            loaded: 0,
            ends: Vec::new(),
            queue: VecDeque::new(),
            last_end: Duration::ZERO,
            busy: Duration::ZERO,
            profiled: Duration::ZERO,
            slowdowns: 0.0,
            batches: 0,
            pace: 1.0,
        }
    }

    /// Returns the number of batches that may run in parallel.
    pub(super) fn lanes(&self, variant: &Variant) -> u32 {
        self.loaded * variant.profile.lanes.get()
    }

    /// Returns the number of running batches.
    pub(super) fn running(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Returns when one of `lanes` lanes will be free, or `None` if one is free now.
    pub(super) fn lane_free_at(&self, lanes: u32) -> Option<Duration> {
        let is_full = self.running() >= lanes;
        self.ends.iter().min().copied().filter(|_| is_full)
    }

    /// Takes up to a batch of the oldest queries.
    pub(super) fn take(&mut self, most: u32) -> Vec<WaitingQuery> {
        let count = self.queue.len().min(most as usize);
        self.queue.drain(..count).collect()
    }

    /// Records the end of an online batch, whose first query arrived at `arrived`.
    ///
    /// If batches take turns, the time since the batch could have run alone, after the group's last
    /// batch, is compared with its profiled time. The difference is interference by other variants
    /// and programs.
    pub(super) fn ended(
        &mut self,
        now: Duration,
        arrived: Duration,
        times: BatchLatencies,
        turns: bool,
    ) {
        let began = now - times.latency;
        let could = match turns {
            true => arrived.max(self.last_end).min(began),
            false => began,
        };
        self.slowdowns += (now - could).as_secs_f64() / times.profiled.as_secs_f64();
        self.batches += 1;
        self.busy += times.latency;
        self.profiled += times.profiled;
        self.last_end = now;
    }

    /// Returns the slowdown of batches since the last call, 1 without any.
    pub(super) fn slowdown(&mut self) -> f64 {
        let mean = match self.batches {
            0 => 1.0,
            batches => self.slowdowns / f64::from(batches),
        };
        (self.slowdowns, self.batches) = (0.0, 0);
        mean
    }
}
