//! Variants leave a core that other programs take, and return once it is free.

use std::sync::Arc;
use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::policies::{PolicyChoice, TaskDemand};
use divisi_modelless::quantities::{QueryCost, QueryRate};
use divisi_modelless::variants::{TaskIndex, VariantIndex};
use divisi_runtime::device::DeviceIndex;
use divisi_tasks::scaling::{GroupSeen, ObservedWork, VariantScaler};
use divisi_tasks::served::RunningVariant;

use crate::common::{SMALL, opened, partitions};

const SECOND: Duration = Duration::from_secs(1);

/// The small variant on two cores, of which the first has other programs.
struct TwoCores {
    scaler: VariantScaler,
    now: Duration,
    changes: u32,
}

impl TwoCores {
    fn new() -> Self {
        let devices = partitions(&["cpu:0", "cpu:1"]);
        let running = RunningVariant {
            variant: VariantIndex(0),
            entry: 0,
            devices: vec![(DeviceIndex::new(0), 1.0)],
        };
        let tasks = opened(&[SMALL]);
        let policy = PolicyChoice::Divisi;
        TwoCores {
            scaler: VariantScaler::new(Arc::clone(&tasks), policy, &devices, &[running]),
            now: Duration::ZERO,
            changes: 0,
        }
    }

    /// Lets seconds pass with `rate` queries within 20 ms, in which other programs take a share of
    /// the first core and slow down its batches.
    fn seconds(&mut self, seconds: u32, rate: f64, (others, slowdown): (f64, f64)) {
        for _ in 0..seconds {
            self.now += SECOND;
            let on = |core: usize| self.scaler.hosted().count_on(VariantIndex(0), slot(core)) > 0;
            let slowdowns = [(0, slowdown), (1, 1.0)]
                .into_iter()
                .filter(|(core, _)| on(*core));
            let seen = GroupSeen {
                samples: rate as u64,
                devices: slowdowns
                    .map(|(core, s)| (DeviceIndex::new(core), s))
                    .collect(),
                ..GroupSeen::IDLE
            };
            let observed = ObservedWork {
                groups: &[seen],
                queued: &[0],
                others: &[Some(others), Some(0.0)],
            };
            let step = self
                .scaler
                .decide(self.now, SECOND, &[demand(rate)], observed);
            if let Some(wanted) = step.wanted {
                self.scaler.applied(self.now, wanted);
                self.changes += 1;
            }
        }
    }

    /// Returns whether each core has instances.
    fn hosts(&self) -> [bool; 2] {
        [0, 1].map(|core| self.scaler.hosted().count_on(VariantIndex(0), slot(core)) > 0)
    }
}

fn slot(core: usize) -> DeviceSlot {
    DeviceSlot(core as u16)
}

fn demand(rate: f64) -> TaskDemand {
    let stream = QueryStream {
        task: TaskIndex(0),
        goals: QueryGoals {
            latency: LatencyGoal::new(Duration::from_millis(20)).ok(),
            ..QueryGoals::default()
        },
        worth: QueryCost::FREE,
    };
    let rate = QueryRate::new(rate).expect("a rate");
    TaskDemand {
        task: stream.task,
        goals: stream.goals,
        usual: rate,
        missed: 0.0,
        worth: stream.worth,
        rate,
    }
}

const CALM: (f64, f64) = (0.0, 1.0);
const DISTURBED: (f64, f64) = (0.9, 6.0);

#[test]
fn divisi_moves_a_variant_off_a_disturbed_core() {
    let mut cores = TwoCores::new();
    cores.seconds(20, 50.0, CALM);
    assert_eq!(cores.hosts(), [true, false]);
    let before = cores.changes;
    cores.seconds(20, 50.0, DISTURBED);
    assert_eq!(cores.hosts(), [false, true]);
    cores.seconds(60, 50.0, CALM);
    assert_eq!(cores.hosts(), [false, true], "nothing draws it back");
    assert!(cores.changes - before <= 2, "{}", cores.changes - before);
}

#[test]
fn divisi_returns_to_a_core_that_is_calm_again_if_it_needs_both() {
    let mut cores = TwoCores::new();
    cores.seconds(20, 450.0, CALM);
    assert_eq!(cores.hosts(), [true, true]);
    cores.seconds(30, 450.0, DISTURBED);
    assert_eq!(cores.hosts(), [false, true]);
    cores.seconds(30, 450.0, CALM);
    assert_eq!(cores.hosts(), [true, true]);
}

#[test]
fn divisi_does_not_follow_a_disturbance_of_single_seconds() {
    let mut cores = TwoCores::new();
    cores.seconds(20, 50.0, CALM);
    for _ in 0..30 {
        cores.seconds(1, 50.0, DISTURBED);
        assert_eq!(cores.hosts(), [true, false]);
        cores.seconds(2, 50.0, CALM);
        assert_eq!(cores.hosts(), [true, false]);
    }
}

#[test]
fn divisi_moves_rarely_if_a_disturbance_comes_and_goes() {
    let mut cores = TwoCores::new();
    cores.seconds(20, 450.0, CALM);
    let before = cores.changes;
    for _ in 0..15 {
        cores.seconds(20, 450.0, DISTURBED);
        cores.seconds(20, 450.0, CALM);
    }
    let changes = cores.changes - before;
    assert!(changes <= 12, "{changes} changes in ten minutes");
}
