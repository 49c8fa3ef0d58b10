//! The sample pool in a device's own memory, with its parts.

use std::collections::VecDeque;
use std::time::Duration;

use crate::serving::batch::{PartKey, Range, RequestKey};
use crate::serving::keys::KeyMap;
use crate::serving::queue::MemberQueue;

/// The samples in a device's memory, written once and read by all its workers.
#[derive(Clone, Debug, Default)]
pub(super) struct DevicePool {
    parts: KeyMap<PartKey, PooledPart>,
    /// Parts in order of arrival. It may still contain parts that left.
    order: VecDeque<PartKey>,
    samples: usize,
    /// Parts that left, for a driver that holds their memory, or `None` without such a driver.
    departed: Option<Vec<PartKey>>,
}

#[derive(Clone, Copy, Debug)]
struct PooledPart {
    samples: usize,
    /// Samples that workers took and have not finished.
    held: usize,
    /// The times at which the copy was requested and finished.
    asked: Duration,
    there: Option<Duration>,
}

/// Returns the part of a range, as its step's input.
pub(super) fn key(range: &Range) -> PartKey {
    PartKey {
        request: range.request,
        part: range.part,
        plane: range.plane,
    }
}

impl DevicePool {
    /// Begins recording the parts that leave.
    pub(super) fn record_departures(&mut self) {
        self.departed.get_or_insert_default();
    }

    /// Returns the parts that left since the last call.
    pub(super) fn take_departed(&mut self) -> Vec<PartKey> {
        self.departed
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Forgets all parts at once, because the memory is lost.
    pub(super) fn clear(&mut self) {
        let departed = self.departed.take().map(|_| Vec::new());
        *self = DevicePool {
            departed,
            ..DevicePool::default()
        };
    }

    /// Returns the samples of all parts.
    pub(super) fn samples(&self) -> usize {
        self.samples
    }

    /// Holds `held` samples of a part for a worker. Returns whether the part has to be copied.
    pub(super) fn hold(
        &mut self,
        now: Duration,
        key: PartKey,
        samples: usize,
        held: usize,
    ) -> bool {
        if let Some(part) = self.parts.get_mut(&key) {
            part.held += held;
            return false;
        }
        let part = PooledPart {
            samples,
            held,
            asked: now,
            there: None,
        };
        self.parts.insert(key, part);
        self.order.push_back(key);
        self.samples += samples;
        true
    }

    /// Releases samples of a part that a worker finished or returned.
    pub(super) fn release(&mut self, key: PartKey, held: usize) {
        if let Some(part) = self.parts.get_mut(&key) {
            part.held = part.held.saturating_sub(held);
        }
    }

    /// Records the end of a copy. Returns the time of its request.
    pub(super) fn copied(&mut self, now: Duration, key: PartKey) -> Option<Duration> {
        let part = self.parts.get_mut(&key)?;
        part.there = Some(now);
        Some(part.asked)
    }

    /// Drops the oldest unused parts while there are more than `most` samples.
    pub(super) fn trim(&mut self, most: usize) {
        for _ in 0..self.order.len() {
            if self.samples <= most {
                return;
            }
            let Some(key) = self.order.pop_front() else {
                return;
            };
            let needed = |part: &PooledPart| part.held > 0 || part.there.is_none();
            match self.parts.get(&key) {
                Some(part) if needed(part) => self.order.push_back(key),
                _ => self.remove(&key),
            }
        }
    }

    fn remove(&mut self, key: &PartKey) {
        if let Some(part) = self.parts.remove(key) {
            self.samples -= part.samples;
            if let Some(departed) = &mut self.departed {
                departed.push(*key);
            }
        }
    }

    /// Removes the parts of a finished request.
    pub(super) fn forget(&mut self, request: RequestKey, parts: usize, planes: usize) {
        if self.parts.is_empty() {
            return self.order.clear();
        }
        for part in 0..parts {
            for plane in 0..planes {
                self.remove(&PartKey {
                    request,
                    part,
                    plane,
                });
            }
        }
        let parts = &self.parts;
        while self.order.front().is_some_and(|k| !parts.contains_key(k)) {
            self.order.pop_front();
        }
    }

    /// Returns the samples at the front of `queue` that are in the device's memory.
    pub(super) fn ready(&self, queue: &MemberQueue) -> usize {
        let there = |range: &&Range| {
            let part = self.parts.get(&key(range));
            part.is_some_and(|p| p.there.is_some())
        };
        queue.iter().take_while(there).map(|r| r.len).sum()
    }

    /// Returns the time that a range waited for its copy.
    pub(super) fn copied_for(&self, range: &Range) -> Duration {
        let Some(part) = self.parts.get(&key(range)) else {
            return Duration::ZERO;
        };
        let from = part.asked.max(range.arrived);
        part.there.unwrap_or(from).saturating_sub(from)
    }
}
