//! Judging what is on probation, in no time at all.

use std::time::Duration;

use divisi_engine::changes::{Baseline, Check, Judge, JudgeVerdict, Limited, Terms};
use divisi_model::metrics::{LogHistogram, Reading};

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

/// So many answered in 5 ms but for some in `late` ms; some failed, some answered wrongly.
#[derive(Clone, Copy)]
struct Did {
    answered: u64,
    slow: u64,
    late: u64,
    failed: u64,
    wrong: u64,
}

const GOOD: Did = Did {
    answered: 6000,
    slow: 60,
    late: 10,
    failed: 0,
    wrong: 120,
};

const NONE: Did = Did {
    answered: 0,
    slow: 0,
    failed: 0,
    wrong: 0,
    ..GOOD
};

fn reading(did: Did) -> Reading {
    let mut latency = LogHistogram::default();
    latency.record(5_000, did.answered - did.slow);
    latency.record(did.late * 1000, did.slow);
    Reading {
        answered: did.answered,
        failed: did.failed,
        labelled: did.answered,
        right: did.answered - did.wrong,
        latency,
        ..Reading::default()
    }
}

fn judge(before: Did) -> Judge {
    let before = Baseline {
        whole: reading(before),
        pieces: Vec::new(),
    };
    Judge::new(terms(), &before, SINCE)
}

fn judged(after: Did, at: Duration) -> JudgeVerdict {
    judge(GOOD).step(SINCE + at, &reading(after), 0)
}

fn fails_for(verdict: &JudgeVerdict, word: &str) -> bool {
    matches!(verdict, JudgeVerdict::Failed(why) if why.contains(word))
}

#[test]
fn what_is_as_good_is_watched_and_passes() {
    assert_eq!(judged(GOOD, LASTS / 2), JudgeVerdict::Watching);
    assert_eq!(judged(GOOD, LASTS), JudgeVerdict::Passed(None));
}

#[test]
fn each_limit_fails_what_is_worse_and_says_which_and_by_how_many() {
    let slow = Did {
        slow: 300,
        late: 25,
        ..GOOD
    };
    let failing = Did {
        failed: 200,
        ..GOOD
    };
    let wrong = Did { wrong: 500, ..GOOD };
    let cases = [
        (slow, "p99 25", "300 of 6000"),
        (failing, "failures", "200 of 6200"),
        (wrong, "accuracy", "500 of 6000"),
    ];
    for (after, word, count) in cases {
        for at in [LASTS / 3, LASTS] {
            let verdict = judged(after, at);
            let said = fails_for(&verdict, word) && fails_for(&verdict, count);
            assert!(said, "{word}: {verdict:?}");
        }
    }
    // A little worse than the terms allow, and by no more than chance makes of it.
    let near = Did {
        slow: 75,
        late: 25,
        failed: 70,
        wrong: 250,
        ..GOOD
    };
    assert_eq!(judged(near, LASTS), JudgeVerdict::Passed(None));
}

#[test]
fn few_requests_decide_only_what_they_show() {
    // The raw p99 of thirty requests is the longest of them: it says nothing.
    let one = Did {
        answered: 30,
        slow: 1,
        late: 500,
        wrong: 0,
        ..GOOD
    };
    assert_eq!(judged(one, LASTS / 2), JudgeVerdict::Watching);
    let passed = judged(one, LASTS);
    assert!(
        matches!(&passed, JudgeVerdict::Passed(Some(remark)) if remark.contains("were missing")),
        "{passed:?}"
    );
    // If all of them are late, it does.
    let all = Did { slow: 30, ..one };
    assert!(fails_for(&judged(all, LASTS / 2), "p99"));
    assert!(fails_for(&judged(all, LASTS), "p99"));
}

#[test]
fn what_waited_while_the_change_was_made_is_not_held_against_it() {
    let slow = Did {
        slow: 1000,
        late: 90,
        ..GOOD
    };
    assert_eq!(judged(slow, Duration::from_secs(2)), JudgeVerdict::Watching);
    assert!(fails_for(&judged(slow, Duration::from_secs(4)), "p99"));
}

#[test]
fn each_limit_says_value_limit_baseline_and_how_many_are_missing() {
    let after = Did {
        answered: 500,
        slow: 9,
        late: 25,
        failed: 2,
        wrong: 12,
    };
    let checks = judge(GOOD).checks(&reading(after));
    let names: Vec<Limited> = checks.iter().map(|c| c.what).collect();
    assert_eq!(names, [Limited::P99, Limited::Failures, Limited::Accuracy]);
    let [p99, failures, accuracy] = [0, 1, 2].map(|i: usize| checks[i]);
    // Counters are a sixteenth wide.
    let near = |found: f64, exact: f64| (found / exact - 1.0).abs() < 1.0 / 15.0;
    let told = |c: &Check| (c.baseline.expect("known"), c.value.expect("known"));
    assert!(
        near(told(&p99).0, 10_000.0) || near(told(&p99).0, 5_000.0),
        "{p99:?}"
    );
    assert!(near(p99.limit, told(&p99).0 * 1.5), "{p99:?}");
    assert_eq!((p99.beyond, p99.counted), (9, 500));
    assert!(p99.missing > 100 && p99.allowed > 0.01, "{p99:?}");
    assert_eq!((failures.beyond, failures.counted), (2, 502));
    assert!((failures.limit - 0.01).abs() < 1e-9, "{failures:?}");
    assert!((told(&accuracy).0 - 0.98).abs() < 1e-9);
    assert!((told(&accuracy).1 - 488.0 / 500.0).abs() < 1e-9);
    assert!((accuracy.limit - 0.96).abs() < 1e-9);
    let enough = Did {
        answered: 500 + p99.missing,
        ..after
    };
    assert_eq!(judge(GOOD).checks(&reading(enough))[0].missing, 0);
}

#[test]
fn a_shorter_time_before_asks_for_more_and_lets_more_pass() {
    let short = Did {
        answered: 600,
        slow: 6,
        wrong: 12,
        ..GOOD
    };
    let [long, short] = [GOOD, short].map(|did| judge(did).checks(&reading(NONE))[0]);
    assert!(short.allowed > long.allowed && short.missing > long.missing);
    assert_eq!((long.value, short.counted), (None, 0));
}

#[test]
fn without_requests_it_passes_with_a_remark_unless_they_are_stuck() {
    let judge = judge(GOOD);
    let none = Reading::default();
    let passed = judge.step(SINCE + LASTS, &none, 0);
    assert!(matches!(passed, JudgeVerdict::Passed(Some(remark)) if remark.contains("no request")));
    assert!(fails_for(
        &judge.step(SINCE + LASTS, &none, 7),
        "7 requests"
    ));
    assert_eq!(
        judge.step(SINCE + LASTS / 2, &none, 7),
        JudgeVerdict::Watching
    );
}

#[test]
fn without_a_time_before_latency_and_accuracy_are_not_compared() {
    let slow = Did {
        slow: 6000,
        late: 900,
        wrong: 5000,
        ..GOOD
    };
    let passed = judge(NONE).step(SINCE + LASTS, &reading(slow), 0);
    assert!(matches!(passed, JudgeVerdict::Passed(Some(remark)) if remark.contains("before")));
    let broken = Did {
        failed: 6000,
        ..GOOD
    };
    let verdict = judge(NONE).step(SINCE + LASTS, &reading(broken), 0);
    assert!(fails_for(&verdict, "not known before"), "{verdict:?}");
}

#[test]
fn what_nobody_asked_about_does_not_matter() {
    let terms = Terms {
        p99: None,
        failures: None,
        accuracy: None,
        ..terms()
    };
    let before = Baseline {
        whole: reading(GOOD),
        pieces: Vec::new(),
    };
    let awful = Did {
        slow: 6000,
        late: 900,
        failed: 9000,
        wrong: 6000,
        ..GOOD
    };
    let verdict = Judge::new(terms, &before, SINCE).step(SINCE + LASTS, &reading(awful), 0);
    assert_eq!(verdict, JudgeVerdict::Passed(None));
}
