//! Copying ahead: samples travel to a device's own memory before a lane takes them
//! (Ebird, section V).

use std::collections::HashMap;
use std::time::Duration;

use crate::ensemble::PolicyKind;
use crate::serving::batch::{PartKey, Range, RequestKey, Transfer};
use crate::serving::queue::MemberQueue;

use super::row::Discipline;
use super::{Row, Scheduler};

/// What is in a device's memory, written once and read by every worker there.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    parts: HashMap<PartKey, Copied>,
}

/// When a part's copy was asked for and when it was there.
#[derive(Clone, Copy, Debug)]
struct Copied {
    asked: Duration,
    there: Option<Duration>,
}

impl Pool {
    /// Samples at the front of `queue` that are there.
    pub fn ready(&self, queue: &MemberQueue, transform: usize) -> usize {
        let there = |range: &&Range| {
            let copied = self.parts.get(&key(range, transform));
            copied.is_some_and(|c| c.there.is_some())
        };
        queue.iter().take_while(there).map(|r| r.len).sum()
    }

    /// How long a range waited for its copy.
    pub fn copied_for(&self, range: &Range, transform: usize) -> Duration {
        let Some(copied) = self.parts.get(&key(range, transform)) else {
            return Duration::ZERO;
        };
        let from = copied.asked.max(range.arrived);
        copied.there.unwrap_or(from).saturating_sub(from)
    }
}

fn key(range: &Range, transform: usize) -> PartKey {
    PartKey {
        request: range.request,
        part: range.part,
        transform,
    }
}

impl Scheduler {
    /// Whether a device's batches find their samples in its memory.
    pub(super) fn is_ahead(&self, row: &Row) -> bool {
        self.policy.copies_ahead() && row.discipline == Discipline::SideBySide
    }

    /// The worker of a device that should take samples and have them copied: one
    /// whose lanes have room or, where nobody's have, one that looks ahead by its
    /// batch size.
    pub(super) fn claimant(&self, device: usize) -> Option<(usize, usize)> {
        let row = &self.rows[device];
        if !self.is_ahead(row) {
            return None;
        }
        let workers = row.workers.iter().enumerate();
        let mut waiting =
            workers.filter(|(_, w)| w.takes_batches() && self.queues[w.spec.member].samples() > 0);
        waiting.find_map(|(index, worker)| {
            let size = worker.spec.size.get();
            let ahead = size.saturating_sub(worker.current.samples());
            let most = match worker.room() {
                0 if self.has_room(worker.spec.member) => 0,
                0 => ahead,
                room => room,
            };
            (most > 0).then_some((index, most))
        })
    }

    /// Whether a worker of `member` anywhere could start samples sooner.
    fn has_room(&self, member: usize) -> bool {
        let mut workers = self.workers().filter(|w| w.spec.member == member);
        workers.any(|w| w.takes_batches() && w.room() > 0)
    }

    /// Lets a worker take up to `most` samples; gives what has to be copied for it.
    pub(super) fn claim(
        &mut self,
        now: Duration,
        device: usize,
        index: usize,
        most: usize,
    ) -> Vec<Transfer> {
        let row = &mut self.rows[device];
        let worker = &mut row.workers[index];
        let member = worker.spec.member;
        let transform = self.transforms[member];
        let mut transfers = Vec::new();
        for range in self.queues[member].take(most) {
            let part = key(&range, transform);
            row.pool.parts.entry(part).or_insert_with(|| {
                transfers.push(Transfer {
                    device,
                    member,
                    part,
                    // Whole parts travel: their other samples will be wanted too.
                    samples: range.part_samples,
                });
                Copied {
                    asked: now,
                    there: None,
                }
            });
            worker.current.push(range);
        }
        worker.ready = row.pool.ready(&worker.current, transform);
        transfers
    }

    /// A part is in the memory of a device.
    pub fn copied(&mut self, now: Duration, device: usize, part: PartKey) {
        let row = &mut self.rows[device];
        if let Some(copied) = row.pool.parts.get_mut(&part) {
            copied.there = Some(now);
        }
        for worker in &mut row.workers {
            let transform = self.transforms[worker.spec.member];
            if transform == part.transform {
                worker.ready = row.pool.ready(&worker.current, transform);
            }
        }
    }

    /// A request is over: its parts leave every device.
    pub fn forget(&mut self, request: RequestKey, parts: usize) {
        for row in &mut self.rows {
            if row.pool.parts.is_empty() {
                continue;
            }
            for part in 0..parts {
                for &transform in &self.transforms {
                    row.pool.parts.remove(&PartKey {
                        request,
                        part,
                        transform,
                    });
                }
            }
        }
    }
}

impl PolicyKind {
    /// Whether inputs are copied to a device before a batch is formed of them.
    pub(super) fn copies_ahead(self) -> bool {
        matches!(
            self,
            PolicyKind::Elastic { .. } | PolicyKind::PipelinedOptWait { .. }
        )
    }
}
