//! Unit tests of `src/door/metrics/histogram.rs`.

#![allow(clippy::unwrap_used, reason = "tests fail by it")]

use super::*;

fn of(times: &[f64]) -> HistogramReading {
    let mut reading = HistogramReading::default();
    times.iter().for_each(|seconds| reading.add(*seconds));
    reading
}

#[test]
fn a_time_at_a_bound_is_in_the_bucket_that_ends_there() {
    let reading = of(&[0.0001, 0.00010001, 60.0, 61.0]);
    let cumulative: Vec<_> = reading.cumulative().collect();
    assert_eq!(cumulative[0], (0.0001, 1));
    assert_eq!(cumulative[1], (0.00025, 2));
    assert_eq!(cumulative[17], (60.0, 3));
    assert_eq!(reading.count, 4);
}

#[test]
fn exponential_buckets_contain_their_times() {
    for seconds in [2e-6, 0.001, 0.0123, 1.0, 1.01, 77.0] {
        let reading = of(&[seconds]);
        let number = *reading.exponential.keys().next().unwrap();
        let end = |number: i32| (f64::from(number) / 8.0).exp2();
        assert!(seconds <= end(number) * (1.0 + 1e-12), "{seconds}");
        assert!(seconds > end(number - 1), "{seconds}");
    }
}

#[test]
fn buckets_are_few_whatever_the_times() {
    let reading = of(&[0.0, 1e-9, ZERO, 1e9, 4096.0]);
    assert_eq!(reading.zero, 3);
    assert_eq!(reading.exponential, BTreeMap::from([(96, 2)]));
}
