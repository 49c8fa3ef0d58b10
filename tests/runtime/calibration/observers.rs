//! Observers, against definitions over all numbers at once.

use divisi_runtime::compute::calibration::{Percentile, RangeMethod, RangeObserver, ValueRange};
use proptest::prelude::*;

fn percentile(percent: f64) -> RangeMethod {
    RangeMethod::Percentile(Percentile::new(percent).expect("a share"))
}

/// Shows numbers to an observer, some at a time.
fn observed(method: RangeMethod, numbers: &[f32], at_once: usize) -> ValueRange {
    let mut observer = RangeObserver::new(method);
    for some in numbers.chunks(at_once) {
        observer.add(some).expect("finite");
    }
    observer.range().expect("numbers were seen")
}

/// Numbers of a bell, from a counter.
fn bell(count: usize) -> Vec<f32> {
    let unit = |i: usize| ((i * 7919 + 13) % 10_007) as f64 / 10_007.0;
    let numbers = (0..count).map(|i| {
        let sum: f64 = (0..12).map(|k| unit(i * 12 + k)).sum();
        (sum - 6.0) as f32
    });
    numbers.collect()
}

fn numbers() -> impl Strategy<Value = Vec<f32>> {
    let number = prop_oneof![
        3 => -1e3f32..1e3,
        1 => Just(0.0),
        1 => -1e-20f32..1e-20,
        1 => any::<f32>().prop_filter("finite", |v| v.is_finite()),
    ];
    prop::collection::vec(number, 1..400)
}

#[test]
fn a_range_holds_0_and_is_finite() {
    let range = ValueRange::new(-1.0, 3.0).expect("a range");
    assert_eq!((range.low(), range.high()), (-1.0, 3.0));
    assert!(ValueRange::new(0.0, 0.0).is_ok());
    for (low, high) in [
        (1.0, 2.0),
        (-2.0, -1.0),
        (2.0, 1.0),
        (f32::NAN, 1.0),
        (0.0, f32::INFINITY),
        (f32::NEG_INFINITY, 0.0),
    ] {
        let why = ValueRange::new(low, high)
            .expect_err("no range")
            .to_string();
        assert!(why.contains("expected finite numbers around 0"), "{why}");
    }
}

#[test]
fn bytes_of_a_range_are_7_bits_and_hold_0() {
    for (low, high, scale, zero) in [
        (0.0, 127.0, 1.0, 0.0),
        (-127.0, 0.0, 1.0, 127.0),
        (-1.0, 1.0, 2.0 / 127.0, 64.0),
        (0.0, 0.0, 0.0, 0.0),
    ] {
        let range = ValueRange::new(low, high).expect("a range");
        assert_eq!((range.scale(), range.zero_point()), (scale, zero));
    }
}

#[test]
fn an_observer_that_saw_nothing_knows_no_range() {
    for method in [RangeMethod::MinMax, RangeMethod::Entropy, percentile(99.0)] {
        let mut observer = RangeObserver::new(method);
        observer.add(&[]).expect("nothing");
        assert_eq!(observer.range(), None);
        observer.add(&[0.0; 3]).expect("zeros");
        assert_eq!(observer.range(), Some(ValueRange::ZERO), "{method}");
    }
}

#[test]
fn a_number_that_is_not_finite_is_refused_with_its_position() {
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for method in [RangeMethod::MinMax, RangeMethod::Entropy, percentile(99.0)] {
            let mut observer = RangeObserver::new(method);
            observer.add(&[1.0]).expect("finite");
            let why = observer.add(&[5.0, wrong]).expect_err("not finite");
            assert_eq!(why.at, 1);
            let range = observer.range().expect("one number");
            assert_eq!(range.high(), 1.0, "nothing of the row was taken in");
        }
    }
}

#[test]
fn a_percentile_leaves_out_a_rare_number() {
    let mut numbers = bell(20_000);
    numbers.push(1e6);
    let range = observed(percentile(99.9), &numbers, 100);
    assert!(range.high() < 1e4, "{range:?}");
    let all = observed(percentile(100.0), &numbers, 100);
    assert_eq!(all, observed(RangeMethod::MinMax, &numbers, 7));
}

proptest! {
    #[test]
    fn min_and_max_are_those_of_all_numbers_and_0(numbers in numbers(), at_once in 1usize..50) {
        let range = observed(RangeMethod::MinMax, &numbers, at_once);
        let low = numbers.iter().copied().fold(0.0, f32::min);
        let high = numbers.iter().copied().fold(0.0, f32::max);
        prop_assert_eq!((range.low(), range.high()), (low, high));
    }

    /// As few numbers lie outside as may, and a bin's width further in too many would.
    #[test]
    fn a_percentile_is_that_of_the_sorted_numbers(
        numbers in numbers(),
        at_once in 1usize..50,
        percent in 50.5f64..100.0,
    ) {
        let range = observed(percentile(percent), &numbers, at_once);
        let most = numbers.len() as f64 * (100.0 - percent) / 200.0;
        let largest = numbers.iter().map(|n| n.abs()).fold(0.0, f32::max);
        // A histogram has at least 1024 bins up to the largest magnitude.
        let bin = f64::from(largest) / 1024.0;
        let beyond = |is: &dyn Fn(f64) -> bool| {
            numbers.iter().filter(|n| is(f64::from(**n))).count() as f64
        };
        let (low, high) = (f64::from(range.low()), f64::from(range.high()));
        prop_assert!(beyond(&|n| n > high) <= most);
        prop_assert!(beyond(&|n| n < low) <= most);
        prop_assert!(high == 0.0 || beyond(&|n| n >= high - bin) > most);
        prop_assert!(low == 0.0 || beyond(&|n| n <= low + bin) > most);
    }

    #[test]
    fn the_order_of_numbers_makes_no_difference(numbers in numbers(), at_once in 1usize..50) {
        let mut sorted = numbers.clone();
        sorted.sort_by(f32::total_cmp);
        for method in [percentile(90.0), RangeMethod::Entropy] {
            let found = observed(method, &numbers, at_once);
            prop_assert_eq!(found, observed(method, &sorted, 1));
        }
    }
}

/// The divergence of numbers in levels from all numbers, over `bins` of `width` on each side of 0, as
/// the slides define it; by a map from bin to count.
fn divergence(numbers: &[f32], width: f64, bins: [i64; 2]) -> f64 {
    let bin = |n: f32| {
        let magnitude = (f64::from(n.abs()) / width).floor() as i64;
        if n > 0.0 { magnitude } else { -magnitude - 1 }
    };
    let (first, last) = (-bins[0], bins[1] - 1);
    let window = (last - first + 1) as usize;
    let (mut inside, mut clipped) = (vec![0.0; window], vec![0.0; window]);
    for number in numbers.iter().filter(|n| **n != 0.0) {
        let at = bin(*number);
        clipped[(at.clamp(first, last) - first) as usize] += 1.0;
        if (first..=last).contains(&at) {
            inside[(at - first) as usize] += 1.0;
        }
    }
    let mut levels = vec![(0.0, 0.0); 128];
    // The last level whose first bin, `level · window / 128`, is at or before this one.
    let level = |at: usize| ((at + 1) * 128 - 1) / window;
    for (at, count) in inside.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        levels[level(at)].0 += count;
        levels[level(at)].1 += 1.0;
    }
    let is_empty = |at: usize| inside[at] == 0.0 && clipped[at] > 0.0;
    let empty = f64::from(u8::from(is_empty(0)) + u8::from(is_empty(window - 1)));
    let (all, kept): (f64, f64) = (clipped.iter().sum(), inside.iter().sum());
    let each = clipped.iter().enumerate().filter(|(_, p)| **p > 0.0);
    each.map(|(at, p)| {
        let (count, filled) = levels[level(at)];
        let q = if inside[at] > 0.0 {
            count / filled / kept * (1.0 - empty * 1e-4)
        } else {
            1e-4
        };
        p / all * (p / all / q).ln()
    })
    .sum()
}

/// The range of the least divergence of all that end as many bins away from 0.
fn least_divergence(numbers: &[f32]) -> [f64; 2] {
    let largest = numbers.iter().map(|n| n.abs()).fold(0.0, f32::max);
    let mut width = 2f64.powi(-160);
    while f64::from(largest) / width >= 2048.0 {
        width *= 2.0;
    }
    let ends = [-1.0, 1.0].map(|sign| {
        let side = numbers
            .iter()
            .map(|n| f64::from(*n) * sign)
            .fold(0.0, f64::max);
        if side == 0.0 {
            0
        } else {
            (side / width).floor() as i64 + 1
        }
    });
    let windows = (1..=ends[0].max(ends[1]))
        .rev()
        .map(|bins| ends.map(|end| bins.min(end)));
    let windows = windows.filter(|[below, above]| below + above >= 128);
    let best = windows.map(|window| (divergence(numbers, width, window), window));
    let best = best.reduce(|best, next| if next.0 < best.0 { next } else { best });
    best.map_or(ends, |(_, window)| window)
        .map(|bins| bins as f64 * width)
}

#[test]
fn entropy_is_the_least_divergence_by_its_definition() {
    let bell = bell(3_000);
    let magnitudes: Vec<f32> = bell.iter().map(|n| n.abs()).collect();
    let rectified: Vec<f32> = bell.iter().map(|n| n.max(0.0)).collect();
    let mut lopsided: Vec<f32> = bell
        .iter()
        .map(|n| if *n < 0.0 { n / 8.0 } else { *n })
        .collect();
    lopsided.push(20.0);
    for (name, numbers) in [
        ("bell", bell),
        ("magnitudes", magnitudes),
        ("rectified", rectified),
        ("lopsided", lopsided),
    ] {
        let found = observed(RangeMethod::Entropy, &numbers, 64);
        let [below, above] = least_divergence(&numbers);
        let all = observed(RangeMethod::MinMax, &numbers, 64);
        let expected = [
            (-below as f32).max(all.low()),
            (above as f32).min(all.high()),
        ];
        assert_eq!([found.low(), found.high()], expected, "{name}");
    }
}

#[test]
fn entropy_leaves_out_a_rare_number() {
    let mut numbers = bell(20_000);
    numbers.push(100.0);
    let range = observed(RangeMethod::Entropy, &numbers, 100);
    assert!(range.high() < 20.0, "{range:?}");
}
