//! A policy's change is taken back where goals are missed because of it.

use std::time::Duration;

use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::{ActionOutcome, ConsideredAction, ScalingAction};
use divisi_modelless::variants::{DeviceKindIndex, TaskIndex, VariantIndex};
use divisi_tasks::scaling::{ChangeProbation, QuerySecond};

use crate::common::{MIDDLING, SMALL, WHOLE, opened};

const SECOND: Duration = Duration::from_secs(1);

/// Instances of the variants of these numbers, each on the next of two devices.
fn hosting(variants: &[u32]) -> HostedInstances {
    let tasks = opened(&[SMALL, MIDDLING, WHOLE]);
    let catalog = tasks.catalog();
    let mut hosted = HostedInstances::new(catalog, &[DeviceKindIndex(0); 2]);
    for (device, at) in (0..).map(DeviceSlot).zip(variants) {
        let added = hosted.add(catalog, VariantIndex(*at), device);
        added.expect("room");
    }
    hosted
}

/// A second of 500 queries of which so many missed a goal.
fn second(missed: u32) -> QuerySecond {
    QuerySecond {
        rate: 500.0,
        over: 500,
        missed,
    }
}

fn after_ten_good_seconds() -> ChangeProbation {
    let mut probation = ChangeProbation::default();
    for at in 1..=10 {
        assert!(probation.second(at * SECOND, second(0)).is_none());
    }
    probation
}

/// Seconds around a change from the small variant to the middling one: so many queries a second of
/// which so many in a hundred miss a goal, before the change and after it.
fn changed(before: (f64, f64), after: (f64, f64)) -> (ChangeProbation, Option<String>) {
    let mut probation = ChangeProbation::default();
    let second = |(rate, missed): (f64, f64)| QuerySecond {
        rate,
        over: rate as u32,
        missed: (rate * missed / 100.0) as u32,
    };
    let mut now = Duration::ZERO;
    for _ in 0..30 {
        now += SECOND;
        assert!(probation.second(now, second(before)).is_none());
    }
    probation.begin(now, hosting(&[0]), &hosting(&[1]));
    for _ in 0..30 {
        now += SECOND;
        if let Some(failed) = probation.second(now, second(after)) {
            assert_eq!(failed.before, hosting(&[0]));
            return (probation, Some(failed.why));
        }
    }
    (probation, None)
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
            Some("10.0 % missed a goal, 0.0 % before"),
        ),
        (
            (500.0, 5.0),
            (400.0, 50.0),
            Some("50.0 % missed a goal, 5.0 % before"),
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
        assert_eq!(why.as_deref(), expected, "{before:?}, {after:?}");
    }
}

#[test]
fn what_was_taken_back_is_not_tried_again_for_a_while() {
    let (probation, why) = changed((500.0, 0.0), (500.0, 50.0));
    assert!(why.is_some());
    let tasks = opened(&[SMALL, MIDDLING, WHOLE]);
    let allowed = |at, wanted: &[u32]| {
        let now = Duration::from_secs(at);
        probation
            .barred()
            .allowed(now, tasks.catalog(), &hosting(&[0]), hosting(wanted))
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
    let tasks = opened(&[SMALL, MIDDLING, WHOLE]);
    let (barred, now) = (probation.barred(), Duration::from_secs(60));
    let allowed = barred.allowed(now, tasks.catalog(), &hosting(&[2]), hosting(&[1]));
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
    let mut probation = after_ten_good_seconds();
    probation.begin(10 * SECOND, hosting(&[0]), &hosting(&[1]));
    assert!(probation.second(11 * SECOND, second(0)).is_none());
    probation.begin(11 * SECOND, hosting(&[1]), &hosting(&[1, 2]));
    let failed = (12..=20).find_map(|at| probation.second(at * SECOND, second(100)));
    assert_eq!(failed.map(|failed| failed.before), Some(hosting(&[0])));
}

#[test]
fn a_single_bad_second_is_chance() {
    let mut probation = after_ten_good_seconds();
    probation.begin(60 * SECOND, hosting(&[0]), &hosting(&[1]));
    for at in 61..=75 {
        let missed = if at == 64 { 500 } else { 0 };
        assert!(probation.second(at * SECOND, second(missed)).is_none());
    }
}

#[test]
fn what_was_missed_while_the_change_was_made_does_not_count() {
    let mut probation = after_ten_good_seconds();
    probation.begin(10 * SECOND, hosting(&[0]), &hosting(&[1]));
    assert!(probation.second(11 * SECOND, second(500)).is_none());
    for at in 12..=30 {
        assert!(probation.second(at * SECOND, second(0)).is_none());
    }
}
