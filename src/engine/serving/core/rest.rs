//! Devices asleep: who is woken for what.
//!
//! A device that was woken and has not asked yet counts as taking what it was woken for,
//! and one alarm a member is enough, so that one sample wakes one device. Who stayed asleep
//! for that is looked at again whenever a device asks: no sample waits while a device that
//! could run it sleeps.

use std::time::Duration;

use crate::serving::order::SampleOrder;
use crate::serving::scheduler::Want;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::Core;

/// Whether a device's driver sleeps, as far as the core knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceRest {
    /// It was never asked, or has something to do and asks again after it.
    Awake,
    /// It was woken and has not asked yet.
    Woken {
        /// Samples of a member's queue that it will take at most.
        takes: Option<(MemberIndex, usize)>,
        /// It will set an alarm for a member.
        watches: Option<QueueAlarm>,
    },
    /// It sleeps until its alarm, or until it is woken.
    Asleep {
        until: Option<Duration>,
        alarm: Option<QueueAlarm>,
    },
}

/// When somebody looks at a member's queue again: its policy lets nothing run before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueAlarm {
    member: MemberIndex,
    at: Duration,
}

/// The work that devices asleep need not be woken for.
struct RestCover {
    /// Samples of each member's queue that nobody is about to take.
    left: Vec<usize>,
    /// When somebody looks at each member's queue: at once who was woken for it.
    watched: Vec<Option<Duration>>,
}

impl RestCover {
    fn note(&mut self, rest: DeviceRest) {
        let alarm = match rest {
            DeviceRest::Awake => None,
            DeviceRest::Woken { takes, watches } => {
                if let Some((member, samples)) = takes {
                    self.left[member] = self.left[member].saturating_sub(samples);
                    self.watched[member] = Some(Duration::ZERO);
                }
                watches
            }
            DeviceRest::Asleep { alarm, .. } => alarm,
        };
        if let Some(QueueAlarm { member, at }) = alarm {
            let watched = self.watched[member].map_or(at, |w| w.min(at));
            self.watched[member] = Some(watched);
        }
    }

    fn watches(&self, alarm: QueueAlarm) -> bool {
        self.watched[alarm.member].is_some_and(|at| at <= alarm.at)
    }
}

/// The work that a device would do if it were asked now.
#[derive(Default)]
struct Look {
    /// Something that is for nobody else.
    own: bool,
    /// The oldest of what it could take: order, member, samples.
    takes: Option<(SampleOrder, MemberIndex, usize)>,
    /// The soonest time at which it could do something, and for whom.
    soonest: Option<(Duration, Option<QueueAlarm>)>,
    /// Somebody else is about to do what it could do too.
    covered: bool,
}

impl Look {
    fn see(&mut self, want: Want, cover: &RestCover) {
        match want {
            Want::Own => self.own = true,
            Want::Take {
                member,
                samples,
                order,
            } if cover.left[member] > 0 => {
                if self.takes.is_none_or(|(oldest, ..)| order < oldest) {
                    self.takes = Some((order, member, samples));
                }
            }
            Want::Take { .. } => self.covered = true,
            Want::Wait { member, at } => {
                let alarm = member.map(|member| QueueAlarm { member, at });
                if alarm.is_some_and(|alarm| cover.watches(alarm)) {
                    self.covered = true;
                } else if self.soonest.is_none_or(|(soonest, _)| at < soonest) {
                    self.soonest = Some((at, alarm));
                }
            }
        }
    }
}

impl<T: Clone> Core<T> {
    /// Devices asleep that have something to do now, or sooner than they know: no more than
    /// can take what waits. The driver wakes them; they ask [`Core::next`].
    pub fn wake(&mut self, now: Duration) -> Vec<DeviceIndex> {
        let mut cover = self.cover(None);
        (self.held_back, self.followed) = (false, false);
        let mut woken = Vec::new();
        for device in DeviceIndex::all(self.rest.len()) {
            let DeviceRest::Asleep { until, .. } = self.rest[device] else {
                continue;
            };
            let look = self.look(now, device, &cover);
            let sooner = look.soonest.filter(|(at, _)| until.is_none_or(|u| *at < u));
            // What it slept for may have gone to somebody else: it looks again.
            let due = until.is_some_and(|at| at <= now);
            if !(look.own || due || look.takes.is_some() || sooner.is_some()) {
                self.held_back |= look.covered;
                continue;
            }
            self.rest[device] = DeviceRest::Woken {
                // It may do what only it can do first.
                takes: look.takes.filter(|_| !look.own).map(|(_, m, s)| (m, s)),
                watches: sooner.and_then(|(_, alarm)| alarm),
            };
            cover.note(self.rest[device]);
            woken.push(device);
        }
        woken
    }

    /// Devices to wake after one was asked: it may leave something for those that stayed
    /// asleep for its sake.
    pub fn wake_others(&mut self, now: Duration) -> Vec<DeviceIndex> {
        match self.held_back {
            true => self.wake(now),
            false => Vec::new(),
        }
    }

    /// Devices to wake after a batch ended: steps may follow that others run.
    pub fn wake_followers(&mut self, now: Duration) -> Vec<DeviceIndex> {
        match self.followed {
            true => self.wake(now),
            false => Vec::new(),
        }
    }

    /// Whether a device would do something if it were asked now, whoever else was woken
    /// for that: once all who were woken have asked, nobody sleeps who could.
    pub fn could_act(&self, now: Duration, device: DeviceIndex) -> bool {
        self.scheduler.could_act(now, device)
    }

    /// Whether a device was not asked yet, or was woken since it slept.
    pub fn is_awake(&self, device: DeviceIndex) -> bool {
        !matches!(self.rest[device], DeviceRest::Asleep { .. })
    }

    /// When the next sleeping device wakes by itself.
    pub fn next_wake(&self) -> Option<Duration> {
        let until = |rest: &DeviceRest| match rest {
            DeviceRest::Asleep { until, .. } => *until,
            _ => None,
        };
        self.rest.iter().filter_map(until).min()
    }

    /// A device has nothing to do now: until when it sleeps if nothing happens. Somebody
    /// else's alarm is enough for what both could do.
    pub(super) fn lay_down(&mut self, now: Duration, device: DeviceIndex) -> Option<Duration> {
        let cover = self.cover(Some(device));
        let look = self.look(now, device, &cover);
        self.held_back |= look.covered;
        let until = look.soonest.map(|(at, _)| at);
        let alarm = look.soonest.and_then(|(_, alarm)| alarm);
        self.rest[device] = DeviceRest::Asleep { until, alarm };
        until
    }

    fn look(&self, now: Duration, device: DeviceIndex, cover: &RestCover) -> Look {
        let mut look = Look::default();
        self.scheduler
            .wants(now, device, |want| look.see(want, cover));
        look
    }

    fn cover(&self, except: Option<DeviceIndex>) -> RestCover {
        let mut cover = RestCover {
            left: MemberIndex::all(self.members)
                .map(|m| self.scheduler.waiting(m))
                .collect(),
            watched: vec![None; self.members],
        };
        for (device, rest) in DeviceIndex::enumerate(&self.rest) {
            if Some(device) != except {
                cover.note(*rest);
            }
        }
        cover
    }
}
