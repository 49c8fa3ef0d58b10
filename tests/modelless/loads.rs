//! Generated loads have the rates, shares and seeds that were asked for.

use std::time::Duration;

use divisi_modelless::fleet::QueryArrival;

use crate::arrivals::{RateShape, poisson, zipf_shares};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn arrivals_are_as_many_as_expected_and_as_scattered_as_poissons() {
    let shape = RateShape::new(vec![(Duration::ZERO, 0.0), (MINUTE, 200.0)]).expect("a shape");
    let arrivals = poisson(&shape, &[1.0, 3.0], 7);
    // 6 000 are expected; the standard deviation is 77.
    assert_eq!(shape.expected(), 6000.0);
    assert!(arrivals.len().abs_diff(6000) < 300, "{}", arrivals.len());
    let second = arrivals.iter().filter(|a| a.stream == 1).count() as f64;
    assert!((second / arrivals.len() as f64 - 0.75).abs() < 0.02);
    let late = arrivals.iter().filter(|a| a.at > MINUTE / 2).count() as f64;
    assert!(
        (late / arrivals.len() as f64 - 0.75).abs() < 0.02,
        "three quarters are late"
    );
    assert!(arrivals.is_sorted_by_key(|a| a.at));
}

#[test]
fn a_seed_repeats_a_load_and_another_one_does_not() {
    let shape = RateShape::day(10.0, 100.0, MINUTE, 3).expect("a shape");
    assert_eq!(
        shape,
        RateShape::day(10.0, 100.0, MINUTE, 3).expect("a shape")
    );
    let of = |seed| -> Vec<QueryArrival> { poisson(&shape, &[1.0], seed) };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn a_day_stays_between_its_least_and_its_most() {
    let shape = RateShape::day(10.0, 1000.0, MINUTE, 5).expect("a shape");
    let rates = (0..600).map(|step| shape.rate(MINUTE.mul_f64(f64::from(step) / 600.0)));
    let (least, most) = rates.fold((f64::MAX, 0.0_f64), |(l, m), r| (l.min(r), m.max(r)));
    assert!((10.0..20.0).contains(&least), "{least}");
    assert!((950.0..=1000.0).contains(&most), "{most}");
}

#[test]
fn zipfs_shares_fall_with_the_rank() {
    let shares = zipf_shares(4, 1.0);
    let expected = [12.0, 6.0, 4.0, 3.0].map(|part| part / 25.0);
    for (found, expected) in shares.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12);
    }
}

#[test]
fn shapes_that_are_none_are_refused_with_the_point() {
    let second = Duration::from_secs(1);
    let of = |points: &[(Duration, f64)]| RateShape::new(points.to_vec()).map(drop);
    assert_eq!(of(&[(second, 1.0)]).expect_err("one point").at, 1);
    assert_eq!(
        of(&[(second, 1.0), (second, 1.0)]).expect_err("no time").at,
        1
    );
    assert_eq!(
        of(&[(second, f64::NAN), (2 * second, 1.0)])
            .expect_err("no rate")
            .at,
        0
    );
}
