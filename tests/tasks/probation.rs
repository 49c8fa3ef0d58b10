//! A policy's change is taken back where goals are missed because of it.

use std::sync::LazyLock;
use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::{ActionOutcome, ConsideredAction, ScalingAction};
use divisi_modelless::quantities::{Accuracy, DeviceShare, QueryCost};
use divisi_modelless::variants::{DeviceKindIndex, TaskIndex, VariantCatalog, VariantIndex};
use divisi_tasks::scaling::{
    ChangeEvidence, FailedChange, HostedVariants, InstancesChange, QuerySecond, StreamSecond,
};

use crate::common::{MIDDLING, SMALL, WHOLE, opened};

const SECOND: Duration = Duration::from_secs(1);

/// Instances of the variants of these numbers, each on the next of two devices.
fn hosting(variants: &[u32]) -> HostedInstances {
    let devices = (0..).map(DeviceSlot);
    hosting_on(&variants.iter().copied().zip(devices).collect::<Vec<_>>())
}

/// Instances of variants on devices, each with half of the device's time.
fn hosting_on(places: &[(u32, DeviceSlot)]) -> HostedInstances {
    let catalog = shared();
    let mut hosted = HostedInstances::new(catalog, &[DeviceKindIndex(0); 2]);
    for (at, device) in places {
        let added = hosted.add(catalog, VariantIndex(*at), *device);
        added.expect("room");
    }
    hosted
}

/// The variants with instances of half of a device's time.
fn shared() -> &'static VariantCatalog {
    static SHARED: LazyLock<VariantCatalog> = LazyLock::new(|| {
        let half = DeviceShare::thousandths(500).expect("a share");
        let tasks = opened(&[SMALL, MIDDLING, WHOLE]);
        tasks.catalog().sharing_time(half, Duration::ZERO)
    });
    &SHARED
}

/// Queries a second of which so many missed a goal, with a least accuracy in percent.
fn stream(percent: f64, (rate, missed): (f64, u32)) -> StreamSecond {
    let goals = QueryGoals {
        accuracy: Some(Accuracy::percent(percent).expect("percent")),
        ..QueryGoals::default()
    };
    StreamSecond {
        stream: QueryStream {
            task: TaskIndex(0),
            goals,
            worth: QueryCost::FREE,
        },
        rate,
        over: rate as u32,
        missed,
    }
}

/// A second of queries that any variant answers.
fn queries(rate: f64, missed: u32) -> QuerySecond {
    QuerySecond {
        streams: vec![stream(80.0, (rate, missed))],
        others: 0.0,
    }
}

/// A second of 500 queries of which so many missed a goal.
fn second(missed: u32) -> QuerySecond {
    queries(500.0, missed)
}

/// A probation in virtual time, with the instances of the running setup.
struct ProbationCase {
    probation: ChangeEvidence,
    hosted: HostedInstances,
    now: Duration,
}

impl ProbationCase {
    fn new(hosted: HostedInstances) -> Self {
        ProbationCase {
            probation: ChangeEvidence::default(),
            now: Duration::ZERO,
            hosted,
        }
    }

    /// Lets a second pass. A failed change is rolled back.
    fn second(&mut self, second: QuerySecond) -> Option<FailedChange> {
        self.now += SECOND;
        let served = HostedVariants {
            catalog: shared(),
            hosted: &self.hosted,
        };
        let evidence = self.probation.second(self.now, served, second)?;
        let failed = self.probation.judged(self.now, Some(evidence.verdict()));
        if let Some(failed) = &failed {
            self.hosted = failed.before.clone();
            self.probation.rolled_back();
        }
        failed
    }

    /// Lets equal seconds pass. Returns the first failed change.
    fn seconds(&mut self, count: u32, second: &QuerySecond) -> Option<FailedChange> {
        (0..count).find_map(|_| self.second(second.clone()))
    }

    fn change(&mut self, after: HostedInstances) {
        let change = InstancesChange {
            before: &self.hosted,
            after: &after,
        };
        let trial = self.probation.trial(shared(), change);
        self.probation.begin(self.now, trial);
        self.hosted = after;
    }

    /// Returns the allowed part of wanted instances.
    fn allowed(&self, wanted: HostedInstances) -> HostedInstances {
        let barred = self.probation.barred();
        barred.allowed(self.now, shared(), &self.hosted, wanted)
    }
}

fn after_ten_good_seconds() -> ProbationCase {
    let mut watched = ProbationCase::new(hosting(&[0]));
    assert!(watched.seconds(10, &second(0)).is_none());
    watched
}

/// Seconds around a change from the small variant to the middling one: so many queries a second of
/// which so many in a hundred miss a goal, before the change and after it.
fn changed(before: (f64, f64), after: (f64, f64)) -> (ChangeEvidence, Option<String>) {
    let second = |(rate, missed): (f64, f64)| queries(rate, (rate * missed / 100.0) as u32);
    let mut watched = ProbationCase::new(hosting(&[0]));
    assert!(watched.seconds(30, &second(before)).is_none());
    watched.change(hosting(&[1]));
    let failed = watched.seconds(30, &second(after));
    if let Some(failed) = &failed {
        assert_eq!(failed.before, hosting(&[0]));
    }
    (watched.probation, failed.map(|failed| failed.why))
}

#[test]
fn a_change_is_taken_back_where_more_goals_are_missed_of_no_more_queries() {
    for (before, after, expected) in [
        ((500.0, 0.0), (500.0, 0.0), None),
        ((500.0, 0.0), (500.0, 0.8), None),
        ((500.0, 20.0), (500.0, 20.0), None),
        (
            (500.0, 0.0),
            (500.0, 10.0),
            Some("missed goals 10.0 %, 0.0 % before"),
        ),
        (
            (500.0, 5.0),
            (400.0, 50.0),
            Some("missed goals 50.0 %, 5.0 % before"),
        ),
        // What is missed of more queries is not the change's fault.
        ((500.0, 0.0), (800.0, 50.0), None),
        // Too few came before to compare with.
        ((0.0, 0.0), (500.0, 50.0), None),
        ((9.0, 90.0), (9.0, 50.0), None),
        // Too few to tell.
        ((20.0, 0.0), (20.0, 5.0), None),
    ] {
        let (_, why) = changed(before, after);
        let is_as_expected = match (&why, expected) {
            (Some(why), Some(expected)) => why.starts_with(expected),
            (why, expected) => why.is_none() && expected.is_none(),
        };
        assert!(is_as_expected, "{before:?}, {after:?}: {why:?}");
    }
}

#[test]
fn what_was_taken_back_is_not_tried_again_for_a_while() {
    let (probation, why) = changed((500.0, 0.0), (500.0, 50.0));
    assert!(why.is_some());
    let allowed = |at, wanted: &[u32]| {
        let now = Duration::from_secs(at);
        probation
            .barred()
            .allowed(now, shared(), &hosting(&[0]), hosting(wanted))
    };
    assert_eq!(allowed(60, &[1]), hosting(&[0]));
    assert_eq!(
        allowed(60, &[1, 2]),
        allowed(60, &[0, 2]),
        "with another one"
    );
    assert_eq!(allowed(60, &[0, 2]), hosting(&[0, 2]));
    assert_eq!(allowed(400, &[1]), hosting(&[1]));
}

#[test]
fn a_task_keeps_what_runs_where_all_that_would_replace_it_is_barred() {
    let (probation, _) = changed((500.0, 0.0), (500.0, 50.0));
    let (barred, now) = (probation.barred(), Duration::from_secs(60));
    let allowed = barred.allowed(now, shared(), &hosting(&[2]), hosting(&[1]));
    assert_eq!(allowed, hosting(&[2]));
}

#[test]
fn what_was_taken_back_is_not_told_as_taken() {
    let (probation, _) = changed((500.0, 0.0), (500.0, 50.0));
    let outcome = |at, action| {
        let considered = ConsideredAction {
            task: TaskIndex(0),
            action,
            cost: 0.0,
            outcome: ActionOutcome::Taken,
        };
        let now = Duration::from_secs(at);
        probation
            .barred()
            .considered(now, &hosting(&[0]), &[considered])[0]
            .outcome
    };
    let [back, other] = [1, 2].map(|at| ScalingAction::Switch(VariantIndex(at), 1));
    let left = ScalingAction::Remove(VariantIndex(0), 1);
    for action in [back, left] {
        let told = outcome(60, action).to_string();
        assert!(
            told.starts_with("rolled back, not again before 3"),
            "{told}"
        );
        assert_eq!(outcome(400, action), ActionOutcome::Taken);
    }
    assert_eq!(outcome(60, other), ActionOutcome::Taken);
    let twice = ScalingAction::Remove(VariantIndex(0), 2);
    assert_ne!(
        outcome(60, twice),
        ActionOutcome::Taken,
        "the last one stays"
    );
}

#[test]
fn changes_that_follow_each_other_are_judged_together() {
    let mut watched = after_ten_good_seconds();
    watched.change(hosting(&[1]));
    assert!(watched.second(second(0)).is_none());
    watched.change(hosting(&[1, 2]));
    let failed = watched.seconds(10, &second(100));
    assert_eq!(failed.map(|failed| failed.before), Some(hosting(&[0])));
}

#[test]
fn a_single_bad_second_is_chance() {
    let mut watched = after_ten_good_seconds();
    watched.change(hosting(&[1]));
    for at in 1..=15 {
        let missed = if at == 4 { 500 } else { 0 };
        assert!(watched.second(second(missed)).is_none());
    }
}

#[test]
fn what_was_missed_while_the_change_was_made_does_not_count() {
    let mut watched = after_ten_good_seconds();
    watched.change(hosting(&[1]));
    assert!(watched.second(second(500)).is_none());
    assert!(watched.seconds(20, &second(0)).is_none());
}

const FIRST: DeviceSlot = DeviceSlot(0);
const OTHER: DeviceSlot = DeviceSlot(1);

/// A second of 100 queries for 80 %, of which so many missed a goal, and of one for 98 %, which the
/// whole ensemble alone meets. Other programs take a share of a core.
fn two_streams(missed: u32, strict_missed: u32, others: f64) -> QuerySecond {
    QuerySecond {
        streams: vec![
            stream(80.0, (100.0, missed)),
            stream(98.0, (1.0, strict_missed)),
        ],
        others,
    }
}

#[test]
fn misses_while_other_programs_take_the_cores_are_not_attributed_to_a_change() {
    let mut watched = ProbationCase::new(hosting_on(&[(0, FIRST)]));
    assert!(watched.seconds(20, &two_streams(0, 1, 0.02)).is_none());
    watched.change(hosting_on(&[(0, FIRST), (2, FIRST)]));
    // Other programs spin for five seconds; queries that waited end one second later.
    assert!(watched.second(two_streams(0, 0, 0.02)).is_none());
    assert!(watched.seconds(5, &two_streams(50, 0, 0.95)).is_none());
    assert!(watched.second(two_streams(50, 0, 0.02)).is_none());
    assert!(watched.seconds(30, &two_streams(0, 0, 0.02)).is_none());
    let wanted = watched.hosted.clone();
    assert_eq!(watched.allowed(wanted.clone()), wanted);
}

#[test]
fn misses_on_a_host_that_is_always_as_busy_are_attributed_to_a_change() {
    let mut watched = ProbationCase::new(hosting(&[0]));
    let busy = |missed| QuerySecond {
        others: 0.6,
        ..second(missed)
    };
    assert!(watched.seconds(20, &busy(0)).is_none());
    watched.change(hosting(&[1]));
    assert!(watched.seconds(10, &busy(100)).is_some());
}

#[test]
fn a_change_stays_if_the_host_is_disturbed_for_minutes() {
    let mut watched = after_ten_good_seconds();
    watched.change(hosting(&[1]));
    let disturbed = QuerySecond {
        others: 0.9,
        ..second(250)
    };
    assert!(watched.seconds(200, &disturbed).is_none());
    assert!(
        watched.seconds(30, &second(250)).is_none(),
        "it is not watched any more"
    );
}

#[test]
fn the_only_variant_that_meets_a_missed_goal_is_not_taken_back() {
    let mut watched = ProbationCase::new(hosting_on(&[(0, FIRST)]));
    assert!(watched.seconds(20, &two_streams(0, 1, 0.0)).is_none());
    watched.change(hosting_on(&[(0, FIRST), (2, FIRST)]));
    assert!(watched.seconds(30, &two_streams(50, 0, 0.0)).is_none());
}

#[test]
fn the_rest_of_a_change_is_taken_back_without_the_variant_that_a_goal_needs() {
    let mut watched = ProbationCase::new(hosting_on(&[(0, FIRST)]));
    assert!(watched.seconds(20, &two_streams(0, 1, 0.0)).is_none());
    watched.change(hosting_on(&[(1, FIRST), (2, OTHER)]));
    let failed = watched.seconds(30, &two_streams(50, 0, 0.0));
    let expected = hosting_on(&[(0, FIRST), (2, OTHER)]);
    assert_eq!(failed.map(|failed| failed.before), Some(expected));
}

#[test]
fn a_bar_ends_once_queries_need_the_variant() {
    let mut watched = after_ten_good_seconds();
    watched.change(hosting_on(&[(0, FIRST), (2, FIRST)]));
    let failed = watched.seconds(10, &second(250));
    assert_eq!(failed.map(|failed| failed.before), Some(hosting(&[0])));
    let wanted = hosting_on(&[(0, FIRST), (2, FIRST)]);
    assert!(watched.seconds(3, &second(0)).is_none());
    assert_eq!(watched.allowed(wanted.clone()), hosting(&[0]));
    assert!(watched.second(two_streams(0, 1, 0.0)).is_none());
    assert_eq!(watched.allowed(wanted.clone()), wanted);
}

#[test]
fn a_bar_ends_if_the_rollback_does_not_help() {
    for (missed, is_barred) in [(250, false), (0, true)] {
        let mut watched = after_ten_good_seconds();
        watched.change(hosting(&[1]));
        assert!(watched.seconds(10, &second(250)).is_some());
        assert!(watched.seconds(10, &second(missed)).is_none());
        let allowed = watched.allowed(hosting(&[1]));
        assert_eq!(allowed == hosting(&[0]), is_barred, "{missed}");
    }
}

#[test]
fn queries_that_a_change_cannot_affect_are_not_counted() {
    // The small variant answers on the first device; the whole ensemble, which takes 160 ms, comes
    // to the other one.
    for (latency_ms, is_counted) in [(200, true), (50, false)] {
        let within = |missed| {
            let mut stream = stream(80.0, (100.0, missed));
            stream.stream.goals.latency = LatencyGoal::new(Duration::from_millis(latency_ms)).ok();
            QuerySecond {
                streams: vec![stream],
                others: 0.0,
            }
        };
        let mut watched = ProbationCase::new(hosting_on(&[(0, FIRST)]));
        assert!(watched.seconds(20, &within(0)).is_none());
        watched.change(hosting_on(&[(0, FIRST), (2, OTHER)]));
        let failed = watched.seconds(10, &within(60));
        assert_eq!(failed.is_some(), is_counted, "{latency_ms} ms");
    }
}
