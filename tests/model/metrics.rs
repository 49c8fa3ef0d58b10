//! Coarse distributions, readings and the growth of queues.

use std::time::Duration;

use divisi_model::metrics::{Growth, Latency, LogHistogram, Reading, stats};
use proptest::prelude::*;

fn histogram(micros: &[u64]) -> LogHistogram {
    let mut histogram = LogHistogram::default();
    for &m in micros {
        histogram.record(m, 1);
    }
    histogram
}

proptest! {
    #[test]
    fn percentiles_are_right_to_a_sixteenth(
        micros in prop::collection::vec(1u64..5_000_000, 1..300),
    ) {
        let coarse = histogram(&micros).summary();
        let mut sorted = micros.clone();
        sorted.sort_unstable();
        let exact = |q: f64| {
            let rank = (q * sorted.len() as f64).ceil() as usize;
            sorted[rank.clamp(1, sorted.len()) - 1] as f64
        };
        for (found, q) in [(coarse.p50, 0.5), (coarse.p90, 0.9), (coarse.p99, 0.99)] {
            prop_assert!((found as f64 - exact(q)).abs() <= exact(q) / 16.0 + 1.0);
        }
        prop_assert_eq!(coarse.max, *sorted.last().expect("some"));
        prop_assert_eq!(coarse.count, micros.len() as u64);
    }

    #[test]
    fn bars_hold_every_latency_and_ascend(
        micros in prop::collection::vec(1u64..5_000_000, 1..300),
    ) {
        let bars = histogram(&micros).buckets(4);
        let count: u64 = bars.iter().map(|b| b.count).sum();
        prop_assert_eq!(count, micros.len() as u64);
        prop_assert!(bars.windows(2).all(|w| w[0].micros < w[1].micros));
        let longest = bars.last().expect("some").micros;
        prop_assert!(micros.iter().all(|m| *m <= longest));
    }

    #[test]
    fn what_came_since_is_what_was_recorded_since(
        before in prop::collection::vec(1u64..100_000, 0..50),
        after in prop::collection::vec(1u64..100_000, 1..50),
    ) {
        let earlier = histogram(&before);
        let mut later = earlier.clone();
        for &m in &after {
            later.record(m, 1);
        }
        let (since, alone) = (later.since(&earlier), histogram(&after));
        prop_assert_eq!(since.count(), alone.count());
        let (a, b) = (since.summary().p50 as f64, alone.summary().p50 as f64);
        prop_assert!((a - b).abs() <= b / 16.0 + 1.0);
    }

    #[test]
    fn the_share_above_a_limit_is_near_the_exact_one(
        micros in prop::collection::vec(1u64..100_000, 1..200), limit in 1u64..100_000,
    ) {
        let found = histogram(&micros).share_above(limit).expect("some");
        let share = |limit: f64| {
            let above = micros.iter().filter(|m| **m as f64 > limit).count();
            above as f64 / micros.len() as f64
        };
        let (lower, upper) = (limit as f64 * 15.0 / 17.0 - 1.0, limit as f64 * 17.0 / 15.0 + 1.0);
        prop_assert!(share(upper) <= found + 1e-9 && found <= share(lower) + 1e-9);
    }
}

#[test]
fn one_pass_over_the_fine_distribution_gives_what_several_gave() {
    let mut latency = Latency::new();
    for micros in 1..=1000u64 {
        latency.record(Duration::from_micros(micros));
    }
    let whole = latency.whole(4, Some(Duration::from_micros(900)));
    assert_eq!(whole.summary, latency.summary());
    assert_eq!(whole.buckets.iter().map(|b| b.count).sum::<u64>(), 1000);
    assert!((whole.above.expect("asked") - 0.1).abs() < 1e-9);
    assert_eq!(latency.whole(4, None).above, None);
}

#[test]
fn a_reading_since_another_is_what_happened_between() {
    let earlier = Reading {
        at: Duration::from_secs(10),
        answered: 5,
        samples: 50,
        active: Duration::from_secs(3),
        labelled: 10,
        right: 1,
        ..Reading::default()
    };
    let later = Reading {
        at: Duration::from_secs(30),
        answered: 25,
        samples: 250,
        active: Duration::from_secs(7),
        labelled: 20,
        right: 10,
        ..Reading::default()
    };
    let between = later.since(&earlier);
    assert_eq!((between.answered, between.samples), (20, 200));
    assert_eq!(between.samples_per_s(), 50.0);
    assert_eq!(between.accuracy(), Some(0.9));
    assert_eq!(Reading::default().samples_per_s(), 0.0);
}

#[test]
fn a_queue_that_grows_evenly_grows_at_its_rate() {
    let mut growth = Growth::default();
    for tick in 0..100u32 {
        let now = Duration::from_millis(100) * tick;
        let grows = 20 * tick as usize;
        growth.note(now, [grows, 7, 10_000 - grows].into_iter());
    }
    assert!((growth.growth(0) - 200.0).abs() < 1e-6);
    assert!(growth.growth(1).abs() < 1e-6);
    assert!((growth.growth(2) + 200.0).abs() < 1e-6);
    assert_eq!(growth.growth(3), 0.0);
}

#[test]
fn a_median_is_the_middle_one_or_the_mean_of_two() {
    for (values, expected) in [
        (&[][..], 0.0),
        (&[3.0], 3.0),
        (&[2.0, 1.0], 1.5),
        (&[9.0, 1.0, 2.0], 2.0),
        (&[4.0, 1.0, 3.0, 2.0], 2.5),
    ] {
        assert_eq!(stats::median(values), expected, "{values:?}");
    }
}
