//! Profiles composed of members', the variants that are worth one, and prices.

use std::num::NonZeroU32;
use std::time::Duration;

use divisi_modelless::variants::{DeviceKindIndex, Variant, VariantPrecision};
use divisi_registry::profiles::{BatchPoint, DevicePrices, MemberProfile, composed, undominated};
use proptest::prelude::*;

use crate::common::{device, variant};

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn member(times: [u64; 3], tail: f64) -> MemberProfile {
    let sizes = [1, 8, 32].into_iter().zip(times);
    MemberProfile {
        points: sizes
            .map(|(batch, time)| BatchPoint {
                batch,
                time: millis(time),
                tail,
                memory: u64::from(batch) * 100,
            })
            .collect(),
        loading: millis(7),
    }
}

fn size(batch: u32) -> NonZeroU32 {
    NonZeroU32::new(batch).expect("above 0")
}

#[test]
fn times_loading_and_memory_of_members_add_up() {
    let members = [member([2, 10, 30], 1.5), member([4, 20, 50], 2.0)];
    let members: Vec<&MemberProfile> = members.iter().collect();
    let profile = composed(&members, &device("1 core", 0.5), size(8)).expect("a profile");
    let points: Vec<_> = profile
        .latency
        .points()
        .iter()
        .map(|p| (p.batch, p.mean, p.p99))
        .collect();
    let expected = [
        (1, millis(6), millis(2 * 3 / 2 + 4 * 2)),
        (8, millis(30), millis(10 * 3 / 2 + 20 * 2)),
    ];
    assert_eq!(
        points, expected,
        "sizes beyond the variant's own do not count"
    );
    assert_eq!(profile.loading, millis(14));
    assert_eq!(profile.memory, 2 * 800);
    assert_eq!(profile.cost.get(), 0.5, "the whole device");
}

#[test]
fn each_batch_size_has_its_own_tail() {
    let mut one = member([2, 10, 30], 1.0);
    one.points[0].tail = 2.0;
    let profile = composed(&[&one], &device("1 core", 0.5), size(32)).expect("a profile");
    assert_eq!(
        [1, 8, 32].map(|batch| profile.latency.p99(batch)),
        [4, 10, 30].map(millis)
    );
}

#[test]
fn a_larger_batch_never_takes_less_than_a_smaller_one() {
    let members = [&member([10, 8, 30], 1.0)];
    let profile = composed(&members, &device("1 core", 0.5), size(32)).expect("a profile");
    assert_eq!(profile.latency.mean(8), millis(10));
}

#[test]
fn what_takes_no_time_or_was_not_measured_has_no_profile() {
    let never = member([0, 0, 0], 1.0);
    for members in [&[][..], &[&never]] {
        assert!(composed(members, &device("1 core", 0.5), size(8)).is_err());
    }
}

/// Whether a variant is at least as good as another in all that queries ask for.
fn beats(a: &Variant, b: &Variant) -> bool {
    a.device == b.device
        && a.accuracy.cmp_rows(b.accuracy).is_ge()
        && a.query_cost() <= b.query_cost()
        && a.p99() <= b.p99()
}

proptest! {
    #[test]
    fn variants_that_stay_are_those_that_no_other_beats(
        numbers in prop::collection::vec(0..2000_u32, 0..60),
        kept in prop::option::of(0..2000_u32),
    ) {
        let all: Vec<Variant> = numbers.iter().map(|n| variant(*n)).collect();
        let kept = kept.map(variant);
        let is_kept = |v: &Variant| Some(v) == kept.as_ref();
        let stay = undominated(all.clone(), is_kept);
        for v in &all {
            let beaten = all.iter().any(|other| beats(other, v) && !beats(v, other));
            let equal = stay.iter().any(|other| beats(other, v) && beats(v, other));
            prop_assert_eq!(stay.contains(v) || equal, !beaten || is_kept(v));
        }
        for (at, v) in stay.iter().enumerate().filter(|(_, v)| !is_kept(v)) {
            let others = stay.iter().enumerate().filter(|(other, _)| *other != at);
            let free = others.filter(|(_, other)| !is_kept(other)).all(|(_, other)| !beats(other, v));
            prop_assert!(free, "{v:?} is beaten by another that stays");
        }
    }
}

#[test]
fn kinds_of_devices_do_not_beat_each_other() {
    let core = variant(1);
    let gpu = Variant {
        device: DeviceKindIndex(core.device.0 ^ 1),
        precision: VariantPrecision::Int8,
        ..core.clone()
    };
    let stay = undominated(vec![core.clone(), gpu.clone()], |_| false);
    assert_eq!(stay.len(), 2);
}

#[test]
fn prices_are_written_for_an_hour_of_all_kinds_or_of_each() {
    let prices = |text: &str| text.parse::<DevicePrices>();
    let hour =
        |rate: divisi_modelless::quantities::CostRate| (3600.0 * rate.get() * 1e6).round() / 1e6;
    let of = |text: &str| {
        let prices = prices(text).expect(text);
        (
            hour(prices.partition(4).expect("a price")),
            hour(prices.gpu().expect("a price")),
        )
    };
    assert_eq!(of("0.5"), (0.5, 0.5));
    assert_eq!(of("cpu=0.1, cuda=2"), (0.1, 2.0));
    assert_eq!(of("cuda=2"), (0.16, 2.0), "0.04 a core");
    let usual = DevicePrices::default();
    assert_eq!(hour(usual.gpu().expect("a price")), 3.0);
    for wrong in [
        "",
        "x",
        "-1",
        "nan",
        "1e9",
        "cpu=1,cpu=2",
        "tpu=1",
        "cpu=1,2",
        "cpu=",
    ] {
        let why = prices(wrong).expect_err(wrong).to_string();
        assert!(
            why.contains("cpu=0.05,cuda=3") && why.contains(&format!("`{wrong}`")),
            "{why}"
        );
    }
}
