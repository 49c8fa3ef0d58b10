//! Which variant answers a query, by what queries before it left to do.

use std::sync::Arc;
use std::time::Duration;

use divisi_model::ensemble::Ensemble;
use divisi_modelless::goals::{ChoicePreference, LatencyGoal, QueryGoals};
use divisi_modelless::quantities::Accuracy;
use divisi_modelless::variants::{TaskIndex, VariantIndex};
use divisi_runtime::device::DeviceIndex;
use divisi_tasks::routing::{RoutedQuery, RoutingError, TaskRouter, alone};
use divisi_tasks::served::{RunningVariant, TaskQuery};

use crate::common::{MIDDLING, SMALL, WHOLE, digits, opened, opened_of, with_own_queue};
use crate::wait::wait_until;

const TASK: TaskIndex = TaskIndex(0);

/// A router of the three variants on one device, of which those of these numbers run.
fn router(running: &[u32]) -> Arc<TaskRouter> {
    router_of(&digits(), running)
}

fn router_of(ensemble: &Ensemble, running: &[u32]) -> Arc<TaskRouter> {
    let router = TaskRouter::new(opened_of(ensemble, &[SMALL, MIDDLING, WHOLE]));
    let running = running.iter().map(|at| RunningVariant {
        variant: VariantIndex(*at),
        entry: 0,
        devices: vec![(DeviceIndex::new(0), 1.0)],
    });
    router.set_running(running.collect());
    Arc::new(router)
}

fn goals(percent: f64, millis: u64) -> QueryGoals {
    let latency = LatencyGoal::new(Duration::from_millis(millis));
    QueryGoals {
        accuracy: Some(Accuracy::percent(percent).expect("percent")),
        latency: Some(latency.expect("a time")),
        ..QueryGoals::default()
    }
}

fn entry(routed: &Result<RoutedQuery, RoutingError>) -> &str {
    match routed {
        Ok(routed) => routed.entry(),
        Err(refused) => refused.code(),
    }
}

#[test]
fn the_cheapest_variant_that_meets_the_goals_answers() {
    for (percent, millis, expected) in [
        (80.0, 100, "numbers.sample.bf16.mlp"),
        (95.0, 100, "numbers.sample.int8.cnn-s+cnn-m"),
        (98.0, 100, "numbers.sample.f32.all"),
        (99.5, 100, "goals_unreachable"),
        (98.0, 10, "goals_unreachable"),
    ] {
        let routed = router(&[0, 1, 2]).route(TASK, &goals(percent, millis), 1);
        assert_eq!(entry(&routed), expected, "{percent} % in {millis} ms");
    }
}

#[test]
fn the_most_accurate_one_answers_where_that_is_preferred() {
    let goals = QueryGoals {
        prefer: ChoicePreference::MostAccurate,
        ..goals(80.0, 10)
    };
    let routed = router(&[0, 1, 2]).route(TASK, &goals, 1);
    assert_eq!(entry(&routed), "numbers.sample.int8.cnn-s+cnn-m");
}

#[test]
fn queries_that_wait_are_in_the_way_of_those_after_them_until_they_are_over() {
    let router = router(&[0, 1, 2]);
    let goals = goals(95.0, 30);
    let held: Vec<_> = (0..6).map(|_| router.route(TASK, &goals, 1)).collect();
    let missed = |routed: &Result<RoutedQuery, RoutingError>| {
        let routed = routed.as_ref().expect("routed");
        !routed.expected().missed.is_none()
    };
    // Each waits for 4 ms of each before it, and for the batch of all that wait.
    let misses: Vec<bool> = held.iter().map(missed).collect();
    assert_eq!(misses, [false, false, false, false, true, true]);
    assert_eq!(
        entry(&held[5]),
        "numbers.sample.bf16.mlp",
        "the nearest in time"
    );
    drop(held);
    let routed = router.route(TASK, &goals, 1);
    assert!(!missed(&routed));
    assert_eq!(
        routed.expect("routed").expected().finish,
        Duration::from_millis(4)
    );
}

#[test]
fn a_query_with_a_latency_goes_before_those_without() {
    let router = router(&[2]);
    let whole = QueryGoals {
        latency: None,
        ..goals(98.0, 1)
    };
    let held: Vec<_> = (0..6).map(|_| router.route(TASK, &whole, 1)).collect();
    let finish = |routed: &Result<RoutedQuery, RoutingError>| {
        let routed = routed.as_ref().expect("routed");
        (routed.expected().finish, routed.urgency().priority())
    };
    let (waits, waiting) = finish(&held[5]);
    let hurries = router.route(TASK, &goals(98.0, 500), 1);
    let after = router.route(TASK, &whole, 1);
    let ((soon, default), (late, behind)) = (finish(&hurries), finish(&after));
    assert_eq!((default, waiting, behind), (0, 2, 2));
    assert!(soon < waits && waits < late, "{soon:?} {waits:?} {late:?}");
}

#[test]
fn of_queries_with_a_latency_the_one_that_is_due_first_goes_first() {
    let router = router(&[2]);
    let loose = goals(98.0, 1500);
    let held: Vec<_> = (0..30).map(|_| router.route(TASK, &loose, 1)).collect();
    let finish = |routed: &RoutedQuery| routed.expected().finish;
    let last = held[29].as_ref().expect("routed");
    // It is answered with the first full batch.
    let tight = router.route(TASK, &goals(98.0, 200), 1).expect("routed");
    assert!(finish(&tight) < finish(last) / 2, "{:?}", finish(&tight));
    assert!(tight.due() < last.due());
    // It is in the way of those that are due later.
    let after = router.route(TASK, &loose, 1).expect("routed");
    assert!(finish(&after) > finish(last));
}

#[test]
fn a_query_that_would_make_others_late_is_refused() {
    let router = router(&[2]);
    let ask = |millis| router.route(TASK, &goals(98.0, millis), 1);
    let loose: Vec<_> = (0..1000).map_while(|_| ask(500).ok()).collect();
    assert!((10..1000).contains(&loose.len()), "{}", loose.len());
    assert_eq!(entry(&ask(90)), "too_late", "all the time is promised");
    drop(loose);
    assert_eq!(entry(&ask(90)), "numbers.sample.f32.all");
}

#[test]
fn in_a_queue_of_a_manifest_queries_wait_for_those_of_their_level_and_more_urgent_ones() {
    let router = router_of(&with_own_queue(), &[2]);
    let goals = goals(98.0, 190);
    let ask = |priority| {
        router.route_query(TaskQuery {
            task: TASK,
            goals: &goals,
            samples: 1,
            priority,
        })
    };
    let held: Vec<_> = (0..1000).map_while(|_| ask(2).ok()).collect();
    assert!((1..1000).contains(&held.len()), "{}", held.len());
    assert_eq!([3, 0].map(|at| entry(&ask(at)).to_owned()), ["too_late"; 2]);
    let first = ask(1);
    assert_eq!(entry(&first), "numbers.sample.f32.all");
    let held_first: Vec<_> = (0..1000).map_while(|_| ask(1).ok()).collect();
    assert_eq!(entry(&ask(1)), "too_late");
    drop((held, held_first, first));
    assert_eq!(entry(&ask(3)), "numbers.sample.f32.all");
}

#[test]
fn a_query_that_others_went_before_teaches_nothing_of_delays() {
    let router = router(&[2]);
    let alone = || {
        let routed = router.route(TASK, &goals(98.0, 90), 1).expect("routed");
        routed.expected().finish
    };
    let before = alone();
    for _ in 0..50 {
        let loose = router.route(TASK, &goals(98.0, 1000), 1).expect("routed");
        let tight: Vec<_> = (0..3)
            .map(|_| router.route(TASK, &goals(98.0, 200), 1).expect("routed"))
            .collect();
        for (place, routed) in (1..).zip(tight) {
            routed.answered(before * place);
        }
        loose.answered(before * 4);
    }
    assert_eq!(alone(), before);
}

#[test]
fn a_query_that_nothing_answers_in_time_is_refused() {
    let router = router(&[2]);
    let held: Vec<_> = (0..3)
        .map(|_| router.route(TASK, &goals(80.0, 100), 1))
        .collect();
    // The small one answers in 1 ms, and in 2 ms once it is loaded.
    let soon = QueryGoals {
        latency: LatencyGoal::new(Duration::from_micros(1500)).ok(),
        ..QueryGoals::default()
    };
    let refused = router.route(TASK, &soon, 1).err();
    assert_eq!(refused.map(|error| error.code()), Some("too_late"));
    assert_eq!(router.task_tallies()[0].too_late, 1);
    drop(held);
}

#[test]
fn nothing_answers_where_nothing_runs() {
    let routed = router(&[]).route(TASK, &QueryGoals::default(), 1);
    assert_eq!(entry(&routed), "task_not_loaded");
}

#[test]
fn a_query_that_may_not_wait_is_told_that_nothing_runs_and_counted() {
    let router = router(&[]);
    let routed = router.route(TASK, &goals(80.0, 100), 1);
    assert_eq!(entry(&routed), "task_not_loaded");
    assert_eq!(router.task_tallies()[0].not_loaded, 1);
    let streams = router.interval(Duration::from_secs(1));
    assert_eq!((streams[0].over, streams[0].missed), (1, 1));
    assert_eq!(streams[0].demand.missed, 1.0, "of one query one");
}

#[test]
fn answers_are_counted_with_the_goals_that_they_missed() {
    let router = router(&[0]);
    let in_time = router.route(TASK, &goals(80.0, 100), 1).expect("routed");
    assert!(in_time.answered(Duration::from_millis(99)).is_none());
    let late = router.route(TASK, &goals(80.0, 100), 2).expect("routed");
    let missed = late.answered(Duration::from_millis(101));
    assert_eq!(missed.latency, Some(Duration::from_millis(1)));
    let inaccurate = router.route(TASK, &goals(95.0, 100), 1).expect("routed");
    assert_eq!(
        inaccurate.answered(Duration::ZERO).to_string(),
        "5.00 points less accurate"
    );
    drop(router.route(TASK, &goals(80.0, 100), 1));
    let tally = router.variant_tallies()[0];
    let counts = [tally.answered, tally.unanswered, tally.samples, tally.met];
    assert_eq!(counts, [3, 1, 4, 1]);
    assert_eq!((tally.missed_latency, tally.missed_accuracy), (1, 1));
    // A sample takes 1 ms of a device of 0.001 a second.
    assert!((tally.cost - 4e-6).abs() < 1e-12, "{}", tally.cost);
}

#[test]
fn a_query_that_was_taken_back_was_not_asked() {
    let router = router(&[0]);
    let routed = router.route(TASK, &goals(80.0, 100), 5).expect("routed");
    routed.withdraw();
    let streams = router.interval(Duration::from_secs(1));
    let (over, rate) = (streams[0].over, streams[0].demand.rate.get());
    assert_eq!((over, rate), (0, 0.0));
    assert!(router.recorded_queries(Duration::ZERO).arrivals.is_empty());
    assert_eq!(router.queued()[0], 0);
    let tally = router.variant_tallies()[0];
    assert_eq!((tally.answered, tally.unanswered), (0, 0));
}

#[test]
fn a_variant_that_ran_no_longer_answers() {
    let router = router(&[0, 1]);
    router.set_running(Vec::new());
    assert_eq!(router.running(), []);
    let routed = router.route(TASK, &QueryGoals::default(), 1);
    assert_eq!(entry(&routed), "task_not_loaded");
}

#[test]
fn a_choice_by_itself_counts_no_loading() {
    let tasks = opened(&[SMALL, MIDDLING, WHOLE]);
    let chosen = alone(&tasks, TASK, &goals(95.0, 4)).expect("chosen");
    assert_eq!(
        tasks.words(chosen),
        "numbers.sample.int8.cnn-s+cnn-m in batches of 8 on 1 core"
    );
    let refused = alone(&tasks, TASK, &goals(99.5, 100)).expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "task `numbers`: no variant meets the goals; the nearest is numbers.sample.f32.all in \
         batches of 8 on 1 core: 0.50 points less accurate"
    );
}

#[test]
fn a_variant_that_answers_late_is_chosen_no_more_until_time_has_passed() {
    let router = router(&[0, 1, 2]);
    let goals = goals(95.0, 30);
    let answered = |latency| {
        let routed = router.route(TASK, &goals, 1).expect("routed");
        let entry = routed.entry().to_owned();
        routed.answered(latency);
        entry
    };
    let late = Duration::from_millis(35);
    let usual = "numbers.sample.int8.cnn-s+cnn-m";
    let one = answered(late);
    assert_eq!((one.as_str(), answered(late).as_str()), (usual, usual));
    let found = (0..100)
        .map(|_| answered(late))
        .find(|entry| entry != usual);
    assert_eq!(found.as_deref(), Some("numbers.sample.f32.all"));
    wait_until("it is tried again", || {
        answered(Duration::from_millis(4)) == usual
    });
}

#[test]
fn a_query_is_refused_where_all_variants_answer_later_than_it_may_wait() {
    for running in [&[0, 1, 2][..], &[0, 1]] {
        let refused = refused_when_late(&router(running));
        assert_eq!(refused, Some("too_late"), "{running:?} run");
    }
}

/// Returns the code by which a query is refused once answers have come late, or `None` if none is.
fn refused_when_late(router: &Arc<TaskRouter>) -> Option<&'static str> {
    let goals = goals(80.0, 30);
    (0..1000).find_map(|_| match router.route(TASK, &goals, 1) {
        Ok(routed) => {
            routed.answered(Duration::from_secs(1));
            None
        }
        Err(refused) => Some(refused.code()),
    })
}
