//! Devices as named, the spans' ring, rates and latencies.

use std::time::Duration;

use divisi_engine::load::{Arrivals, LoadPattern};
use divisi_model::metrics::{Latency, RateRing};
use divisi_model::trace::{Span, SpanKind, SpanRing};
use divisi_runtime::device::{
    DeviceError, DeviceIndex, Devices, Host, MemberIndex, NamedKind, format_bytes, parse_bytes,
};

fn host(cores: usize) -> Host {
    Host {
        cores: (0..cores).collect(),
        memory_bytes: 1 << 30,
    }
}

fn named(list: &str) -> Result<Vec<String>, DeviceError> {
    Devices::from_names(&[list.to_owned()], &host(4)).map(|d| d.names())
}

#[test]
fn a_name_begins_with_the_kind_of_device() {
    for (name, kind) in [
        ("cpu:2-3", Some(NamedKind::Partition("2-3"))),
        ("cuda", Some(NamedKind::Gpu)),
        ("cuda:x", Some(NamedKind::Gpu)),
        ("sim:v100*4", Some(NamedKind::Simulated("v100*4"))),
        ("cudax.toml", None),
        ("v100", None),
    ] {
        assert_eq!(NamedKind::from_name(name), kind, "{name}");
    }
}

#[test]
fn partitions_are_named_and_may_not_overlap() {
    assert_eq!(named("cpu:0,cpu:2-3").expect("valid"), ["cpu:0", "cpu:2-3"]);
    let overlap = named("cpu:0-1,cpu:1")
        .expect_err("both use core 1")
        .to_string();
    assert_eq!(
        overlap,
        "devices `cpu:0-1` and `cpu:1` overlap: both use core 1"
    );
    assert!(matches!(
        named("cpu:4"),
        Err(DeviceError::NoSuchCore { core: 4, .. })
    ));
    for nonsense in [
        "gpu",
        "cpu:",
        "cpu:x",
        "cpu:2-1",
        "cpu:-1",
        "cpu:0-99999999999999999999",
    ] {
        assert!(
            matches!(named(nonsense), Err(DeviceError::Syntax(_))),
            "{nonsense}"
        );
    }
    assert_eq!(named(" , "), Err(DeviceError::None));
}

#[test]
fn by_default_there_is_one_partition_a_core_up_to_eight() {
    assert_eq!(Devices::default_of(&host(2)).names(), ["cpu:0", "cpu:1"]);
    assert_eq!(Devices::default_of(&host(32)).count(), 8);
    assert_eq!(Devices::default_of(&host(32)).names()[1], "cpu:4-7");
    assert_eq!(Devices::default_of(&host(9)).count(), 5);
}

#[test]
fn sizes_are_written_and_read() {
    assert_eq!(parse_bytes("1.5 GiB"), Ok(1_610_612_736));
    assert_eq!(format_bytes(1_610_612_736), "1.5 GiB");
    assert_eq!(format_bytes(1023), "1023 B");
    for nonsense in ["", "-1", "0", "12 parsecs", "GiB"] {
        assert!(parse_bytes(nonsense).is_err(), "{nonsense}");
    }
}

fn span(number: u64) -> Span {
    Span {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(0),
        batch_size: 8,
        lane: 0,
        kind: SpanKind::Compute,
        start: Duration::from_nanos(number),
        end: Duration::from_nanos(number + 1),
        samples: 1,
        batch: None,
        request: 0,
        requests: 1,
        of_step: None,
    }
}

#[test]
fn a_full_ring_keeps_the_newest_spans_and_counts_the_lost() {
    let ring = SpanRing::new(4);
    for number in 0..10 {
        ring.push(&[span(number)]);
    }
    let mut spans = Vec::new();
    assert_eq!(ring.drain(&mut spans), 6);
    let starts: Vec<u128> = spans.iter().map(|s| s.start.as_nanos()).collect();
    assert_eq!(starts, [6, 7, 8, 9]);
    ring.push(&[span(10)]);
    spans.clear();
    assert_eq!((ring.drain(&mut spans), spans.len()), (6, 1));
}

#[test]
fn rates_count_whole_buckets_only() {
    let at = |ms| Duration::from_millis(ms);
    let mut ring = RateRing::new(at(100), 5);
    for ms in 0..1000 {
        ring.add(at(ms), 2.0);
    }
    assert_eq!(ring.rate(at(1000), at(400)), 2000.0);
    assert_eq!(ring.total(), 2000.0);
    assert_eq!(ring.series(at(1000)).len(), 4);
    assert_eq!(ring.rate(at(60_000), at(400)), 0.0);
}

#[test]
fn latencies_have_percentiles_and_bars_that_hold_all_of_them() {
    let mut latency = Latency::new();
    assert_eq!(latency.summary().count, 0);
    for ms in 1..=1000 {
        latency.record(Duration::from_millis(ms));
    }
    latency.record(Duration::from_secs(3600));
    let summary = latency.summary();
    assert!((495_000..=505_000).contains(&summary.p50) && summary.max >= 59_000_000);
    let bars = latency.buckets(4);
    assert_eq!(bars.iter().map(|b| b.count).sum::<u64>(), 1001);
    assert!(bars.windows(2).all(|w| w[0].micros < w[1].micros));
}

#[test]
fn load_patterns_are_read_and_their_gaps_are_as_said() {
    for text in ["closed:8x32", "poisson:800", "burst:400"] {
        assert_eq!(
            text.parse::<LoadPattern>().expect("valid").to_string(),
            text
        );
    }
    for nonsense in [
        "",
        "closed:0",
        "closed:1x0",
        "poisson",
        "poisson:-1",
        "poisson:nan",
        "burst:x",
    ] {
        assert!(nonsense.parse::<LoadPattern>().is_err(), "{nonsense}");
    }
    let mut poisson = open(&LoadPattern::poisson(100.0));
    let mean = (0..20_000)
        .map(|_| poisson.next_gap().as_secs_f64())
        .sum::<f64>()
        / 20_000.0;
    assert!((0.0097..0.0103).contains(&mean), "{mean}");
    let mut burst = open(&LoadPattern::burst(100.0));
    let gaps: Vec<u64> = (0..800)
        .map(|_| burst.next_gap().as_millis() as u64)
        .collect();
    assert!(gaps[..150].iter().all(|g| *g == 40) && gaps[150..400].iter().all(|g| *g == 10));
    assert_eq!(gaps[..400], gaps[400..]);
    let closed = LoadPattern::closed(1, 1);
    assert!(Arrivals::new(&closed, 1).is_ok_and(|a| a.is_none()));
}

fn open(pattern: &LoadPattern) -> Arrivals {
    let arrivals = Arrivals::new(pattern, 1).expect("nothing to read");
    arrivals.expect("open")
}
