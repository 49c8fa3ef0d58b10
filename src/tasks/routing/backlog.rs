//! The work that waits for devices.

use std::time::Duration;

use divisi_runtime::device::DeviceIndex;

use super::due_work::{DueTime, DueWork, nanoseconds};
use super::level_work::LevelWork;
use super::pace::DevicePace;

/// Where a query stands among those that wait for the same devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryPlace {
    /// By the time by which it is to be answered, by the router's clock.
    DueBy(Duration),
    /// By the urgency of its level, then as it comes: up to 0 before those that have such a time, above 0
    /// behind them.
    Level(i16),
}

/// The urgency of the level of those that have a time by which they are to be answered.
pub(super) const DUE_LEVEL: i16 = 0;

/// The time of devices that a query takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryWork {
    /// All of it.
    pub(super) work: Duration,
    /// Its batch, by its profile.
    pub(super) batch: Duration,
    /// From the beginning of its batch until its answer, as it was seen.
    pub(super) answering: Duration,
}

/// The work of a query on its devices, as it is booked.
#[derive(Clone, Debug)]
pub(super) struct BookedWork {
    work: Duration,
    place: QueryPlace,
    /// When it is due on each device, where it has such a time.
    due: Vec<DueTime>,
    /// The work before it when it was booked, by profiles.
    ahead: Duration,
    /// Work that was ever to go before it, when it was booked.
    went_before: Duration,
    /// Its batch, by its profile.
    batch: Duration,
}

impl BookedWork {
    /// Returns the time of its batch, by its profile.
    pub(super) fn batch(&self) -> Duration {
        self.batch
    }
}

/// The devices of a variant, each with its part of the work.
type DeviceParts<'a> = &'a [(DeviceIndex, f64)];

/// The work of queries that are not answered yet.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    /// The shortest and the longest slot of time in which one query is not told from another.
    slots: (Duration, Duration),
    now: Duration,
    devices: Vec<DeviceWork>,
    /// Where the query stands whose prospects devices know.
    looked: Option<QueryPlace>,
}

#[derive(Clone, Debug)]
struct DeviceWork {
    due: DueWork,
    levels: LevelWork,
    pace: DevicePace,
    prospect: DeviceProspect,
}

/// The time of a device that a query finds promised to others.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceProspect {
    /// The work that goes before it, by profiles.
    ahead: u64,
    /// How much work it may bring without making others late.
    slack: i64,
    /// The time that work takes, over that by profiles.
    factor: f64,
}

impl DeviceWork {
    fn prospect(&self, now: Duration, place: QueryPlace) -> DeviceProspect {
        let factor = self.pace.factor(now);
        let first = self.levels.before(DUE_LEVEL);
        let slack = |by| self.due.slack(by, first, 1.0 / factor);
        let (ahead, slack) = match place {
            QueryPlace::DueBy(by) => (first + self.due.before(by), slack(by)),
            QueryPlace::Level(urgency) if urgency > DUE_LEVEL => {
                (self.due.all() + self.levels.before(urgency), i64::MAX)
            }
            QueryPlace::Level(urgency) => (self.levels.before(urgency), slack(now)),
        };
        DeviceProspect {
            ahead,
            slack,
            factor,
        }
    }

    /// Returns all work that was ever to go before a query that is there.
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

/// A wait that is so long that single batches and other programs' turns matter little.
pub(super) const LONG: Duration = Duration::from_millis(50);

/// The least and the most that slots are long.
const SLOTS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

impl Backlog {
    /// Creates a backlog that tells times apart as far as the quickest variant needs for an answer.
    pub(super) fn new(quickest: Duration) -> Self {
        Backlog {
            slots: (quickest.clamp(SLOTS.0, SLOTS.1), SLOTS.1),
            now: Duration::ZERO,
            devices: Vec::new(),
            looked: None,
        }
    }

    /// Lets time pass.
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
            let mut due = DueWork::new(self.slots);
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

    /// Adds the work of a query.
    pub(super) fn book(
        &mut self,
        devices: DeviceParts<'_>,
        of: QueryWork,
        place: QueryPlace,
    ) -> BookedWork {
        self.look(place);
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

    /// Takes off the work of a query that is over.
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

    /// Works out what a query finds that stands somewhere, once for all variants that may answer it.
    pub(super) fn look(&mut self, place: QueryPlace) {
        if self.looked.replace(place) != Some(place) {
            let now = self.now;
            let devices = self.devices.iter_mut();
            devices.for_each(|device| device.prospect = device.prospect(now, place));
        }
    }

    /// Returns the time until devices have done what goes before the query that was looked for, each
    /// weighed by its part of the work: the engine hands work to whichever device is free.
    pub(super) fn wait(&self, devices: DeviceParts<'_>) -> Duration {
        self.weighed(devices, |device, _| {
            let DeviceProspect { ahead, factor, .. } = device.prospect;
            (factor * ahead as f64) as u64
        })
    }

    /// Returns how late queries that are due later would be answered, if some work of the one that was
    /// looked for went before theirs.
    pub(super) fn lateness(&self, devices: DeviceParts<'_>, work: Duration) -> Duration {
        self.weighed(devices, |device, part| {
            let DeviceProspect { slack, factor, .. } = device.prospect;
            let late = (part_of(work, part) as i64).saturating_sub(slack);
            (factor * late.max(0) as f64) as u64
        })
    }

    /// Takes an answer that came after `latency`, where by profiles devices had work `ahead` of it: it says
    /// how fast they are, if it waited long.
    pub(super) fn answered(
        &mut self,
        devices: DeviceParts<'_>,
        booked: &BookedWork,
        (ahead, latency): (Duration, Duration),
    ) {
        let (now, waited) = (self.now, latency.saturating_sub(booked.batch));
        for (device, _) in devices {
            let device = self.device(*device);
            device.pace.answered(now, ahead, waited);
        }
    }

    /// Returns the work that has gone before a query by now, if it is over: what was there when it was
    /// booked, and what came later and was due before it.
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

/// Returns a part of some work, in nanoseconds.
fn part_of(work: Duration, part: f64) -> u64 {
    (part * nanoseconds(work) as f64) as u64
}
