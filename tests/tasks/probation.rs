//! A policy's change is taken back where goals are missed because of it.

use std::time::Duration;

use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::variants::{DeviceKindIndex, VariantIndex};
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
        ((0.0, 0.0), (500.0, 50.0), None),
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
    let soon = Duration::from_secs(60);
    assert!(probation.bars(soon, &hosting(&[1])));
    assert!(!probation.bars(soon, &hosting(&[1, 2])));
    assert!(!probation.bars(Duration::from_secs(400), &hosting(&[1])));
}

#[test]
fn what_was_missed_while_the_change_was_made_does_not_count() {
    let mut probation = ChangeProbation::default();
    let second = |missed| QuerySecond {
        rate: 500.0,
        over: 500,
        missed,
    };
    for at in 1..=10 {
        assert!(probation.second(at * SECOND, second(0)).is_none());
    }
    probation.begin(10 * SECOND, hosting(&[0]), &hosting(&[1]));
    assert!(probation.second(11 * SECOND, second(500)).is_none());
    for at in 12..=30 {
        assert!(probation.second(at * SECOND, second(0)).is_none());
    }
}
