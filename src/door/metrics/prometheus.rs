//! Statistics in Prometheus' text format.

use std::fmt::Write;

use divisi_inference::service::Gauge;

use super::tally::ModelStatistics;
use super::timed::TimedCount;

/// A metric of models: its name, its help, whether it is a counter, and its value.
type ModelMetric = (
    &'static str,
    &'static str,
    bool,
    fn(&ModelStatistics) -> u64,
);

fn micros(counted: TimedCount) -> u64 {
    counted.ns / 1000
}

/// The metrics of models, with Triton's names.
const METRICS: [ModelMetric; 13] = [
    (
        "nv_inference_request_success",
        "Number of successful inference requests, all batch sizes",
        true,
        |model| model.success.count,
    ),
    (
        "nv_inference_count",
        "Number of inferences performed (does not include cached requests)",
        true,
        |model| model.samples,
    ),
    (
        "nv_inference_exec_count",
        "Number of model executions performed (does not include cached requests)",
        true,
        |model| model.executions,
    ),
    (
        "nv_inference_request_duration_us",
        "Cumulative inference request duration in microseconds (includes cached requests)",
        true,
        |model| micros(model.success),
    ),
    (
        "nv_inference_queue_duration_us",
        "Cumulative inference queuing duration in microseconds (includes cached requests)",
        true,
        |model| micros(model.queue),
    ),
    (
        "nv_inference_compute_input_duration_us",
        "Cumulative compute input duration in microseconds (does not include cached requests)",
        true,
        |model| micros(model.input),
    ),
    (
        "nv_inference_compute_infer_duration_us",
        "Cumulative compute inference duration in microseconds (does not include cached requests)",
        true,
        |model| micros(model.compute),
    ),
    (
        "nv_inference_compute_output_duration_us",
        "Cumulative inference compute output duration in microseconds (does not include cached requests)",
        true,
        |model| micros(model.output),
    ),
    (
        "nv_inference_pending_request_count",
        "Instantaneous number of pending requests awaiting execution per-model.",
        false,
        |model| model.pending,
    ),
    (
        "nv_cache_num_hits_per_model",
        "Number of cache hits per model",
        true,
        |model| model.hits.count,
    ),
    (
        "nv_cache_num_misses_per_model",
        "Number of cache misses per model",
        true,
        |model| model.misses.count,
    ),
    (
        "nv_cache_hit_duration_per_model",
        "Total cache hit duration per model, in microseconds",
        true,
        |model| micros(model.hits),
    ),
    (
        "nv_cache_miss_duration_per_model",
        "Total cache miss duration per model, in microseconds",
        true,
        |model| micros(model.misses),
    ),
];

/// Returns all metrics as text.
pub(crate) fn exposition(models: &[ModelStatistics], gauges: &[Gauge]) -> String {
    let mut text = String::new();
    for (name, help, counts, value) in METRICS {
        head(&mut text, name, help, counts);
        for model in models {
            let labels = [("model", &*model.name), ("version", &*model.version)];
            line(&mut text, name, &labels, value(model) as f64);
        }
    }
    failures(&mut text, models);
    others(&mut text, gauges);
    text
}

fn failures(text: &mut String, models: &[ModelStatistics]) {
    let name = "nv_inference_request_failure";
    let help = "Number of failed inference requests, all batch sizes";
    head(text, name, help, true);
    for model in models {
        for (reason, count) in &model.reasons {
            let labels = [
                ("model", &*model.name),
                ("version", &*model.version),
                ("reason", reason),
            ];
            line(text, name, &labels, *count as f64);
        }
    }
}

/// Appends other metrics; those with the same name are adjacent.
fn others(text: &mut String, gauges: &[Gauge]) {
    let mut last = "";
    for gauge in gauges {
        if gauge.name != last {
            head(text, gauge.name, gauge.help, gauge.counts);
            last = gauge.name;
        }
        let labels = gauge.labels.iter().map(|(name, value)| (*name, &**value));
        let labels: Vec<(&str, &str)> = labels.collect();
        line(text, gauge.name, &labels, gauge.value);
    }
}

// Writing to a string cannot fail.

fn head(text: &mut String, name: &str, help: &str, counts: bool) {
    let kind = if counts { "counter" } else { "gauge" };
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let written = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    let written: Vec<String> = written.collect();
    let _ = match written.is_empty() {
        true => writeln!(text, "{name} {value}"),
        false => writeln!(text, "{name}{{{}}} {value}", written.join(",")),
    };
}

fn escaped(value: &str) -> String {
    let backslashes = value.replace('\\', "\\\\");
    backslashes.replace('"', "\\\"").replace('\n', "\\n")
}
