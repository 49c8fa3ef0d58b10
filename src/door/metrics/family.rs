//! Metrics with their values, before they are written in a format.

use divisi_inference::service::Gauge;

use super::histogram::HistogramReading;
use super::tally::ModelStatistics;
use super::timed::TimedCount;

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FamilyKind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric with all its series.
#[derive(Clone, Debug)]
pub(crate) struct SeriesFamily {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: FamilyKind,
    pub(super) series: Vec<MetricSeries>,
}

/// The labels of a series.
pub(super) type SeriesLabels = Vec<(&'static str, String)>;

/// A series of a metric at this moment.
#[derive(Clone, Debug)]
pub(super) struct MetricSeries {
    pub(super) labels: SeriesLabels,
    pub(super) value: SeriesValue,
}

/// The value of a series.
#[derive(Clone, Debug)]
pub(super) enum SeriesValue {
    Number(f64),
    Histogram(Box<HistogramReading>),
}

/// A metric of models: its name, its help, its kind, and its value.
type ModelMetric = (
    &'static str,
    &'static str,
    FamilyKind,
    fn(&ModelStatistics) -> SeriesValue,
);

fn count(number: u64) -> SeriesValue {
    SeriesValue::Number(number as f64)
}

fn micros(counted: TimedCount) -> SeriesValue {
    count(counted.ns / 1000)
}

fn times(histogram: &HistogramReading) -> SeriesValue {
    SeriesValue::Histogram(Box::new(histogram.clone()))
}

/// The metrics of models: those of Triton with its names, then histograms.
const METRICS: [ModelMetric; 16] = [
    (
        "nv_inference_request_success",
        "Number of successful inference requests, all batch sizes",
        FamilyKind::Counter,
        |model| count(model.success.count),
    ),
    (
        "nv_inference_count",
        "Number of inferences performed (does not include cached requests)",
        FamilyKind::Counter,
        |model| count(model.samples),
    ),
    (
        "nv_inference_exec_count",
        "Number of model executions performed (does not include cached requests)",
        FamilyKind::Counter,
        |model| count(model.executions),
    ),
    (
        "nv_inference_request_duration_us",
        "Cumulative inference request duration in microseconds (includes cached requests)",
        FamilyKind::Counter,
        |model| micros(model.success),
    ),
    (
        "nv_inference_queue_duration_us",
        "Cumulative inference queuing duration in microseconds (includes cached requests)",
        FamilyKind::Counter,
        |model| micros(model.queue),
    ),
    (
        "nv_inference_compute_input_duration_us",
        "Cumulative compute input duration in microseconds (does not include cached requests)",
        FamilyKind::Counter,
        |model| micros(model.input),
    ),
    (
        "nv_inference_compute_infer_duration_us",
        "Cumulative compute inference duration in microseconds (does not include cached requests)",
        FamilyKind::Counter,
        |model| micros(model.compute),
    ),
    (
        "nv_inference_compute_output_duration_us",
        "Cumulative inference compute output duration in microseconds (does not include cached requests)",
        FamilyKind::Counter,
        |model| micros(model.output),
    ),
    (
        "nv_inference_pending_request_count",
        "Instantaneous number of pending requests awaiting execution per-model.",
        FamilyKind::Gauge,
        |model| count(model.pending),
    ),
    (
        "nv_cache_num_hits_per_model",
        "Number of cache hits per model",
        FamilyKind::Counter,
        |model| count(model.hits.count),
    ),
    (
        "nv_cache_num_misses_per_model",
        "Number of cache misses per model",
        FamilyKind::Counter,
        |model| count(model.misses.count),
    ),
    (
        "nv_cache_hit_duration_per_model",
        "Total cache hit duration per model, in microseconds",
        FamilyKind::Counter,
        |model| micros(model.hits),
    ),
    (
        "nv_cache_miss_duration_per_model",
        "Total cache miss duration per model, in microseconds",
        FamilyKind::Counter,
        |model| micros(model.misses),
    ),
    (
        "divisi_request_duration_seconds",
        "Time from the reading of an answered request to its answer (includes cached requests)",
        FamilyKind::Histogram,
        |model| times(&model.durations),
    ),
    (
        "divisi_request_queue_seconds",
        "Time that an answered request waited for a worker and a batch (does not include cached requests)",
        FamilyKind::Histogram,
        |model| times(&model.queues),
    ),
    (
        "divisi_request_compute_seconds",
        "Time that an answered request was computed (does not include cached requests)",
        FamilyKind::Histogram,
        |model| times(&model.computes),
    ),
];

/// Returns all metrics.
pub(crate) fn families(models: &[ModelStatistics], gauges: &[Gauge]) -> Vec<SeriesFamily> {
    let mut all: Vec<SeriesFamily> = METRICS
        .iter()
        .map(|metric| of_models(models, metric))
        .collect();
    all.push(failures(models));
    others(&mut all, gauges);
    all
}

fn labels_of(model: &ModelStatistics) -> SeriesLabels {
    vec![
        ("model", model.name.clone()),
        ("version", model.version.clone()),
    ]
}

fn number(labels: SeriesLabels, value: f64) -> MetricSeries {
    MetricSeries {
        labels,
        value: SeriesValue::Number(value),
    }
}

fn of_models(models: &[ModelStatistics], &(name, help, kind, value): &ModelMetric) -> SeriesFamily {
    let series = models.iter().map(|model| MetricSeries {
        labels: labels_of(model),
        value: value(model),
    });
    SeriesFamily {
        name,
        help,
        kind,
        series: series.collect(),
    }
}

fn failures(models: &[ModelStatistics]) -> SeriesFamily {
    let series = models.iter().flat_map(|model| {
        let reasons = model.reasons.iter();
        reasons.map(|(reason, count)| {
            let mut labels = labels_of(model);
            labels.push(("reason", (*reason).to_owned()));
            number(labels, *count as f64)
        })
    });
    SeriesFamily {
        name: "nv_inference_request_failure",
        help: "Number of failed inference requests, all batch sizes",
        kind: FamilyKind::Counter,
        series: series.collect(),
    }
}

/// Appends other metrics; those with the same name are adjacent.
fn others(all: &mut Vec<SeriesFamily>, gauges: &[Gauge]) {
    for same in gauges.chunk_by(|one, next| one.name == next.name) {
        let Some(first) = same.first() else {
            continue;
        };
        let series = same
            .iter()
            .map(|gauge| number(gauge.labels.clone(), gauge.value));
        all.push(SeriesFamily {
            name: first.name,
            help: first.help,
            kind: if first.counts {
                FamilyKind::Counter
            } else {
                FamilyKind::Gauge
            },
            series: series.collect(),
        });
    }
}
