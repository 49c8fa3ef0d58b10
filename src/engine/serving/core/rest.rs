//! Sleeping devices, and which of them to wake.
//!
//! A woken device that has not asked for work yet counts as taking the work that it was woken for,
//! and one alarm per member is enough. So one sample wakes one device. Devices that stay asleep for
//! this reason are checked again whenever another device asks, so no sample waits while a device
//! that could run it sleeps.

use std::time::Duration;

use crate::serving::order::SampleOrder;
use crate::serving::scheduler::Want;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::Core;

/// The core's knowledge of whether a device's driver sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceRest {
    /// The driver has never asked for work, or has work and will ask again after it.
    Awake,
    /// The driver was woken and has not asked for work yet.
    Woken {
        /// The most samples of a member's queue that it will take.
        takes: Option<(MemberIndex, usize)>,
        /// The alarm that it will set for a member.
        watches: Option<QueueAlarm>,
    },
    /// The driver sleeps until its alarm, or until it is woken.
    Asleep {
        until: Option<Duration>,
        alarm: Option<QueueAlarm>,
    },
}

/// The next time at which a device checks a member's queue, because the policy runs nothing
/// earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueAlarm {
    member: MemberIndex,
    at: Duration,
}

/// The work that other devices already cover.
struct RestCover {
    /// The samples of each member's queue that no device is about to take.
    left: Vec<usize>,
    /// The next time at which a device checks each member's queue. A device that was woken for it
    /// checks at once.
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

/// The work that a device would do now.
#[derive(Default)]
struct Look {
    /// Whether there is work that only this device can do.
    own: bool,
    /// The oldest work that it could take: order, member, samples.
    takes: Option<(SampleOrder, MemberIndex, usize)>,
    /// The earliest time at which it could do something, and the member.
    soonest: Option<(Duration, Option<QueueAlarm>)>,
    /// Whether another device is about to do work that this device could also do.
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
    /// Returns the sleeping devices that have work now, or earlier than they know. Wakes only as
    /// many devices as the waiting samples need. The driver wakes them, and they call
    /// [`Core::next`].
    pub fn wake(&mut self, now: Duration) -> Vec<DeviceIndex> {
        let mut cover = self.cover(None);
        (self.held_back, self.followed) = (false, false);
        let mut woken = Vec::new();
        for device in DeviceIndex::all(self.rest.len()) {
            let DeviceRest::Asleep { until, .. } = self.rest[device] else {
                continue;
            };
            let look = self.inspect(now, device, &cover);
            let sooner = look.soonest.filter(|(at, _)| until.is_none_or(|u| *at < u));
            // Another device may have taken the work that it slept for, so it checks again.
            let due = until.is_some_and(|at| at <= now);
            if !(look.own || due || look.takes.is_some() || sooner.is_some()) {
                self.held_back |= look.covered;
                continue;
            }
            self.rest[device] = DeviceRest::Woken {
                // It may first do the work that only it can do.
                takes: look.takes.filter(|_| !look.own).map(|(_, m, s)| (m, s)),
                watches: sooner.and_then(|(_, alarm)| alarm),
            };
            cover.note(self.rest[device]);
            woken.push(device);
        }
        woken
    }

    /// Returns the devices to wake after a device has asked for work. It may leave work for devices
    /// that stayed asleep because of it.
    pub fn wake_others(&mut self, now: Duration) -> Vec<DeviceIndex> {
        match self.held_back {
            true => self.wake(now),
            false => Vec::new(),
        }
    }

    /// Returns the devices to wake after a batch ended, because other devices may run the next
    /// steps.
    pub fn wake_followers(&mut self, now: Duration) -> Vec<DeviceIndex> {
        match self.followed {
            true => self.wake(now),
            false => Vec::new(),
        }
    }

    /// Returns whether a device would have work now, regardless of the devices woken for it. After
    /// all woken devices have asked, no device sleeps that could act.
    pub fn could_act(&self, now: Duration, device: DeviceIndex) -> bool {
        self.scheduler.could_act(now, device)
    }

    /// Returns whether a device has not asked for work yet, or was woken since it slept.
    pub fn is_awake(&self, device: DeviceIndex) -> bool {
        !matches!(self.rest[device], DeviceRest::Asleep { .. })
    }

    /// Returns the next time at which a sleeping device wakes by itself.
    pub fn next_wake(&self) -> Option<Duration> {
        let until = |rest: &DeviceRest| match rest {
            DeviceRest::Asleep { until, .. } => *until,
            _ => None,
        };
        self.rest.iter().filter_map(until).min()
    }

    /// Puts a device without work to sleep. Returns the time until which it sleeps if nothing
    /// happens. Another device's alarm covers work that both could do.
    pub(super) fn lay_down(&mut self, now: Duration, device: DeviceIndex) -> Option<Duration> {
        let cover = self.cover(Some(device));
        let look = self.inspect(now, device, &cover);
        self.held_back |= look.covered;
        let until = look.soonest.map(|(at, _)| at);
        let alarm = look.soonest.and_then(|(_, alarm)| alarm);
        self.rest[device] = DeviceRest::Asleep { until, alarm };
        until
    }

    fn inspect(&self, now: Duration, device: DeviceIndex, cover: &RestCover) -> Look {
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
