//! Requests that were lost lately, and what the log is told of them; in virtual time.

use std::time::Duration;

use divisi_session::{FailureWatch, LogLevel, LostRequests, Total};

/// Five looks a second at an engine that refuses `rate` requests a second from second
/// `from` to second `to`.
fn looks(rate: u64, from: u64, to: u64, end: u64) -> Vec<(u64, LostRequests, Vec<String>)> {
    let mut watch = FailureWatch::new(Duration::ZERO);
    let mut refused = 0;
    let look = |tick: u64| {
        if (from * 5..to * 5).contains(&tick) {
            refused += rate / 5;
        }
        let total = Total {
            requests: refused,
            why: (refused > 0).then(|| "the pool is full".into()),
        };
        let now = Duration::from_millis(200) * tick as u32;
        let (lately, lines) = watch.note(now, [total, Total::default()]);
        let said = lines.into_iter().map(|(level, text)| match level {
            LogLevel::Error => text,
            other => format!("{other:?}: {text}"),
        });
        (tick, lately, said.collect())
    };
    (0..end * 5).map(look).collect()
}

#[test]
fn the_log_is_told_at_once_then_once_in_five_seconds_and_at_the_end() {
    let seen = looks(1000, 2, 13, 30);
    let said: Vec<(u64, String)> = seen
        .into_iter()
        .flat_map(|(tick, _, said)| said.into_iter().map(move |text| (tick, text)))
        .collect();
    let line = |tick: u64, text: &str| (tick, text.to_owned());
    assert_eq!(
        said,
        [
            line(10, "refused 200 requests; the last: the pool is full"),
            line(
                35,
                "refused 5 000 requests in the last 5 s; the last: the pool is full"
            ),
            line(
                60,
                "refused 5 000 requests in the last 5 s; the last: the pool is full"
            ),
            line(
                85,
                "refused 800 requests in the last 5 s; the last: the pool is full"
            ),
            line(110, "Info: no more requests refused: 11 000 in 20 s"),
        ]
    );
}

#[test]
fn what_is_lost_counts_for_five_seconds_and_not_for_ever() {
    for (tick, lately, _) in looks(1000, 2, 13, 30) {
        let now = tick as f64 / 5.0;
        let due = (2.0..17.9).contains(&now);
        if due {
            assert!(lately.refused.requests > 0, "at {now}: {lately:?}");
            assert_eq!(lately.refused.why.as_deref(), Some("the pool is full"));
            let rate = lately.refused.requests as f64 / lately.over.as_secs_f64();
            assert!(rate <= 1001.0, "at {now}: {lately:?}");
        } else if !(2.0..=18.5).contains(&now) {
            assert_eq!(lately, LostRequests::default(), "at {now}");
        }
    }
}

#[test]
fn a_single_request_is_told_as_one() {
    let seen = looks(5, 2, 3, 4);
    let said: Vec<String> = seen.into_iter().flat_map(|(_, _, said)| said).collect();
    assert_eq!(said, ["refused 1 request: the pool is full"]);
}
