//! The batches and copies that a device could start, without starting them.

use std::time::Duration;

use crate::serving::policy::Decision;

use super::choose::Ready;
use super::device::ScheduledWorker;
use super::{ScheduledDevice, Scheduler};

/// Something that a device could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Run what it has taken, or what others took and cannot start.
    Own,
    /// Take up to so many samples, the oldest number `order`, of a member's queue: others
    /// may do that as well.
    Take {
        /// The member whose queue it takes them from.
        member: usize,
        /// How many at most.
        samples: usize,
        /// Number of the first of them in order of arrival.
        order: u64,
    },
    /// Nothing before this time; for samples of a member's queue, which others may look at
    /// as well, or for some that it has taken.
    Wait {
        /// The member whose queue it looks at, if it is one.
        member: Option<usize>,
        /// When.
        at: Duration,
    },
}

impl Scheduler {
    /// Tells all that a device could do now, or later if nothing happens.
    pub fn wants(&self, now: Duration, device: usize, mut tell: impl FnMut(Want)) {
        let row = &self.rows[device];
        if row.is_closed() {
            return;
        }
        // Whoever drives it may be building: nobody should wait for that.
        let building = row.workers.iter().any(|w| w.rebuilding);
        for (index, worker) in row.workers.iter().enumerate() {
            let wants = [
                self.wants_ahead(row, index, worker),
                self.wants_to_run(now, row, worker),
            ];
            for want in wants.into_iter().flatten() {
                match want {
                    Want::Take { .. } if building => tell(Want::Own),
                    want => tell(want),
                }
            }
        }
    }

    fn wants_ahead(
        &self,
        row: &ScheduledDevice,
        index: usize,
        worker: &ScheduledWorker,
    ) -> Option<Want> {
        if !self.is_ahead(row) || !worker.takes_batches() {
            return None;
        }
        let claim = self.claim_of(row, index, worker)?;
        match claim.from {
            Some(_) => Some(Want::Own),
            None => self.take(worker, claim.most),
        }
    }

    fn wants_to_run(
        &self,
        now: Duration,
        row: &ScheduledDevice,
        worker: &ScheduledWorker,
    ) -> Option<Want> {
        let own = worker.current.samples() > 0;
        match self.readiness(now, row, worker) {
            Ready::Never => None,
            Ready::Now(_) if own => Some(Want::Own),
            Ready::Now(_) => match self.decide(now, row, worker) {
                // More may come before it asks.
                Decision::Run { .. } => {
                    self.take(worker, worker.spec.size.get().min(row.room(self.policy)))
                }
                _ => self.take(worker, self.queues[worker.spec.member].segment_samples()),
            },
            Ready::At(at) => Some(Want::Wait {
                member: (!own).then_some(worker.spec.member),
                at,
            }),
        }
    }

    fn take(&self, worker: &ScheduledWorker, samples: usize) -> Option<Want> {
        let member = worker.spec.member;
        let (_, order) = self.queues[member].oldest()?;
        Some(Want::Take {
            member,
            samples,
            order,
        })
    }

    /// Samples in a member's queue that nobody has taken.
    pub fn waiting(&self, member: usize) -> usize {
        self.queues[member].samples()
    }
}
