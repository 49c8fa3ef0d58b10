//! Shares of a device that more is asked of than it can do, in virtual time.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi::device::DeviceIndex;

use super::backlog::{Backlog, BookedWork, QueryPlace, QueryWork};

const MILLI: Duration = Duration::from_millis(1);
/// The time from which on outcomes are counted: as much waits then as ever will.
const SETTLES: u32 = 10_000;
const ENDS: u32 = 30_000;
/// The time of the device that a query takes.
const WORK: Duration = Duration::from_micros(500);

/// Queries that may wait for so many milliseconds, and ask for this part of the device's time.
struct QueriesAsked {
    wait: u32,
    part: f64,
}

/// Their number, and how many were answered in time and too late.
#[derive(Clone, Copy, Debug, Default)]
struct QueriesServed {
    asked: f64,
    met: f64,
    late: f64,
}

/// A device that does the work of queries one after the other, the one that is due first first.
struct VirtualDevice {
    backlog: Backlog,
    waiting: BTreeMap<(Duration, u32), (usize, BookedWork)>,
    arrived: u32,
    outcomes: Vec<QueriesServed>,
}

const DEVICE: [(DeviceIndex, f64); 1] = [(DeviceIndex::new(0), 1.0)];

impl VirtualDevice {
    fn arrive(&mut self, (now, stream): (Duration, usize), wait: Duration) {
        let place = QueryPlace::DueBy(now + wait);
        self.arrived += 1;
        self.backlog.pass(now);
        self.backlog.look(place);
        let waits = self.backlog.wait(&DEVICE) + WORK;
        let is_taken = waits + self.backlog.overtaking(&DEVICE) <= wait
            && self.backlog.lateness(&DEVICE, WORK).is_zero();
        if self.backlog.wait_for_tighter(&DEVICE) + WORK <= wait {
            self.backlog.offer(&DEVICE, WORK, place, is_taken);
        }
        self.outcomes[stream].asked += 1.0;
        if is_taken {
            let work = QueryWork {
                work: WORK,
                batch: WORK,
                answering: WORK,
            };
            let booked = self.backlog.book(&DEVICE, work, place);
            self.waiting
                .insert((now + wait, self.arrived), (stream, booked));
        }
    }

    fn work(&mut self, now: Duration) {
        if let Some(((due, _), (stream, booked))) = self.waiting.pop_first() {
            self.backlog.take_off(&DEVICE, &booked);
            // Slots tell a due time as exactly as they are long.
            match now + WORK <= due + 2 * MILLI {
                true => self.outcomes[stream].met += 1.0,
                false => self.outcomes[stream].late += 1.0,
            }
        }
    }
}

/// Returns how queries fare that come evenly.
fn served(asked: &[QueriesAsked]) -> Vec<QueriesServed> {
    let mut device = VirtualDevice {
        backlog: Backlog::new(MILLI),
        waiting: BTreeMap::new(),
        arrived: 0,
        outcomes: vec![QueriesServed::default(); asked.len()],
    };
    let mut outstanding = vec![0.0; asked.len()];
    for step in 0..ENDS * 2 {
        let now = WORK * step;
        if step == SETTLES * 2 {
            device.outcomes.fill(QueriesServed::default());
        }
        for (stream, of) in asked.iter().enumerate() {
            outstanding[stream] += of.part;
            while outstanding[stream] >= 1.0 {
                outstanding[stream] -= 1.0;
                device.arrive((now, stream), of.wait * MILLI);
            }
        }
        device.work(now);
    }
    device.outcomes
}

#[test]
fn beyond_capacity_none_gets_less_than_half_of_its_share() {
    for asked in [
        &[(20, 1.5), (1000, 1.5)][..],
        &[(20, 0.3), (1000, 2.7)],
        &[(20, 2.7), (1000, 0.3)],
        &[(20, 1.0), (200, 1.0), (1000, 1.0)],
        &[(100, 0.75), (4000, 0.75)],
    ] {
        let total: f64 = asked.iter().map(|(_, part)| part).sum();
        let asked: Vec<QueriesAsked> = asked
            .iter()
            .map(|&(wait, part)| QueriesAsked { wait, part })
            .collect();
        let outcomes = served(&asked);
        let (met, late) = outcomes
            .iter()
            .fold((0.0, 0.0), |(met, late), of| (met + of.met, late + of.late));
        let all = f64::from(ENDS - SETTLES) / WORK.as_secs_f64() / 1e3;
        assert!(
            met > 0.97 * all,
            "{met} of {all} that the device can do: {outcomes:?}"
        );
        assert!(late < 0.01 * met, "{outcomes:?}");
        for of in &outcomes {
            let part = of.met / of.asked * total;
            assert!(part > 0.5, "{part} of its share: {outcomes:?}");
        }
    }
}

#[test]
fn below_capacity_nothing_is_refused() {
    let outcomes = served(&[
        QueriesAsked {
            wait: 20,
            part: 0.45,
        },
        QueriesAsked {
            wait: 1000,
            part: 0.45,
        },
    ]);
    assert!(
        outcomes
            .iter()
            .all(|of| of.met + of.late > 0.999 * of.asked),
        "{outcomes:?}"
    );
}
