//! The serving core in virtual time: every sample once, batches within bounds,
//! waits as promised, nothing lost by cancelling, draining or changing policy.

use std::collections::HashMap;
use std::time::Duration;

use divisi_engine::serving::{
    Arrival, Batch, Beside, Core, CoreConfig, Discipline, DoorState, Finished, Next, PipelineIndex,
    Refused, RequestKey, Stamps, Transfer, Verdict, WorkerSpec,
};
use divisi_model::ensemble::{BatchSize, MemberPrecision, PolicyKind, Wait};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use proptest::prelude::*;

const MEMBERS: usize = 3;
const SEGMENT: usize = 16;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn core(policy: PolicyKind) -> Core<u64> {
    let mut core = Core::new(CoreConfig::ensemble(
        vec![Discipline::OneAtATime, Discipline::SideBySide(Beside::Half)],
        &[0, 0, 1],
        8,
        SEGMENT,
        policy,
    ));
    core.door().set(DoorState::Open);
    core
}

fn worker(core: &mut Core<u64>, device: usize, member: usize, size: u32) -> WorkerSpec {
    let spec = WorkerSpec {
        id: core.new_worker(),
        device: DeviceIndex::new(device),
        member: MemberIndex::new(member),
        size: BatchSize::new(size).expect("a size"),
        precision: MemberPrecision::default(),
    };
    core.add_worker(Duration::ZERO, spec);
    spec
}

/// A core with every member on both devices at these sizes.
fn staffed(policy: PolicyKind, sizes: [u32; 2]) -> Core<u64> {
    let mut core = core(policy);
    for (device, size) in sizes.into_iter().enumerate() {
        for member in 0..MEMBERS {
            worker(&mut core, device, member, size);
        }
    }
    core
}

fn submit(core: &mut Core<u64>, now: Duration, samples: usize, payload: u64) -> Option<RequestKey> {
    let admission = core
        .admit(now, Arrival::with_samples(samples), |_| payload)
        .ok()?;
    core.enqueue(now, admission.request);
    Some(admission.request)
}

/// A discrete-event driver: batches take a time that depends on their rows, copies
/// ahead one millisecond.
struct Drive {
    core: Core<u64>,
    now: Duration,
    running: Vec<(Duration, Running)>,
    finished: Vec<Finished<u64>>,
    /// Times each (request, part, sample, member) was run.
    counts: HashMap<(u64, usize, usize, usize), usize>,
    longest_wait: Duration,
    /// Samples in execution on a device at most.
    most_alive: usize,
    rows: Vec<(usize, usize, usize)>,
    /// Time of a batch beside its rows'.
    cost: fn(usize) -> Duration,
}

enum Running {
    Batch(Box<Batch<u64>>),
    Copy(Transfer),
}

impl Running {
    fn device(&self) -> DeviceIndex {
        match self {
            Running::Batch(batch) => batch.device,
            Running::Copy(transfer) => transfer.device,
        }
    }
}

impl Drive {
    fn new(core: Core<u64>) -> Self {
        Drive {
            core,
            now: Duration::ZERO,
            running: Vec::new(),
            finished: Vec::new(),
            counts: HashMap::new(),
            longest_wait: Duration::ZERO,
            most_alive: 0,
            rows: Vec::new(),
            cost: |rows| ms(1 + rows as u64 / 4),
        }
    }

    /// Starts whatever can start; returns when the next thing happens.
    fn start(&mut self) -> Option<Duration> {
        let mut next = self.core.next_timer();
        for device in DeviceIndex::all(2) {
            loop {
                match self.core.next(self.now, device) {
                    Next::Run(batch) => self.begin(batch),
                    Next::Copy(transfers) => {
                        let end = self.now + (self.cost)(0);
                        let copies = transfers.into_iter().map(|t| (end, Running::Copy(t)));
                        self.running.extend(copies);
                    }
                    Next::Sleep(at) => {
                        next = next.into_iter().chain(at).min();
                        break;
                    }
                }
            }
        }
        let ends = self.running.iter().map(|(end, _)| *end);
        next.into_iter().chain(ends).min()
    }

    fn begin(&mut self, batch: Batch<u64>) {
        assert!(batch.samples <= batch.lane.size, "a batch over its lane");
        assert!(batch.samples > 0 && batch.rows >= batch.samples);
        assert!(batch.alive <= 2 * batch.size.get(), "too many at once");
        let alone = batch.device == DeviceIndex::new(1) || self.batches_on(0) == 0;
        assert!(alone, "two batches where one runs at a time");
        for placed in &batch.ranges {
            let r = placed.range;
            for sample in r.first..r.first + r.len {
                *self
                    .counts
                    .entry((r.request.0, r.part, sample, batch.member.get()))
                    .or_default() += 1;
            }
        }
        self.longest_wait = self.longest_wait.max(self.now - batch.oldest);
        self.rows
            .push((batch.size.get(), batch.samples, batch.rows));
        let end = self.now + (self.cost)(batch.rows);
        let device = batch.device;
        self.running.push((end, Running::Batch(Box::new(batch))));
        self.most_alive = self.most_alive.max(self.alive_on(device.get()));
    }

    fn alive_on(&self, device: usize) -> usize {
        let here = self.running.iter().map(|(_, r)| match r {
            Running::Batch(batch) if batch.device == DeviceIndex::new(device) => batch.samples,
            _ => 0,
        });
        here.sum()
    }

    fn batches_on(&self, device: usize) -> usize {
        let batches = self.running.iter().filter(|(_, r)| {
            r.device() == DeviceIndex::new(device) && matches!(r, Running::Batch(_))
        });
        batches.count()
    }

    fn advance_to(&mut self, until: Duration) {
        while let Some(at) = self.start().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            let late = self.core.tick(self.now);
            assert!(late.is_empty(), "no request has a deadline");
            let over: Vec<Running> = self
                .running
                .extract_if(.., |(end, _)| *end <= self.now)
                .map(|(_, r)| r)
                .collect();
            for running in over {
                match running {
                    Running::Copy(t) => self.core.copied(self.now, t.device, t.part),
                    Running::Batch(batch) => {
                        let done = self.core.finish(self.now, &batch, Stamps::default());
                        done.pay(|finished| self.finished.push(finished));
                    }
                }
            }
        }
        self.now = until;
    }

    /// A device disappears with all it runs.
    fn lose(&mut self, device: usize) {
        self.core.lose_device(DeviceIndex::new(device));
        self.running
            .retain(|(_, r)| r.device() != DeviceIndex::new(device));
    }
}

fn policies() -> impl Strategy<Value = PolicyKind> {
    let wait = Wait::millis(7);
    prop::sample::select(vec![
        PolicyKind::NoWait,
        PolicyKind::OptWait { wait },
        PolicyKind::Static { wait },
        PolicyKind::Segment { wait },
        PolicyKind::PipelinedOptWait { wait },
        PolicyKind::Elastic { max_inf: None },
        PolicyKind::Elastic {
            max_inf: std::num::NonZeroU32::new(5),
        },
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_sample_is_run_exactly_once_by_every_member(
        policy in policies(), requests in prop::collection::vec((1usize..40, 0u64..6), 1..30),
        sizes in prop::sample::select(vec![[1, 4], [8, 8], [16, 2]]),
    ) {
        let mut drive = Drive::new(staffed(policy, sizes));
        let mut admitted = 0;
        for (number, (samples, gap)) in requests.iter().enumerate() {
            let now = drive.now;
            admitted += usize::from(submit(&mut drive.core, now, *samples, number as u64).is_some());
            drive.advance_to(now + ms(*gap));
        }
        drive.advance_to(drive.now + ms(100_000));
        prop_assert_eq!(drive.finished.len(), admitted);
        prop_assert_eq!(drive.core.in_flight(), 0);
        prop_assert_eq!(drive.core.pooled(), 0);
        prop_assert!(drive.counts.values().all(|n| *n == 1));
        let samples: usize = drive.finished.iter().map(|f| f.samples).sum();
        prop_assert_eq!(drive.counts.len(), samples * MEMBERS);
        if let PolicyKind::Elastic { max_inf: Some(most) } = policy {
            prop_assert!(drive.most_alive <= most.get() as usize, "{} alive", drive.most_alive);
        }
        if let PolicyKind::Static { .. } = policy {
            prop_assert!(drive.rows.iter().all(|(size, _, rows)| size == rows));
        } else {
            prop_assert!(drive.rows.iter().all(|(_, samples, rows)| samples == rows));
        }
    }

    #[test]
    fn where_devices_are_always_free_nobody_waits_longer_than_the_policy_says(
        policy in policies(), requests in prop::collection::vec((1usize..40, 0u64..20), 1..30),
    ) {
        let mut drive = Drive::new(staffed(policy, [8, 4]));
        drive.cost = |_| Duration::ZERO;
        for (number, (samples, gap)) in requests.into_iter().enumerate() {
            let now = drive.now;
            submit(&mut drive.core, now, samples, number as u64);
            drive.advance_to(now + ms(gap));
        }
        drive.advance_to(drive.now + ms(1000));
        prop_assert!(drive.longest_wait <= policy.wait(), "{:?}", drive.longest_wait);
        prop_assert_eq!(drive.core.in_flight(), 0);
    }

    #[test]
    fn policies_may_change_at_any_moment(
        changes in prop::collection::vec((policies(), 1usize..30, 0u64..5), 1..25),
    ) {
        let mut drive = Drive::new(staffed(PolicyKind::NoWait, [8, 4]));
        let mut admitted = 0;
        for (number, (policy, samples, gap)) in changes.into_iter().enumerate() {
            let now = drive.now;
            drive.core.set_policy(now, policy);
            admitted += usize::from(submit(&mut drive.core, now, samples, number as u64).is_some());
            drive.advance_to(now + ms(gap));
        }
        drive.advance_to(drive.now + ms(100_000));
        prop_assert_eq!(drive.finished.len(), admitted);
        prop_assert!(drive.counts.values().all(|n| *n == 1));
        prop_assert_eq!(drive.core.pooled(), 0);
    }

    #[test]
    fn a_device_that_disappears_takes_no_request_with_it(
        policy in policies(), requests in prop::collection::vec((1usize..40, 0u64..5), 1..25),
        lost in 0usize..2, at in 0usize..25,
    ) {
        let mut drive = Drive::new(staffed(policy, [8, 4]));
        let mut admitted = 0;
        for (number, (samples, gap)) in requests.into_iter().enumerate() {
            let now = drive.now;
            admitted += usize::from(submit(&mut drive.core, now, samples, number as u64).is_some());
            if number == at {
                drive.lose(lost);
            }
            drive.advance_to(now + ms(gap));
        }
        drive.advance_to(drive.now + ms(100_000));
        prop_assert_eq!(drive.finished.len(), admitted);
        prop_assert_eq!((drive.core.pooled(), drive.core.in_flight()), (0, 0));
    }

    #[test]
    fn cancelled_requests_free_their_slots_and_start_nothing_more(
        policy in policies(), requests in prop::collection::vec((1usize..40, any::<bool>()), 1..20),
    ) {
        let mut drive = Drive::new(staffed(policy, [4, 8]));
        let mut kept = 0;
        for (number, (samples, cancel)) in requests.into_iter().enumerate() {
            let now = drive.now;
            let Some(key) = submit(&mut drive.core, now, samples, number as u64) else { continue };
            drive.advance_to(now + ms(2));
            if cancel {
                let before = drive.counts.keys().filter(|k| k.0 == key.0).count();
                let over = drive.core.fail(drive.now, key).is_empty();
                prop_assert!(drive.core.fail(drive.now, key).is_empty(), "failed twice");
                drive.advance_to(drive.now + ms(50));
                let after = drive.counts.keys().filter(|k| k.0 == key.0).count();
                prop_assert_eq!(before, after);
                kept += usize::from(over);
            } else {
                kept += 1;
            }
        }
        drive.advance_to(drive.now + ms(100_000));
        prop_assert_eq!(drive.finished.len(), kept);
        prop_assert_eq!(drive.core.pooled(), 0);
        prop_assert_eq!(drive.core.in_flight(), 0);
    }
}

#[test]
fn no_sample_waits_longer_than_the_policy_allows_on_an_idle_device() {
    for policy in [
        PolicyKind::NoWait,
        PolicyKind::OptWait {
            wait: Wait::millis(7),
        },
        PolicyKind::Static {
            wait: Wait::millis(7),
        },
        PolicyKind::Segment {
            wait: Wait::millis(7),
        },
    ] {
        let mut core = core(policy);
        for member in 0..2 {
            worker(&mut core, member, member, 8);
        }
        worker(&mut core, 0, 2, 8);
        let mut drive = Drive::new(core);
        submit(&mut drive.core, ms(0), 3, 0);
        drive.advance_to(ms(6));
        let started = !drive.rows.is_empty();
        assert_eq!(started, policy == PolicyKind::NoWait, "{policy}");
        drive.advance_to(ms(100));
        // The second member of device 0 also waits for the first one's batch.
        assert!(
            drive.longest_wait <= policy.wait() + ms(4),
            "{policy}: {:?}",
            drive.longest_wait
        );
        assert_eq!(drive.finished.len(), 1);
    }
}

#[test]
fn opt_wait_runs_a_full_batch_at_once() {
    let mut drive = Drive::new(staffed(
        PolicyKind::OptWait {
            wait: Wait::millis(50),
        },
        [8, 8],
    ));
    submit(&mut drive.core, ms(0), 8, 0);
    drive.start();
    let mut running = drive.running.iter();
    assert!(running.all(|(_, r)| matches!(r, Running::Batch(b) if b.samples == 8)));
    assert_eq!(drive.running.len(), MEMBERS);
}

#[test]
fn segments_close_when_full_and_batches_never_cross_one() {
    let mut core = core(PolicyKind::Segment {
        wait: Wait::millis(50),
    });
    worker(&mut core, 0, 0, 12);
    for member in 1..MEMBERS {
        worker(&mut core, 1, member, 12);
    }
    let mut drive = Drive::new(core);
    submit(&mut drive.core, ms(0), 20, 0);
    drive.start();
    // 16 close at once and are run as 12 and 4; the other 4 wait for more.
    drive.advance_to(ms(40));
    let samples: Vec<usize> = drive.rows.iter().map(|(_, samples, _)| *samples).collect();
    assert!(samples.iter().all(|s| [12, 4].contains(s)), "{samples:?}");
    assert_eq!(samples.iter().sum::<usize>(), 16 * MEMBERS);
    drive.advance_to(ms(200));
    assert_eq!(drive.finished.len(), 1);
}

#[test]
fn a_deadline_fails_the_request_and_nothing_else() {
    let mut core = core(PolicyKind::NoWait);
    let late = core
        .admit(ms(0), Arrival::with_samples(4).until(Some(ms(10))), |_| 1)
        .expect("admitted");
    core.enqueue(ms(0), late.request);
    submit(&mut core, ms(0), 4, 2);
    assert_eq!(core.next_timer(), Some(ms(10)));
    assert!(core.tick(ms(9)).is_empty());
    let failed: Vec<u64> = core.tick(ms(10)).iter().map(|f| f.payload).collect();
    assert_eq!(failed, [1]);
    assert_eq!((core.in_flight(), core.pooled()), (1, 4));
}

#[test]
fn the_door_refuses_at_once_and_counts() {
    let mut core = core(PolicyKind::NoWait);
    let capacity = core.capacity(PipelineIndex::default());
    assert_eq!(
        core.admit(ms(0), Arrival::with_samples(0), |_| 0),
        Err(Refused::Empty)
    );
    let large = Refused::TooLarge {
        samples: capacity + 1,
        most: capacity,
    };
    assert_eq!(
        core.admit(ms(0), Arrival::with_samples(capacity + 1), |_| 0),
        Err(large)
    );
    submit(&mut core, ms(0), capacity, 0);
    assert_eq!(
        core.admit(ms(0), Arrival::with_samples(1), |_| 0),
        Err(Refused::Full {
            samples: 1,
            free: 0
        })
    );
    core.close("why not");
    assert_eq!(
        core.admit(ms(0), Arrival::with_samples(1), |_| 0),
        Err(Refused::Closed("why not".into()))
    );
    assert_eq!(core.door().refused(), 4);
}

#[test]
fn three_panics_in_a_minute_retire_a_worker() {
    let mut core = core(PolicyKind::NoWait);
    let spec = worker(&mut core, 0, 0, 8);
    let verdicts: Vec<Verdict> = [0, 10, 65_000, 66_000, 67_000]
        .map(|at| {
            let key = submit(&mut core, ms(at), 2, at).expect("admitted");
            let Next::Run(batch) = core.next(ms(at), DeviceIndex::new(0)) else {
                panic!("nothing to run")
            };
            let (verdict, failed) = core.panicked(ms(at), &batch);
            assert_eq!(failed.len(), 1, "the batch's request fails");
            assert!(core.fail(ms(at), key).is_empty());
            if verdict == Verdict::Restart {
                let waits = matches!(core.next(ms(at), DeviceIndex::new(0)), Next::Sleep(None));
                assert!(waits, "nothing starts while it is rebuilt");
                assert!(core.rebuilt(spec.id));
            }
            verdict
        })
        .to_vec();
    use Verdict::{Restart, Retire};
    assert_eq!(verdicts, [Restart, Restart, Restart, Restart, Retire]);
    assert_eq!(core.new_orphan(), Some(MemberIndex::new(0)));
    assert_eq!(core.pooled(), 0);
}

#[test]
fn a_stuck_worker_that_is_removed_fails_its_batch_only_once() {
    let mut core = core(PolicyKind::NoWait);
    let spec = worker(&mut core, 0, 0, 8);
    submit(&mut core, ms(0), 2, 7);
    let Next::Run(batch) = core.next(ms(0), DeviceIndex::new(0)) else {
        panic!("nothing to run")
    };
    core.drain_worker(spec.id);
    assert!(!core.is_drained(spec.id));
    assert_eq!(core.remove_worker(ms(10), spec.id).len(), 1);
    assert!(core.finish(ms(20), &batch, Stamps::default()).is_empty());
    assert_eq!((core.in_flight(), core.pooled()), (0, 0));
}

#[test]
fn a_worker_told_to_go_while_it_is_rebuilt_does_not_come_back() {
    let mut core = core(PolicyKind::NoWait);
    let spec = worker(&mut core, 0, 0, 8);
    for member in 1..MEMBERS {
        worker(&mut core, 1, member, 8);
    }
    submit(&mut core, ms(0), 2, 7);
    let Next::Run(batch) = core.next(ms(0), DeviceIndex::new(0)) else {
        panic!("nothing to run")
    };
    assert_eq!(core.panicked(ms(1), &batch).0, Verdict::Restart);
    assert_eq!(core.new_orphan(), None, "it will be back");
    core.drain_worker(spec.id);
    assert!(core.is_drained(spec.id));
    assert!(!core.rebuilt(spec.id));
    assert_eq!(core.new_orphan(), Some(MemberIndex::new(0)));
    core.set_reloading(true);
    assert_eq!(core.new_orphan(), None, "a reload brings another");
}

#[test]
fn a_leaving_worker_that_panics_is_not_built_again() {
    let mut core = core(PolicyKind::NoWait);
    let spec = worker(&mut core, 0, 0, 8);
    submit(&mut core, ms(0), 2, 7);
    let Next::Run(batch) = core.next(ms(0), DeviceIndex::new(0)) else {
        panic!("nothing to run")
    };
    core.drain_worker(spec.id);
    let (verdict, failed) = core.panicked(ms(1), &batch);
    assert_eq!((verdict, failed.len()), (Verdict::Gone, 1));
    assert!(core.is_drained(spec.id));
    assert_eq!(core.pooled(), 0);
}

/// A core whose pool has 2048 places.
fn roomy() -> Core<u64> {
    let devices = vec![Discipline::OneAtATime];
    let config = CoreConfig::ensemble(devices, &[0], 16, 128, PolicyKind::NoWait);
    let mut core = Core::new(config);
    core.door().set(DoorState::Open);
    core
}

#[test]
fn large_requests_leave_room_to_small_ones_unless_they_are_alone() {
    let asks = |core: &mut Core<u64>, samples: usize| {
        let admitted = core.admit(Duration::ZERO, Arrival::with_samples(samples), |_| 0);
        admitted.is_ok()
    };
    let mut core = roomy();
    // 128 places are kept for those that need no more.
    let expected = [
        (1000, true),
        (921, false),
        (920, true),
        (129, false),
        (128, true),
    ];
    for (samples, is_let_in) in expected {
        assert_eq!(asks(&mut core, samples), is_let_in, "{samples}");
    }
    assert!(asks(&mut roomy(), 2048), "it is alone");
}
