//! The work queued for devices.

use std::time::Duration;

use divisi_runtime::device::DeviceIndex;

use super::due_work::{DueTime, DueWork, nanoseconds};
use super::level_work::LevelWork;
use super::pace::DevicePace;

/// A query's position among those waiting for the same devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryPlace {
    /// By deadline, on the router's clock.
    DueBy(Duration),
    /// By the urgency of its level, then by arrival: up to 0 before queries with a deadline, above
    /// 0 after them.
    Level(i16),
}

/// The urgency of the level of queries with a deadline.
pub(super) const DUE_LEVEL: i16 = 0;

/// The device time of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryWork {
    /// The total time.
    pub(super) work: Duration,
    /// The time of its batch, by its profile.
    pub(super) batch: Duration,
    /// The observed time from the start of its batch to its answer.
    pub(super) answering: Duration,
}

/// The work of a query that is booked on its devices.
#[derive(Clone, Debug)]
pub(super) struct BookedWork {
    work: Duration,
    place: QueryPlace,
    /// The deadline on each device, if it has one.
    due: Vec<DueTime>,
    /// The work before it when it was booked, by profiles.
    ahead: Duration,
    /// The total work that was ever ahead of its position, when it was booked.
    went_before: Duration,
    /// The time of its batch, by its profile.
    batch: Duration,
}

impl BookedWork {
    /// Returns the device time of the query.
    pub(super) fn work(&self) -> Duration {
        self.work
    }

    /// Returns the time of its batch, by its profile.
    pub(super) fn batch(&self) -> Duration {
        self.batch
    }
}

/// The devices of a variant, each with its share of the work.
type DeviceParts<'a> = &'a [(DeviceIndex, f64)];

/// The work of unanswered queries.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    /// The shortest and longest time slot. Queries in the same slot are not distinguished.
    slots: (Duration, Duration),
    now: Duration,
    devices: Vec<DeviceWork>,
    /// The query position of the current prospects of the devices.
    looked: Option<QueryPlace>,
}

#[derive(Clone, Debug)]
struct DeviceWork {
    due: DueWork,
    levels: LevelWork,
    pace: DevicePace,
    prospect: DeviceProspect,
}

/// The device time that a new query finds promised to others.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceProspect {
    /// The work ahead of it, by profiles.
    ahead: u64,
    /// The work that it may add without making other queries late.
    slack: i64,
    /// The ratio of actual work time to profiled time.
    factor: f64,
}

impl DeviceWork {
    fn prospect(&self, now: Duration, place: QueryPlace) -> DeviceProspect {
        let factor = self.pace.factor(now);
        let first = self.levels.work_before(DUE_LEVEL);
        let slack = |by| self.due.slack(by, first, 1.0 / factor);
        let (ahead, slack) = match place {
            QueryPlace::DueBy(by) => (first + self.due.work_before(by), slack(by)),
            QueryPlace::Level(urgency) if urgency > DUE_LEVEL => (
                self.due.total() + self.levels.work_before(urgency),
                i64::MAX,
            ),
            QueryPlace::Level(urgency) => (self.levels.work_before(urgency), slack(now)),
        };
        DeviceProspect {
            ahead,
            slack,
            factor,
        }
    }

    /// Returns the total work that was ever ahead of a waiting query.
    fn entered_before(&self, place: QueryPlace, due: Option<DueTime>) -> u64 {
        let due = due.unwrap_or(DueTime::Later);
        match place {
            QueryPlace::DueBy(_) => {
                self.levels.entered_before(DUE_LEVEL + 1) + self.due.entered_before(due)
            }
            QueryPlace::Level(urgency) if urgency > DUE_LEVEL => {
                self.levels.entered_before(urgency) + self.due.entered_before(due)
            }
            QueryPlace::Level(urgency) => self.levels.entered_before(urgency),
        }
    }
}

/// The wait above which single batches and scheduling delays matter little.
pub(super) const LONG: Duration = Duration::from_millis(50);

/// The shortest and longest slot.
const SLOTS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

impl Backlog {
    /// Creates a backlog whose slots are short enough for the fastest variant.
    pub(super) fn new(quickest: Duration) -> Self {
        Backlog {
            slots: (quickest.clamp(SLOTS.0, SLOTS.1), SLOTS.1),
            now: Duration::ZERO,
            devices: Vec::new(),
            looked: None,
        }
    }

    /// Advances the time.
    pub(super) fn pass(&mut self, now: Duration) {
        (self.now, self.looked) = (now, None);
        self.devices
            .iter_mut()
            .for_each(|device| device.due.pass(now));
    }

    fn device(&mut self, device: DeviceIndex) -> &mut DeviceWork {
        self.looked = None;
        let at = device.get();
        if self.devices.len() <= at {
            let mut due = DueWork::new(self.slots.0, self.slots.1);
            due.pass(self.now);
            let device = DeviceWork {
                due,
                levels: LevelWork::default(),
                pace: DevicePace::new(self.now),
                prospect: DeviceProspect::default(),
            };
            self.devices.resize(at + 1, device);
        }
        &mut self.devices[at]
    }

    pub(super) fn book(
        &mut self,
        devices: DeviceParts<'_>,
        of: QueryWork,
        place: QueryPlace,
    ) -> BookedWork {
        self.update_prospects(place);
        let ahead = self.weighed(devices, |device, _| device.prospect.ahead);
        let (work, answering) = (of.work, nanoseconds(of.answering));
        let mut due = Vec::new();
        for (device, part) in devices {
            let (device, work) = (self.device(*device), part_of(work, *part));
            match place {
                QueryPlace::DueBy(by) => due.push(device.due.add(by, work, answering)),
                QueryPlace::Level(urgency) => device.levels.add(urgency, work),
            }
        }
        let mut booked = BookedWork {
            work,
            place,
            due,
            ahead,
            went_before: Duration::ZERO,
            batch: of.batch,
        };
        booked.went_before = self.entered_before(devices, &booked);
        booked
    }

    /// Removes the work of a finished query.
    pub(super) fn take_off(&mut self, devices: DeviceParts<'_>, booked: &BookedWork) {
        let mut due = booked.due.iter();
        for (device, part) in devices {
            let (device, work) = (self.device(*device), part_of(booked.work, *part));
            match (booked.place, due.next()) {
                (QueryPlace::Level(urgency), _) => device.levels.remove(urgency, work),
                (QueryPlace::DueBy(_), Some(due)) => device.due.remove(*due, work),
                (QueryPlace::DueBy(_), None) => {}
            }
        }
    }

    /// Computes the prospects of a query at a position, once for all candidate variants.
    pub(super) fn update_prospects(&mut self, place: QueryPlace) {
        if self.looked.replace(place) != Some(place) {
            let now = self.now;
            let devices = self.devices.iter_mut();
            devices.for_each(|device| device.prospect = device.prospect(now, place));
        }
    }

    /// Returns the time until the devices have done the work ahead of the current position,
    /// weighted by their shares of the work: the engine assigns work to whichever device is free.
    pub(super) fn wait(&self, devices: DeviceParts<'_>) -> Duration {
        self.weighed(devices, |device, _| {
            let DeviceProspect { ahead, factor, .. } = device.prospect;
            (factor * ahead as f64) as u64
        })
    }

    /// Returns the time in which the devices do some work, weighted by their shares of the work.
    pub(super) fn time_of(
        &self,
        devices: DeviceParts<'_>,
        work: impl Fn(DeviceIndex) -> u64,
    ) -> Duration {
        let parts = devices.iter().map(|(at, part)| {
            let device = self.devices.get(at.get());
            let factor = device.map_or(1.0, |device| device.prospect.factor);
            part * factor * work(*at) as f64
        });
        Duration::from_nanos(parts.sum::<f64>() as u64)
    }

    /// Returns how late queries with later deadlines would become if this work went ahead of them.
    pub(super) fn lateness(&self, devices: DeviceParts<'_>, work: Duration) -> Duration {
        self.weighed(devices, |device, part| {
            let DeviceProspect { slack, factor, .. } = device.prospect;
            let late = (part_of(work, part) as i64).saturating_sub(slack);
            (factor * late.max(0) as f64) as u64
        })
    }

    /// Records an answer after `latency`, with `ahead` work before it by profiles. Long waits
    /// measure the speed of the devices.
    pub(super) fn answered(
        &mut self,
        devices: DeviceParts<'_>,
        booked: &BookedWork,
        ahead: Duration,
        latency: Duration,
    ) {
        let (now, waited) = (self.now, latency.saturating_sub(booked.batch));
        for (device, _) in devices {
            let device = self.device(*device);
            device.pace.answered(now, ahead, waited);
        }
    }

    /// Returns the work that went ahead of a finished query: the work at booking, and later work
    /// with an earlier deadline.
    pub(super) fn ahead(&self, devices: DeviceParts<'_>, booked: &BookedWork) -> Duration {
        let entered = self.entered_before(devices, booked);
        let later = entered.saturating_sub(booked.went_before);
        booked.ahead.saturating_add(later)
    }

    fn entered_before(&self, devices: DeviceParts<'_>, booked: &BookedWork) -> Duration {
        let mut due = booked.due.iter();
        self.weighed(devices, |device, _| {
            device.entered_before(booked.place, due.next().copied())
        })
    }

    fn weighed(
        &self,
        devices: DeviceParts<'_>,
        mut work: impl FnMut(&DeviceWork, f64) -> u64,
    ) -> Duration {
        let parts = devices.iter().map(|(device, part)| {
            let device = self.devices.get(device.get());
            part * device.map_or(0, |device| work(device, *part)) as f64
        });
        Duration::from_nanos(parts.sum::<f64>() as u64)
    }
}

/// Returns a share of work in nanoseconds.
fn part_of(work: Duration, part: f64) -> u64 {
    (part * nanoseconds(work) as f64) as u64
}
