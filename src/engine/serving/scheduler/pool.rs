//! The sample pool in a device's own memory: which parts are there.

use std::collections::VecDeque;
use std::time::Duration;

use crate::serving::batch::{PartKey, Range, RequestKey};
use crate::serving::keys::KeyMap;
use crate::serving::queue::MemberQueue;

/// The samples in a device's memory, written once and read by every worker there.
#[derive(Clone, Debug, Default)]
pub(super) struct DevicePool {
    parts: KeyMap<PartKey, PooledPart>,
    /// Parts in order of arrival; those that left may be named still.
    order: VecDeque<PartKey>,
    samples: usize,
    /// Parts that left, for a driver that holds their memory; none where nobody does.
    departed: Option<Vec<PartKey>>,
}

#[derive(Clone, Copy, Debug)]
struct PooledPart {
    samples: usize,
    /// Samples that workers took and have not finished.
    held: usize,
    /// When its copy was asked for, and when it was there.
    asked: Duration,
    there: Option<Duration>,
}

/// The part that a range belongs to, as its step's input.
pub(super) fn key(range: &Range) -> PartKey {
    PartKey {
        request: range.request,
        part: range.part,
        plane: range.plane,
    }
}

impl DevicePool {
    /// From now on tells which parts left.
    pub(super) fn record_departures(&mut self) {
        self.departed.get_or_insert_default();
    }

    /// Parts that left since the last call: no more than ever came.
    pub(super) fn take_departed(&mut self) -> Vec<PartKey> {
        self.departed
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Forgets everything at once: the memory is gone.
    pub(super) fn clear(&mut self) {
        let departed = self.departed.take().map(|_| Vec::new());
        *self = DevicePool {
            departed,
            ..DevicePool::default()
        };
    }

    /// Samples of all parts.
    pub(super) fn samples(&self) -> usize {
        self.samples
    }

    /// A worker takes `held` samples of a part; true where it has to be copied.
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

    /// A worker finished samples of a part, or gave them back.
    pub(super) fn release(&mut self, key: PartKey, held: usize) {
        if let Some(part) = self.parts.get_mut(&key) {
            part.held = part.held.saturating_sub(held);
        }
    }

    /// Notes that a part is there. Returns when it was asked for.
    pub(super) fn copied(&mut self, now: Duration, key: PartKey) -> Option<Duration> {
        let part = self.parts.get_mut(&key)?;
        part.there = Some(now);
        Some(part.asked)
    }

    /// Lets the oldest parts that nobody holds go while there are more than `most`
    /// samples.
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

    /// A request is over: its parts leave.
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

    /// Samples at the front of `queue` that are there.
    pub(super) fn ready(&self, queue: &MemberQueue) -> usize {
        let there = |range: &&Range| {
            let part = self.parts.get(&key(range));
            part.is_some_and(|p| p.there.is_some())
        };
        queue.iter().take_while(there).map(|r| r.len).sum()
    }

    /// How long a range waited for its copy.
    pub(super) fn copied_for(&self, range: &Range) -> Duration {
        let Some(part) = self.parts.get(&key(range)) else {
            return Duration::ZERO;
        };
        let from = part.asked.max(range.arrived);
        part.there.unwrap_or(from).saturating_sub(from)
    }
}
