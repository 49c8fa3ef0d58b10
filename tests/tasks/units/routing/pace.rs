//! Unit tests of `src/tasks/routing/pace.rs`.

use std::time::Duration;

use super::DevicePace;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a pace after thirty seconds of answers that take `parts` of the expected time, in
/// turn.
fn told(parts: &[f64]) -> DevicePace {
    let mut pace = DevicePace::new(Duration::ZERO);
    for (at, part) in (1..=3000).zip(parts.iter().cycle()) {
        pace.answered(SECOND / 100 * at, SECOND, SECOND.mul_f64(*part));
    }
    pace
}

#[test]
fn a_slower_device_takes_as_much_longer() {
    for part in [0.5, 1.0, 1.5] {
        let factor = told(&[part]).factor(30 * SECOND);
        assert!((factor - part).abs() < 0.05 * part, "{factor} for {part}");
    }
}

#[test]
fn what_differs_from_answer_to_answer_is_planned_with_more() {
    let [same, other] = [&[1.5][..], &[1.0, 2.0]].map(|parts| told(parts).factor(30 * SECOND));
    assert!(same < 1.6 && other > 2.0, "{same} {other}");
}

#[test]
fn answers_that_come_at_once_say_as_much_as_one() {
    let mut pace = told(&[1.0]);
    for _ in 0..10_000 {
        pace.answered(30 * SECOND, SECOND, 5 * SECOND);
    }
    let factor = pace.factor(30 * SECOND);
    assert!(factor < 1.1, "{factor}");
}

#[test]
fn it_is_forgotten_while_nothing_is_told() {
    let pace = told(&[2.0]);
    let [soon, late] = [31, 120].map(|at| pace.factor(at * SECOND));
    assert!(soon > 1.9 && late < 1.1, "{soon} {late}");
}
