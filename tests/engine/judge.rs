//! Judging what is on probation, in no time at all.

use std::time::Duration;

use divisi::session::{Judge, Measured, Terms, Verdict};

const LASTS: Duration = Duration::from_secs(60);
const SINCE: Duration = Duration::from_secs(100);

fn terms() -> Terms {
    Terms {
        lasts: LASTS,
        p99: Some(1.5),
        failures: Some(0.01),
        accuracy: Some(0.02),
    }
}

/// So many answered and failed, half of them within `p50` ms and all but 1 % in `p99`.
fn measured(answered: u64, failed: u64, p50: u64, p99: u64, accuracy: f64) -> Measured {
    Measured {
        answered,
        failed,
        samples_per_s: 100.0,
        p50: (answered > 0).then_some(p50 * 1000),
        p90: (answered > 0).then_some(p50 * 1000),
        p99: (answered > 0).then_some(p99 * 1000),
        accuracy: (answered > 0).then_some(accuracy),
    }
}

fn good() -> Measured {
    measured(1000, 0, 5, 10, 0.98)
}

fn judged(before: Measured, after: Measured, at: Duration) -> Verdict {
    Judge::new(terms(), before, SINCE).step(SINCE + at, &after, 0)
}

fn fails_for(verdict: Verdict, word: &str) -> bool {
    matches!(verdict, Verdict::Failed(why) if why.contains(word))
}

#[test]
fn what_is_as_good_is_watched_and_passes() {
    let verdict = judged(good(), good(), LASTS / 2);
    assert_eq!(verdict, Verdict::Watching);
    assert_eq!(judged(good(), good(), LASTS), Verdict::Passed(None));
}

#[test]
fn each_limit_fails_what_is_worse_and_says_which() {
    let cases = [
        (measured(1000, 0, 5, 16, 0.98), "p99"),
        (measured(1000, 30, 5, 10, 0.98), "failed"),
        (measured(1000, 0, 5, 10, 0.95), "accuracy"),
    ];
    for (after, word) in cases {
        assert!(fails_for(judged(good(), after, LASTS), word), "{word}");
    }
    let within = measured(1000, 5, 5, 14, 0.97);
    assert_eq!(judged(good(), within, LASTS), Verdict::Passed(None));
}

#[test]
fn what_is_clearly_worse_fails_before_its_time() {
    let early = LASTS / 3;
    let slow = measured(40, 0, 16, 30, 0.98);
    assert!(fails_for(judged(good(), slow, early), "p99"));
    let tenth = Measured {
        p90: Some(16_000),
        ..measured(100, 0, 5, 30, 0.98)
    };
    assert!(fails_for(judged(good(), tenth, early), "p99"));
    let few = Measured {
        answered: 60,
        ..tenth
    };
    assert_eq!(judged(good(), few, early), Verdict::Watching);
    let broken = measured(0, 40, 5, 10, 0.98);
    assert!(fails_for(judged(good(), broken, early), "failed"));
    let wrong = measured(100, 0, 5, 10, 0.1);
    assert!(fails_for(judged(good(), wrong, early), "accuracy"));
}

#[test]
fn what_may_be_noise_waits_for_the_end() {
    let early = LASTS / 3;
    for after in [
        measured(29, 0, 500, 500, 0.0),
        measured(0, 3, 5, 10, 0.98),
        measured(100, 3, 5, 16, 0.97),
    ] {
        assert_eq!(judged(good(), after, early), Verdict::Watching, "{after:?}");
    }
    // Even at the end three requests say nothing.
    let few = judged(good(), measured(0, 3, 5, 10, 0.98), LASTS);
    assert!(matches!(few, Verdict::Passed(Some(remark)) if remark.contains("only 3")));
}

#[test]
fn what_waited_while_the_change_was_made_is_not_held_against_it() {
    let slow = measured(100, 0, 50, 90, 0.98);
    assert_eq!(
        judged(good(), slow, Duration::from_secs(2)),
        Verdict::Watching
    );
}

#[test]
fn without_requests_it_passes_with_a_remark_unless_they_are_stuck() {
    let judge = Judge::new(terms(), good(), SINCE);
    let none = Measured::default();
    let passed = judge.step(SINCE + LASTS, &none, 0);
    assert!(matches!(passed, Verdict::Passed(Some(remark)) if remark.contains("no request")));
    assert!(fails_for(judge.step(SINCE + LASTS, &none, 7), "7 requests"));
    assert_eq!(judge.step(SINCE + LASTS / 2, &none, 7), Verdict::Watching);
}

#[test]
fn without_a_time_before_latency_and_accuracy_are_not_compared() {
    let slow = measured(1000, 0, 500, 900, 0.1);
    let passed = judged(Measured::default(), slow, LASTS);
    assert!(matches!(passed, Verdict::Passed(Some(remark)) if remark.contains("before")));
    let broken = measured(500, 500, 5, 10, 0.98);
    assert!(fails_for(
        judged(Measured::default(), broken, LASTS),
        "failed"
    ));
}

#[test]
fn what_nobody_asked_about_does_not_matter() {
    let terms = Terms {
        p99: None,
        failures: None,
        accuracy: None,
        ..terms()
    };
    let awful = measured(100, 900, 500, 900, 0.0);
    let verdict = Judge::new(terms, good(), SINCE).step(SINCE + LASTS, &awful, 0);
    assert_eq!(verdict, Verdict::Passed(None));
}
