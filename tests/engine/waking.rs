//! Who is woken: as many as can take what waits, and nobody sleeps who could.

use std::time::Duration;

use divisi_engine::serving::{Arrival, Core, CoreConfig, Discipline, DoorState, Next, WorkerSpec};
use divisi_model::ensemble::{BatchSize, MemberPrecision, PolicyKind, Wait};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

const DEVICES: usize = 8;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A core with a worker of one member on each of some partitions, all asleep.
fn asleep(policy: PolicyKind) -> Core<()> {
    let mut core = Core::new(CoreConfig::ensemble(
        vec![Discipline::OneAtATime; DEVICES],
        &[0],
        8,
        64,
        policy,
    ));
    core.door().set(DoorState::Open);
    for device in DeviceIndex::all(DEVICES) {
        let id = core.new_worker();
        let size = BatchSize::new(8).expect("a size");
        let spec = WorkerSpec {
            id,
            device,
            member: MemberIndex::new(0),
            size,
            precision: MemberPrecision::default(),
        };
        core.add_worker(ms(0), spec);
        assert!(matches!(core.next(ms(0), device), Next::Sleep(None)));
    }
    core
}

fn submit(core: &mut Core<()>, now: Duration, samples: usize) -> Vec<DeviceIndex> {
    let admission = core
        .admit(now, Arrival::with_samples(samples), |_| ())
        .expect("let in");
    core.enqueue(now, admission.request);
    core.wake(now)
}

#[test]
fn as_many_devices_are_woken_as_can_take_what_waits() {
    for (samples, woken) in [(1, 1), (8, 1), (9, 2), (40, 5), (64, 8), (200, 8)] {
        let mut core = asleep(PolicyKind::NoWait);
        let found = submit(&mut core, ms(0), samples).len();
        assert_eq!(found, woken, "{samples} samples");
    }
}

#[test]
fn who_was_woken_and_has_not_asked_yet_counts_as_taking_what_it_can() {
    let mut core = asleep(PolicyKind::NoWait);
    assert_eq!(submit(&mut core, ms(0), 3), [DeviceIndex::new(0)]);
    assert!(submit(&mut core, ms(0), 3).is_empty(), "it takes these too");
    let Next::Run(batch) = core.next(ms(0), DeviceIndex::new(0)) else {
        panic!("it runs")
    };
    assert_eq!(batch.samples, 6);
    assert!(core.wake_others(ms(0)).is_empty(), "nothing is left");
}

#[test]
fn who_takes_less_than_it_was_woken_for_leaves_the_rest_to_others() {
    let mut core = asleep(PolicyKind::NoWait);
    assert_eq!(submit(&mut core, ms(0), 8), [DeviceIndex::new(0)]);
    core.lose_device(DeviceIndex::new(0));
    assert!(core.could_act(ms(0), DeviceIndex::new(1)));
    assert_eq!(
        core.wake(ms(0)),
        [DeviceIndex::new(1)],
        "who was woken is gone"
    );
}

#[test]
fn one_alarm_is_enough_for_samples_that_wait_for_others() {
    let mut core = asleep(PolicyKind::OptWait {
        wait: Wait::millis(5),
    });
    assert_eq!(submit(&mut core, ms(0), 1), [DeviceIndex::new(0)]);
    assert!(matches!(core.next(ms(0), DeviceIndex::new(0)), Next::Sleep(Some(at)) if at == ms(5)));
    assert!(core.wake_others(ms(0)).is_empty());
    assert_eq!(
        submit(&mut core, ms(1), 1).len(),
        0,
        "somebody looks in time"
    );
    assert_eq!(core.next_wake(), Some(ms(5)));
    // Its alarm rings, and it runs both.
    assert_eq!(core.wake(ms(5)), [DeviceIndex::new(0)]);
    assert!(
        matches!(core.next(ms(5), DeviceIndex::new(0)), Next::Run(batch) if batch.samples == 2)
    );
}

#[test]
fn whose_alarm_others_rely_on_hands_it_on_when_it_is_busy() {
    let mut core = asleep(PolicyKind::OptWait {
        wait: Wait::millis(5),
    });
    assert_eq!(submit(&mut core, ms(0), 1), [DeviceIndex::new(0)]);
    assert!(matches!(
        core.next(ms(0), DeviceIndex::new(0)),
        Next::Sleep(Some(_))
    ));
    // A full batch: it takes the first eight, and somebody must look after the last one.
    assert_eq!(
        submit(&mut core, ms(2), 8),
        [DeviceIndex::new(0), DeviceIndex::new(1)]
    );
    assert!(
        matches!(core.next(ms(2), DeviceIndex::new(0)), Next::Run(batch) if batch.samples == 8)
    );
    assert!(core.wake_others(ms(2)).is_empty());
    assert!(matches!(core.next(ms(2), DeviceIndex::new(1)), Next::Sleep(Some(at)) if at == ms(7)));
    assert!(core.wake_others(ms(2)).is_empty());
}
