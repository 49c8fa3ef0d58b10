//! How requests wait: the most urgent first, of one priority in the order of arrival, at most so
//! many and for at most so long.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::serving::{
    Arrival, Batch, Beside, Core, CoreConfig, Discipline, DoorState, LevelStats, Next,
    PipelineConfig, PipelineIndex, Refused, RequestKey, Stamps, WorkerSpec,
};
use divisi_model::dataflow::Dataflow;
use divisi_model::ensemble::{
    BatchSize, Ensemble, Files, MemberPrecision, PolicyKind, QueuePolicy, QueueTimeout, Queueing,
    QueueingError, TimeoutAction, Wait,
};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use proptest::prelude::*;

const DEVICE: DeviceIndex = DeviceIndex::new(0);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Three levels, the second the default: of the first requests fail after 5 ms, of the second they
/// go behind the others after 3 ms, and at most so many wait in each.
fn three_levels(most: u32) -> Queueing {
    let timeout = |after, action| QueueTimeout {
        after: ms(after),
        action,
        may_be_shorter: true,
    };
    let policy = |timeout| QueuePolicy {
        timeout,
        most: NonZeroU32::new(most),
    };
    let own = BTreeMap::from([
        (1, policy(Some(timeout(5, TimeoutAction::Reject)))),
        (2, policy(Some(timeout(3, TimeoutAction::Delay)))),
    ]);
    Queueing::new(3, 2, policy(None), &own).expect("three levels")
}

/// One device with a worker of one member; the first pipeline has levels, the second has none.
fn core(queueing: Queueing, discipline: Discipline, policy: PolicyKind, size: u32) -> Core<u64> {
    let pipeline = |queueing| PipelineConfig {
        flow: Arc::new(Dataflow::ensemble(&[0])),
        extents: 64,
        slots: 4,
        queueing,
    };
    let mut core = Core::new(CoreConfig {
        devices: vec![discipline],
        members: 1,
        pipelines: vec![pipeline(Some(Arc::new(queueing))), pipeline(None)],
        segment: 4,
        policy,
        own_policies: Vec::new(),
    });
    core.door().set(DoorState::Open);
    let spec = WorkerSpec {
        id: core.new_worker(),
        device: DEVICE,
        member: MemberIndex::new(0),
        size: BatchSize::new(size).expect("a size"),
        precision: MemberPrecision::default(),
    };
    core.add_worker(Duration::ZERO, spec);
    core
}

fn alone(most: u32) -> Core<u64> {
    let one_at_a_time = Discipline::OneAtATime;
    core(three_levels(most), one_at_a_time, PolicyKind::NoWait, 1)
}

fn ask(core: &mut Core<u64>, now: Duration, priority: u64) -> Result<RequestKey, Refused> {
    ask_due(core, now, priority, None)
}

fn ask_due(
    core: &mut Core<u64>,
    now: Duration,
    priority: u64,
    due: Option<Duration>,
) -> Result<RequestKey, Refused> {
    let arrival = Arrival {
        priority,
        due,
        ..Arrival::with_samples(1)
    };
    let admission = core.admit(now, arrival, |_| priority)?;
    core.enqueue(now, admission.request);
    Ok(admission.request)
}

fn begin(core: &mut Core<u64>, now: Duration) -> Option<Batch<u64>> {
    loop {
        match core.next(now, DEVICE) {
            Next::Run(batch) => return Some(batch),
            Next::Copy(transfers) => {
                for transfer in transfers {
                    core.copied(now, DEVICE, transfer.part);
                }
            }
            Next::Sleep(_) => return None,
        }
    }
}

fn end(core: &mut Core<u64>, now: Duration, batch: &Batch<u64>) -> usize {
    let mut over = 0;
    core.finish(now, batch, Stamps::default())
        .pay(|_| over += 1);
    over
}

/// Runs what waits, one after another. Returns the requests in the order in which they began.
fn drain(core: &mut Core<u64>, now: Duration) -> Vec<RequestKey> {
    let mut order = Vec::new();
    while let Some(batch) = begin(core, now) {
        order.extend(batch.ranges.iter().map(|placed| placed.range.request));
        end(core, now, &batch);
    }
    order
}

#[test]
fn requests_wait_until_their_first_batch_begins_whatever_bounds_that() {
    let mut core = alone(8);
    for pipeline in [PipelineIndex(0), PipelineIndex(1)] {
        let let_in = |core: &mut Core<u64>| {
            let arrival = Arrival {
                pipeline,
                ..Arrival::with_samples(2)
            };
            let admission = core.admit(ms(0), arrival, |_| 0).expect("let in");
            admission.request
        };
        let (first, given_up, staged) = (let_in(&mut core), let_in(&mut core), let_in(&mut core));
        core.enqueue(ms(0), first);
        core.enqueue(ms(0), given_up);
        assert_eq!(core.waiting(pipeline), 3);
        let batch = begin(&mut core, ms(1)).expect("a batch");
        assert_eq!(core.waiting(pipeline), 2, "one of its two samples runs");
        assert_eq!(end(&mut core, ms(2), &batch), 0);
        let batch = begin(&mut core, ms(2)).expect("a batch");
        assert_eq!(core.waiting(pipeline), 2, "it is counted once");
        assert_eq!(end(&mut core, ms(3), &batch), 1);
        core.fail(ms(3), given_up).pay(drop);
        assert_eq!(core.waiting(pipeline), 1);
        core.fail(ms(3), staged).pay(drop);
        core.abandon(staged);
        assert_eq!((core.waiting(pipeline), core.pooled()), (0, 0));
    }
    assert_eq!(core.waiting(PipelineIndex(2)), 0, "there is none");
}

#[test]
fn the_most_urgent_goes_first_and_of_one_priority_the_oldest() {
    let mut core = alone(9);
    let priorities = [3, 2, 0, 1, 3, 7, 1];
    let keys = priorities.map(|priority| ask(&mut core, ms(0), priority).expect("let in"));
    // 0 and what there is not are the default, 2.
    let expected = [3, 6, 1, 2, 5, 0, 4].map(|at: usize| keys[at]);
    assert_eq!(drain(&mut core, ms(1)), expected);
}

#[test]
fn of_one_priority_the_request_that_is_due_first_goes_first() {
    let mut core = alone(9);
    let asked = [
        (2, Some(30)),
        (2, Some(10)),
        (3, Some(1)),
        (2, None),
        (2, Some(10)),
        (1, Some(90)),
    ];
    let keys = asked
        .map(|(priority, due)| ask_due(&mut core, ms(0), priority, due.map(ms)).expect("let in"));
    // Those that name no time go before those that do.
    let expected = [5, 3, 1, 4, 0, 2].map(|at: usize| keys[at]);
    assert_eq!(drain(&mut core, ms(1)), expected);
}

#[test]
fn requests_that_others_go_before_leave_these_a_quarter_of_the_pool_unless_they_are_alone() {
    let mut core = alone(1000);
    let fill = |core: &mut Core<u64>, priority| {
        (0..1000)
            .take_while(|_| ask(core, ms(0), priority).is_ok())
            .count()
    };
    // The pool has 256 places.
    assert_eq!(
        [3, 2, 1].map(|priority| fill(&mut core, priority)),
        [192, 0, 64]
    );
    assert_eq!(drain(&mut core, ms(0)).len(), 256);
    let large = Arrival {
        priority: 3,
        ..Arrival::with_samples(256)
    };
    core.admit(ms(0), large, |_| 0)
        .expect("nobody else is there");
}

#[test]
fn of_requests_that_are_due_those_that_are_not_among_the_first_leave_these_a_quarter_of_the_pool() {
    let mut core = alone(1000);
    let mut fill = |due| {
        (0..1000)
            .take_while(|_| ask_due(&mut core, ms(0), 1, Some(ms(due))).is_ok())
            .count()
    };
    // The pool has 256 places. Requests with more than 16 before them have 192 of these.
    let taken = [60_000, 10_000, 60_000, 100, 20].map(&mut fill);
    assert_eq!(taken, [192, 17, 0, 17, 17]);
    assert_eq!(drain(&mut core, ms(0)).len(), 243);
    // Those that name no such time go before all that do.
    for _ in 0..200 {
        ask(&mut core, ms(0), 1).expect("room");
    }
    assert!(ask_due(&mut core, ms(0), 1, Some(ms(20))).is_err());
    let at_once = (0..1000).take_while(|_| ask(&mut core, ms(0), 1).is_ok());
    assert_eq!(at_once.count(), 56);
    // Few before a large request keep it from nothing.
    assert_eq!(drain(&mut core, ms(0)).len(), 256);
    ask_due(&mut core, ms(0), 1, Some(ms(20))).expect("room");
    let large = Arrival {
        priority: 1,
        due: Some(ms(1000)),
        ..Arrival::with_samples(192)
    };
    core.admit(ms(0), large, |_| 0).expect("room");
}

#[test]
fn urgency_counts_from_the_default_where_others_have_no_priorities() {
    let mut core = alone(9);
    let plain = Arrival {
        pipeline: PipelineIndex(1),
        priority: 3,
        ..Arrival::with_samples(1)
    };
    let later = ask(&mut core, ms(0), 3).expect("let in");
    let usual = ask(&mut core, ms(0), 2).expect("let in");
    let other = core.admit(ms(0), plain, |_| 0).expect("let in").request;
    core.enqueue(ms(0), other);
    let urgent = ask(&mut core, ms(0), 1).expect("let in");
    assert_eq!(drain(&mut core, ms(1)), [urgent, usual, other, later]);
    assert!(core.queue_of(PipelineIndex(1)).is_empty());
}

#[test]
fn a_request_beyond_the_bound_is_refused_at_once_and_those_that_begin_make_room() {
    let mut core = alone(2);
    for _ in 0..2 {
        ask(&mut core, ms(0), 1).expect("let in");
    }
    let full = Refused::QueueFull {
        priority: 1,
        most: 2,
    };
    assert_eq!(ask(&mut core, ms(0), 1), Err(full));
    ask(&mut core, ms(0), 2).expect("another level has room");
    let batch = begin(&mut core, ms(0)).expect("waits");
    ask(&mut core, ms(0), 1).expect("one of them runs");
    end(&mut core, ms(1), &batch);
    drain(&mut core, ms(1));
    let stats = core.queue_of(PipelineIndex(0));
    let expected = LevelStats {
        refused: 1,
        ..LevelStats::default()
    };
    assert_eq!(stats[0], expected);
    assert_eq!((core.pooled(), core.in_flight()), (0, 0));
}

#[test]
fn a_request_that_waits_too_long_fails_or_goes_behind_the_others() {
    let mut core = alone(9);
    let late = ask(&mut core, ms(0), 1).expect("let in");
    let delayed = ask(&mut core, ms(0), 2).expect("let in");
    assert_eq!(core.next_timer(), Some(ms(3)));
    assert!(core.expire(ms(3)).is_empty(), "it goes behind the others");
    let after = ask(&mut core, ms(4), 2).expect("let in");
    let last = ask(&mut core, ms(4), 3).expect("let in");
    assert_eq!(core.next_timer(), Some(ms(5)));
    let mut failed = Vec::new();
    core.expire(ms(5)).pay(|over| failed.push(over.request));
    assert_eq!(failed, [late]);
    assert_eq!(drain(&mut core, ms(5)), [after, delayed, last]);
    let stats = core.queue_of(PipelineIndex(0));
    assert_eq!((stats[0].expired, stats[1].delayed), (1, 1));
    assert_eq!(core.next_timer(), None, "nobody waits");
}

#[test]
fn a_request_may_name_a_shorter_time_and_no_longer_one() {
    for (asked, expected) in [(1, 1), (5, 3)] {
        let mut core = alone(9);
        let arrival = Arrival {
            priority: 2,
            patience: Some(ms(asked)),
            ..Arrival::with_samples(1)
        };
        core.admit(ms(0), arrival, |_| 0).expect("let in");
        assert_eq!(core.next_timer(), Some(ms(expected)));
    }
}

#[test]
fn what_has_begun_is_not_too_late() {
    let mut core = alone(9);
    let request = ask(&mut core, ms(0), 1).expect("let in");
    let batch = begin(&mut core, ms(0)).expect("waits");
    assert_eq!(core.next_timer(), None);
    assert!(core.expire(ms(9)).is_empty());
    assert_eq!(batch.ranges[0].range.request, request);
    assert_eq!(end(&mut core, ms(9), &batch), 1);
}

#[test]
fn levels_that_cannot_be_are_refused() {
    let none = QueuePolicy::default();
    let own = BTreeMap::from([(4, none)]);
    for (levels, default, own, expected) in [
        (0, 1, BTreeMap::new(), QueueingError::Levels(0)),
        (9999, 1, BTreeMap::new(), QueueingError::Levels(9999)),
        (
            3,
            0,
            BTreeMap::new(),
            QueueingError::Default {
                levels: 3,
                found: 0,
            },
        ),
        (
            3,
            1,
            own,
            QueueingError::Policy {
                levels: 3,
                found: 4,
            },
        ),
    ] {
        assert_eq!(Queueing::new(levels, default, none, &own), Err(expected));
    }
}

fn read(queue: &str) -> Result<Ensemble, String> {
    let text = format!(
        "name = \"e\"\nclasses = 3\n{queue}\n[input]\nshape = [4]\n[[members]]\nname = \"a\"\n\
         network = {{ builder = \"perceptron\", hidden = [4] }}\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("ensemble.toml"), text).expect("written");
    Ensemble::read(&Files::from_path(folder.path())).map_err(|error| error.to_string())
}

#[test]
fn a_manifest_says_how_requests_wait() {
    let text = "queue = { levels = 3, default = 2, most = 8, timeout_ms = 3, on_timeout = \
                \"delay\", shorter = true, level = { 1 = { timeout_ms = 5, on_timeout = \"reject\" \
                }, 3 = { timeout_ms = 0 } } }";
    let ensemble = read(text).expect("a queue");
    assert_eq!(ensemble.queueing.as_deref(), Some(&three_levels(8)));
    assert_eq!(read("").expect("no queue").queueing, None);
}

#[test]
fn a_queue_that_cannot_be_is_refused_by_its_line_and_field() {
    for (text, expected) in [
        (
            "queue = { timeout_ms = -1 }",
            ":3: queue.timeout_ms: expected 0 to",
        ),
        (
            "queue = { level = { x = { } } }",
            ":3: queue.level: expected a level's number, found `x`",
        ),
        (
            "queue = { levels = 2, level = { 3 = { } } }",
            ":3: queue: expected policies for levels 1 to 2, found one for level 3",
        ),
        (
            "queue = { levels = 2, default = 3 }",
            ":3: queue: expected a default level from 1 to 2, found 3",
        ),
        (
            "queue = { on_timeout = \"wait\" }",
            "unknown variant `wait`",
        ),
    ] {
        let found = read(text).expect_err(text);
        assert!(found.contains(expected), "{found}");
    }
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// By a priority, due at a time.
    Ask(u64, Option<u64>),
    Run,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0u64..5, prop::option::of(0u64..20)).prop_map(|(priority, due)| Step::Ask(priority, due)),
        2 => Just(Step::Run),
        1 => (1u64..4).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..80)
}

/// A request as the definition has it: its level, whether it was delayed, and when it is too late.
struct Waiting {
    key: RequestKey,
    level: u64,
    delayed: bool,
    due: Option<Duration>,
    until: Option<Duration>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn requests_begin_in_the_order_that_the_definition_says(steps in steps(), most in 1u32..5) {
        let (mut core, mut now) = (alone(most), ms(0));
        let mut waiting: Vec<Waiting> = Vec::new();
        for step in steps {
            match step {
                Step::Ask(priority, due) => {
                    let due = due.map(ms);
                    let level = if (1..=3).contains(&priority) { priority } else { 2 };
                    let there = waiting.iter().filter(|w| w.level == level).count();
                    let asked = ask_due(&mut core, now, priority, due);
                    prop_assert_eq!(asked.is_ok(), there < most as usize);
                    let Ok(key) = asked else { continue };
                    let until = [Some(ms(5)), Some(ms(3)), None][level as usize - 1];
                    let until = until.map(|until| now + until);
                    waiting.push(Waiting { key, level, delayed: false, due, until });
                }
                Step::Run => {
                    let first = (0..waiting.len())
                        .min_by_key(|at| (waiting[*at].level, waiting[*at].delayed, waiting[*at].due, *at));
                    let batch = begin(&mut core, now);
                    let begun = batch.as_ref().map(|batch| batch.ranges[0].range.request);
                    prop_assert_eq!(begun, first.map(|at| waiting.remove(at).key));
                    let over = batch.map_or(0, |batch| end(&mut core, now, &batch));
                    prop_assert_eq!(over, usize::from(begun.is_some()));
                }
                Step::Pass(millis) => {
                    now += ms(millis);
                    let mut failed = Vec::new();
                    core.expire(now).pay(|over| failed.push(over.request));
                    let late = waiting.extract_if(.., |w| {
                        let late = w.until.is_some_and(|until| until <= now);
                        w.delayed |= late && w.level == 2;
                        late && w.level == 1
                    });
                    let late: Vec<RequestKey> = late.map(|w| w.key).collect();
                    prop_assert_eq!(failed, late);
                }
            }
            let counted: usize = core.queue_of(PipelineIndex(0)).iter().map(|l| l.waiting).sum();
            prop_assert_eq!(counted, waiting.len());
        }
    }

    #[test]
    fn whatever_the_policy_every_request_is_over_once_and_leaves_nothing(
        steps in steps(), size in prop::sample::select(vec![1u32, 4]), side_by_side in any::<bool>(),
        policy in prop::sample::select(vec![
            PolicyKind::NoWait,
            PolicyKind::OptWait { wait: Wait::millis(1) },
            PolicyKind::Segment { wait: Wait::millis(1) },
            PolicyKind::PipelinedOptWait { wait: Wait::millis(1) },
            PolicyKind::Elastic { max_inf: None },
        ]),
    ) {
        let discipline = if side_by_side { Discipline::SideBySide(Beside::Any) } else { Discipline::OneAtATime };
        let mut core = core(three_levels(1000), discipline, policy, size);
        let (mut now, mut asked, mut over) = (ms(0), 0, 0);
        let settle = |core: &mut Core<u64>, now| {
            let mut over = 0;
            core.tick(now).pay(|_| over += 1);
            core.expire(now).pay(|_| over += 1);
            over
        };
        for step in steps {
            match step {
                Step::Ask(priority, due) => {
                    let taken = ask_due(&mut core, now, priority, due.map(ms));
                    asked += usize::from(taken.is_ok());
                }
                Step::Run => {
                    if let Some(batch) = begin(&mut core, now) {
                        over += end(&mut core, now, &batch);
                    }
                }
                Step::Pass(millis) => {
                    now += ms(millis);
                    over += settle(&mut core, now);
                }
            }
        }
        for _ in 0..4 {
            now += ms(2);
            over += settle(&mut core, now);
            while let Some(batch) = begin(&mut core, now) {
                over += end(&mut core, now, &batch);
            }
        }
        prop_assert_eq!(over, asked);
        prop_assert_eq!((core.in_flight(), core.pooled()), (0, 0));
        prop_assert!(core.queue_of(PipelineIndex(0)).iter().all(|level| level.waiting == 0));
    }
}
