//! Unit tests of `src/door/metrics/protobuf.rs`.

#![allow(clippy::unwrap_used, reason = "tests fail by it")]

use std::collections::BTreeMap;

use super::*;

#[test]
fn exponential_buckets_are_spans_and_differences() {
    let times = HistogramReading {
        count: 12,
        exponential: BTreeMap::from([(-3, 5), (-2, 2), (4, 4), (5, 1)]),
        ..HistogramReading::default()
    };
    let (spans, deltas) = exponential(&times);
    let spans: Vec<_> = spans.iter().map(|s| (s.offset(), s.length())).collect();
    assert_eq!(spans, [(-3, 2), (5, 2)]);
    assert_eq!(deltas, [5, -3, 2, -3]);
}

#[test]
fn a_family_is_read_again_as_it_was_written() {
    let written = SeriesFamily {
        name: "a_total",
        help: "Things",
        kind: FamilyKind::Counter,
        series: vec![MetricSeries {
            labels: vec![("model", "m".into())],
            value: SeriesValue::Number(3.0),
        }],
    };
    let bytes = protobuf(&[written]);
    let read = MetricFamily::decode_length_delimited(&*bytes).unwrap();
    assert_eq!((read.name(), read.kind()), ("a_total", 0));
    let counter = read.metric[0].counter.as_ref();
    assert_eq!(counter.map(NumberMessage::value), Some(3.0));
    assert_eq!(read.metric[0].label[0].value(), "m");
}
