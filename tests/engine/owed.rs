//! Requests that are over are owed an answer, and giving one up costs what it is.

use std::num::NonZeroU32;
use std::time::Duration;

use divisi_engine::serving::{
    Arrival, Batch, Beside, Core, CoreConfig, Discipline, DoorState, Next, RequestKey, Stamps,
    Verdict, WorkerSpec,
};
use divisi_model::ensemble::{BatchSize, MemberPrecision, PolicyKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

const SEGMENT: usize = 16;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn elastic(max_inf: Option<u32>) -> PolicyKind {
    let max_inf = max_inf.and_then(NonZeroU32::new);
    PolicyKind::Elastic { max_inf }
}

/// Accelerators, and members that all take the same input.
fn core(policy: PolicyKind, devices: usize, members: usize) -> Core<u64> {
    let mut core = Core::new(CoreConfig::ensemble(
        vec![Discipline::SideBySide(Beside::Any); devices],
        &vec![0; members],
        512,
        SEGMENT,
        policy,
    ));
    core.door().set(DoorState::Open);
    core
}

fn worker(core: &mut Core<u64>, device: usize, member: usize, size: u32) -> WorkerSpec {
    let size = BatchSize::new(size).expect("a size");
    let id = core.new_worker();
    let spec = WorkerSpec {
        id,
        device: DeviceIndex::new(device),
        member: MemberIndex::new(member),
        size,
        precision: MemberPrecision::default(),
    };
    core.add_worker(ms(0), spec);
    spec
}

fn submit(core: &mut Core<u64>, now: Duration, samples: usize) -> RequestKey {
    let admission = core
        .admit(now, Arrival::with_samples(samples), |_| 0)
        .expect("let in");
    core.enqueue(now, admission.request);
    admission.request
}

/// Everything that a device starts now; what is copied ahead is there at once.
fn start(core: &mut Core<u64>, now: Duration, device: usize) -> Vec<Batch<u64>> {
    let mut batches = Vec::new();
    loop {
        match core.next(now, DeviceIndex::new(device)) {
            Next::Run(batch) => batches.push(batch),
            Next::Copy(parts) => parts
                .iter()
                .for_each(|t| core.copied(now, DeviceIndex::new(device), t.part)),
            Next::Sleep(_) => return batches,
        }
    }
}

#[test]
fn a_worker_that_goes_after_a_panic_leaves_none_of_its_lanes_waiting() {
    let mut core = core(elastic(None), 1, 1);
    let spec = worker(&mut core, 0, 0, 8);
    submit(&mut core, ms(0), 1);
    let mut batches = start(&mut core, ms(0), 0);
    submit(&mut core, ms(0), 1);
    batches.append(&mut start(&mut core, ms(0), 0));
    assert_eq!(batches.len(), 2, "two lanes run");
    core.drain_worker(spec.id);
    let (verdict, owed) = core.panicked(ms(1), &batches[0]);
    assert_eq!((verdict, owed.len()), (Verdict::Gone, 2));
    assert_eq!(core.in_flight(), 0);
    let late = core.finish(ms(2), &batches[1], Stamps::default());
    assert!(late.is_empty(), "it was answered before");
    assert_eq!(core.pooled(), 0);
}

#[test]
fn a_worker_that_is_retired_leaves_none_of_its_lanes_waiting() {
    let mut core = core(elastic(None), 1, 1);
    let spec = worker(&mut core, 0, 0, 8);
    let mut stuck = Vec::new();
    for round in 0..3 {
        let now = ms(round);
        submit(&mut core, now, 1);
        let mut batches = start(&mut core, now, 0);
        if round == 0 {
            // One lane hangs all the while.
            stuck.append(&mut batches);
            submit(&mut core, now, 1);
            batches = start(&mut core, now, 0);
        }
        let (verdict, owed) = core.panicked(now, &batches[0]);
        match round {
            2 => assert_eq!((verdict, owed.len()), (Verdict::Retire, 2)),
            _ => assert_eq!((verdict, owed.len()), (Verdict::Restart, 1)),
        }
        if verdict == Verdict::Restart {
            assert!(core.rebuilt(spec.id));
        }
    }
    assert_eq!((stuck.len(), core.in_flight()), (1, 0));
}

#[test]
fn what_is_owed_and_dropped_is_counted() {
    let mut core = core(PolicyKind::NoWait, 1, 1);
    let request = submit(&mut core, ms(0), 3);
    let owed = core.fail(ms(0), request);
    assert_eq!((owed.len(), core.dropped()), (1, 0));
    drop(owed);
    assert_eq!(core.dropped(), 1);
    let request = submit(&mut core, ms(0), 3);
    let mut paid = Vec::new();
    core.fail(ms(0), request)
        .pay(|done| paid.push(done.request));
    assert_eq!((paid, core.dropped()), (vec![request], 1));
}

#[test]
fn a_cancel_looks_at_its_own_samples_however_many_others_wait() {
    let steps = |waiting: usize| {
        let mut core = core(PolicyKind::NoWait, 2, 3);
        for member in 0..3 {
            worker(&mut core, member % 2, member, 8);
        }
        let requests: Vec<RequestKey> = (0..waiting).map(|_| submit(&mut core, ms(0), 2)).collect();
        let before = core.looked_at();
        for request in &requests {
            assert_eq!(core.fail(ms(1), *request).len(), 1);
        }
        assert_eq!((core.pooled(), core.in_flight()), (0, 0));
        core.looked_at() - before
    };
    // A queue and an open segment for each of three members, as many workers, three ranges.
    assert_eq!(steps(1), 12);
    assert_eq!(steps(2000), 2000 * 12);
}

#[test]
fn what_is_folded_while_its_device_is_lost_counts_there_until_it_ends() {
    let mut core = core(elastic(Some(4)), 1, 1);
    worker(&mut core, 0, 0, 8);
    submit(&mut core, ms(0), 12);
    let batches = start(&mut core, ms(0), 0);
    let alive = |batches: &[Batch<u64>]| batches.iter().map(|b| b.samples).sum::<usize>();
    assert_eq!(alive(&batches), 4);
    assert!(batches.iter().all(|batch| core.fold(batch)));
    core.lose_device(DeviceIndex::new(0));
    core.regain_device(DeviceIndex::new(0));
    worker(&mut core, 0, 0, 8);
    assert_eq!(alive(&start(&mut core, ms(1), 0)), 0, "4 are being folded");
    for batch in &batches {
        assert!(core.finish(ms(2), batch, Stamps::default()).is_empty());
    }
    assert_eq!(alive(&start(&mut core, ms(2), 0)), 4);
}

#[test]
fn a_devices_pool_holds_no_more_than_its_workers_book() {
    for policy in ["pipelined-opt-wait:0ms", "elastic", "elastic:100000"] {
        let policy: PolicyKind = policy.parse().expect("a policy");
        // Nobody serves the other member yet, so that no request is over.
        let mut core = core(policy, 1, 2);
        let size = 8;
        worker(&mut core, 0, 0, size);
        let mut most = 0;
        for _ in 0..64 {
            submit(&mut core, ms(0), SEGMENT);
        }
        for _ in 0..200 {
            let batches = start(&mut core, ms(0), 0);
            most = most.max(core.copied_ahead(DeviceIndex::new(0)));
            for batch in &batches {
                core.finish(ms(0), batch, Stamps::default()).pay(drop);
            }
        }
        let booked = PolicyKind::POOL * size as usize + SEGMENT;
        assert!(
            most <= booked,
            "{policy}: {most} held where {booked} are booked"
        );
        assert_eq!(core.in_flight(), 64);
    }
}
