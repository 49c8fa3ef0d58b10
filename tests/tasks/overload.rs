//! Streams of queries that share devices, in virtual time: which goals are met under overload.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::quantities::Accuracy;
use divisi_modelless::variants::{LatencyCurve, LatencyPoint, TaskIndex, VariantIndex};
use divisi_registry::records::{RecordedSource, StaleProfile};
use divisi_runtime::device::DeviceIndex;
use divisi_tasks::routing::{RoutedQuery, TaskRouter, VirtualTime};
use divisi_tasks::served::{RunningVariant, ServedTasks};

use crate::common::{Made, SMALL, WHOLE, contents, digits, partitions, registered};

const TASK: TaskIndex = TaskIndex(0);
/// The devices, each with an equal share of the work of every variant.
const DEVICES: usize = 2;
/// The batch size of every variant.
const BATCH: u32 = 8;
/// The time before queries are counted: rates are learned first.
const WARM_UP: Duration = Duration::from_secs(1);
const LASTS: Duration = Duration::from_secs(4);

/// The times of a batch of one and of a full batch of a variant, in microseconds.
type BatchTimes = (u64, u64);

/// The times of a small network and of the whole ensemble of digits on a core.
const DIGITS: [BatchTimes; 2] = [(40, 70), (800, 2900)];

/// Queries of a goal: their number in a second, accuracy in percent and latency in milliseconds.
#[derive(Clone, Copy)]
struct Asked(u32, f64, u64);

/// The queries of a goal that were counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    asked: u32,
    met: u32,
}

impl Counted {
    fn missed(&self) -> f64 {
        1.0 - f64::from(self.met) / f64::from(self.asked.max(1))
    }

    /// Returns the met goals in a second.
    fn rate(&self) -> f64 {
        f64::from(self.met) / LASTS.as_secs_f64()
    }
}

/// A query that waits: the number of its stream, its arrival and its variant.
struct Waiting {
    stream: usize,
    at: Duration,
    routed: RoutedQuery,
}

/// Devices that run batches in the order in which queries are due.
struct World {
    router: Arc<TaskRouter>,
    time: Arc<VirtualTime>,
    batches: BTreeMap<VariantIndex, BatchTimes>,
    /// How many times longer batches take than their profile says.
    pace: f64,
    waiting: BTreeMap<(Duration, u64), Waiting>,
    running: Vec<Option<(Duration, Vec<Waiting>)>>,
    counted: Vec<Counted>,
}

/// Numbers from 0 to 1 (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        (high as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns the time to the next of `rate` Poisson arrivals in a second.
    fn pause(&mut self, rate: u32) -> Duration {
        Duration::from_secs_f64(-self.next().ln() / f64::from(rate))
    }
}

impl World {
    fn new(times: [BatchTimes; 2], pace: f64, streams: usize) -> Self {
        let tasks = tasks(times);
        let time = Arc::new(VirtualTime::default());
        let router = TaskRouter::in_virtual_time(Arc::clone(&tasks), Arc::clone(&time));
        let devices: Vec<(DeviceIndex, f64)> = (0..DEVICES)
            .map(|at| (DeviceIndex::new(at), 1.0 / DEVICES as f64))
            .collect();
        let variants = (0..tasks.catalog().variants().len() as u32).map(VariantIndex);
        let running = variants.clone().map(|variant| RunningVariant {
            variant,
            entry: 0,
            devices: devices.clone(),
        });
        router.set_running(running.collect());
        World {
            router: Arc::new(router),
            time,
            // The catalogue has the cheapest variant first.
            batches: variants.zip(times).collect(),
            pace,
            waiting: BTreeMap::new(),
            running: (0..DEVICES).map(|_| None).collect(),
            counted: vec![Counted::default(); streams],
        }
    }

    fn arrive(&mut self, stream: usize, asked: Asked, number: u64) {
        let at = self.time.get();
        let counts = at > WARM_UP;
        self.counted[stream].asked += u32::from(counts);
        let goals = QueryGoals {
            accuracy: Some(Accuracy::percent(asked.1).expect("percent")),
            latency: LatencyGoal::new(Duration::from_millis(asked.2)).ok(),
            ..QueryGoals::default()
        };
        if let Ok(routed) = self.router.route(TASK, &goals, 1) {
            let due = at + routed.due().expect("a deadline");
            let waiting = Waiting { stream, at, routed };
            self.waiting.insert((due, number), waiting);
        }
    }

    /// Runs a batch on every free device: the query that is due first, and the next of its variant.
    fn start(&mut self) {
        for device in 0..DEVICES {
            let (None, Some((_, first))) = (&self.running[device], self.waiting.first_key_value())
            else {
                continue;
            };
            let variant = first.routed.variant();
            let of_variant = self
                .waiting
                .iter()
                .filter(|(_, waiting)| waiting.routed.variant() == variant);
            let keys = of_variant.take(BATCH as usize).map(|(key, _)| *key);
            let keys: Vec<(Duration, u64)> = keys.collect();
            let batch = keys.iter().filter_map(|key| self.waiting.remove(key));
            let batch: Vec<Waiting> = batch.collect();
            let (one, full) = self.batches[&variant];
            let part = (batch.len() - 1) as f64 / f64::from(BATCH - 1);
            let micros = self.pace * (one as f64 + part * (full - one) as f64);
            let ends = self.time.get() + Duration::from_secs_f64(1e-6 * micros);
            self.running[device] = Some((ends, batch));
        }
    }

    fn end(&mut self, device: usize) {
        let Some((now, batch)) = self.running[device].take() else {
            return;
        };
        for Waiting { stream, at, routed } in batch {
            let met = routed.answered(now - at).is_none();
            self.counted[stream].met += u32::from(met && at > WARM_UP);
        }
    }

    /// Returns the next end of a batch and its device.
    fn next_end(&self) -> Option<(Duration, usize)> {
        let running = self.running.iter().enumerate();
        let ends = running.filter_map(|(at, batch)| batch.as_ref().map(|(ends, _)| (*ends, at)));
        ends.min()
    }

    /// Lets all queries arrive, and the devices answer all accepted ones.
    fn run(mut self, asked: &[Asked]) -> Vec<Counted> {
        let mut random = Random(7);
        let mut next: Vec<Duration> = asked.iter().map(|a| random.pause(a.0)).collect();
        let mut number = 0;
        loop {
            let arriving = (0..asked.len()).filter(|at| next[*at] <= WARM_UP + LASTS);
            let stream = arriving.min_by_key(|at| next[*at]);
            let is_first = |ends: Duration| stream.is_none_or(|stream| ends <= next[stream]);
            match (self.next_end().filter(|(ends, _)| is_first(*ends)), stream) {
                (Some((ends, device)), _) => {
                    self.time.set(ends);
                    self.end(device);
                }
                (None, Some(stream)) => {
                    self.time.set(next[stream]);
                    next[stream] += random.pause(asked[stream].0);
                    number += 1;
                    self.arrive(stream, asked[stream], number);
                }
                (None, None) => return self.counted,
            }
            self.start();
        }
    }
}

/// A task of a small and of the whole ensemble with these times.
fn tasks(times: [BatchTimes; 2]) -> Arc<ServedTasks> {
    let right = [(SMALL, 960), (WHOLE, 995)];
    let made = right.map(|(made, right)| Made {
        right,
        batch: BATCH,
        ..made
    });
    let mut model = registered(&digits(), &made);
    for (variant, (one, full)) in model.variants.iter_mut().zip(times) {
        let point = |batch, micros| LatencyPoint {
            batch,
            mean: Duration::from_micros(micros),
            p99: Duration::from_micros(micros),
        };
        let points = vec![point(1, one), point(BATCH, full)];
        variant.profile.latency = LatencyCurve::new(points).expect("rises");
    }
    let read = |_: &RecordedSource| Ok::<_, StaleProfile>(digits());
    let (contents, devices) = (contents("numbers", model), partitions(&["cpu:0"]));
    let tasks = ServedTasks::open(&contents, &["numbers".to_owned()], &devices, read);
    Arc::new(tasks.expect("opens"))
}

fn run(times: [BatchTimes; 2], pace: f64, asked: &[Asked]) -> Vec<Counted> {
    World::new(times, pace, asked.len()).run(asked)
}

#[test]
fn cheap_queries_meet_their_goals_next_to_expensive_ones_that_may_wait_longer() {
    let cheap = Asked(2000, 95.0, 20);
    let alone = run(DIGITS, 1.0, &[cheap]);
    assert_eq!(alone[0].missed(), 0.0, "{alone:?}");
    let both = run(DIGITS, 1.0, &[cheap, Asked(6000, 99.4, 50)]);
    assert!(both[0].missed() <= 0.01, "{both:?}");
    // Both cores do 5 500 expensive queries a second, less the time of the cheap ones.
    assert!(both[1].rate() > 0.85 * 5500.0, "{both:?}");
}

#[test]
fn cheap_queries_meet_their_goals_on_devices_that_are_slower_than_their_profiles() {
    let both = run(DIGITS, 1.5, &[Asked(2000, 95.0, 20), Asked(6000, 99.4, 50)]);
    assert!(both[0].missed() <= 0.05, "{both:?}");
    // Half of the expensive queries may be late: the router accepts what is usually in time.
    assert!(both[1].rate() > 0.5 * 5500.0 / 1.5, "{both:?}");
}

#[test]
fn cheap_queries_that_may_wait_longer_meet_their_goals_too() {
    let both = run(DIGITS, 1.0, &[Asked(2000, 95.0, 50), Asked(6000, 99.4, 20)]);
    assert!(both[0].missed() <= 0.01, "{both:?}");
    assert!(both[1].rate() > 4000.0, "{both:?}");
}

#[test]
fn below_the_capacity_of_the_devices_every_goal_is_met() {
    let both = run(DIGITS, 1.0, &[Asked(3000, 95.0, 20), Asked(3000, 99.4, 50)]);
    assert_eq!([both[0].missed(), both[1].missed()], [0.0; 2], "{both:?}");
}

#[test]
fn expensive_queries_keep_a_share_next_to_cheap_ones_that_fill_the_devices() {
    // The cheap queries alone need twice the time of both devices.
    let times = [(400, 1600), (1600, 6400)];
    for latencies in [(20, 50), (50, 20)] {
        let cheap = Asked(20_000, 95.0, latencies.0);
        let both = run(times, 1.0, &[cheap, Asked(1000, 99.4, latencies.1)]);
        assert!(both[1].rate() > 50.0, "{latencies:?}: {both:?}");
        assert!(both[0].rate() > 7000.0, "{latencies:?}: {both:?}");
    }
}

#[test]
fn equally_expensive_queries_have_equal_parts_whatever_they_may_wait() {
    let (soon, later) = (Asked(5000, 99.4, 40), Asked(5000, 99.4, 400));
    let both = run(DIGITS, 1.0, &[soon, later]);
    let [soon, later] = [both[0].rate(), both[1].rate()];
    assert!(soon + later > 4500.0, "{both:?}");
    assert!(soon > 0.3 * (soon + later), "{both:?}");
}
