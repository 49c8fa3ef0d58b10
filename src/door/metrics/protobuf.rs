//! Metrics in Prometheus' binary format, with native histograms: the messages of
//! `io/prometheus/client/metrics.proto`, each after its length.

use prost::Message;

use super::family::{FamilyKind, MetricSeries, SeriesFamily, SeriesValue};
use super::histogram::{HistogramReading, SCHEMA, ZERO};

/// The type of the binary format.
pub(crate) const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    /// 0 for counters, 1 for gauges, 4 for histograms.
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<NumberMessage>,
    #[prost(message, optional, tag = "3")]
    counter: Option<NumberMessage>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<HistogramMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

/// The value of a gauge or a counter.
#[derive(Clone, PartialEq, Message)]
struct NumberMessage {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct HistogramMessage {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<BucketMessage>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    /// The count of each bucket less that of the bucket before.
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

/// A fixed bucket.
#[derive(Clone, PartialEq, Message)]
struct BucketMessage {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

/// Consecutive exponential buckets.
#[derive(Clone, PartialEq, Message)]
struct BucketSpan {
    /// The gap to the span before; the number of the first bucket for the first span.
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// Returns metrics in the binary format.
pub(crate) fn protobuf(families: &[SeriesFamily]) -> Vec<u8> {
    let messages = families.iter().map(family);
    messages
        .flat_map(|message| message.encode_length_delimited_to_vec())
        .collect()
}

fn family(family: &SeriesFamily) -> MetricFamily {
    let kind = match family.kind {
        FamilyKind::Counter => 0,
        FamilyKind::Gauge => 1,
        FamilyKind::Histogram => 4,
    };
    MetricFamily {
        name: Some(family.name.to_owned()),
        help: Some(family.help.to_owned()),
        kind: Some(kind),
        metric: family
            .series
            .iter()
            .map(|series| metric(family.kind, series))
            .collect(),
    }
}

fn metric(kind: FamilyKind, series: &MetricSeries) -> Metric {
    let label = series.labels.iter().map(|(name, value)| LabelPair {
        name: Some((*name).to_owned()),
        value: Some(value.clone()),
    });
    let label = label.collect();
    match &series.value {
        SeriesValue::Histogram(times) => Metric {
            label,
            histogram: Some(histogram(times)),
            ..Metric::default()
        },
        SeriesValue::Number(value) => {
            let number = Some(NumberMessage {
                value: Some(*value),
            });
            let (gauge, counter) = match kind {
                FamilyKind::Counter => (None, number),
                FamilyKind::Gauge | FamilyKind::Histogram => (number, None),
            };
            Metric {
                label,
                gauge,
                counter,
                histogram: None,
            }
        }
    }
}

fn histogram(times: &HistogramReading) -> HistogramMessage {
    let bounds = times.cumulative().chain([(f64::INFINITY, times.count)]);
    let bucket = bounds.map(|(bound, count)| BucketMessage {
        cumulative_count: Some(count),
        upper_bound: Some(bound),
    });
    let (positive_span, positive_delta) = exponential(times);
    HistogramMessage {
        sample_count: Some(times.count),
        sample_sum: Some(times.sum),
        bucket: bucket.collect(),
        schema: Some(SCHEMA),
        zero_threshold: Some(ZERO),
        zero_count: Some(times.zero),
        positive_span,
        positive_delta,
    }
}

/// Returns the exponential buckets: the spans of those with times, and the differences of counts.
fn exponential(times: &HistogramReading) -> (Vec<BucketSpan>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<BucketSpan>, Vec<i64>) = Default::default();
    let (mut next, mut before) = (0, 0_i64);
    for (&number, &count) in &times.exponential {
        match spans.last_mut() {
            Some(span) if number == next => *span.length.get_or_insert(0) += 1,
            _ => spans.push(BucketSpan {
                offset: Some(number - next),
                length: Some(1),
            }),
        }
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        (next, before) = (number + 1, count);
    }
    (spans, deltas)
}

#[cfg(test)]
#[path = "../../../tests/door/units/metrics/protobuf.rs"]
mod tests;
