//! Metrics in Prometheus' text format.

use std::fmt::Write;

use super::family::{FamilyKind, MetricSeries, SeriesFamily, SeriesValue};
use super::histogram::HistogramReading;

/// The type of the text format.
pub(crate) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns metrics as text.
pub(crate) fn text(families: &[SeriesFamily]) -> String {
    let mut text = String::new();
    for family in families {
        head(&mut text, family);
        for series in &family.series {
            write_series(&mut text, family.name, series);
        }
    }
    text
}

// Writing to a string cannot fail.

fn head(text: &mut String, family: &SeriesFamily) {
    let (name, help) = (family.name, family.help);
    let kind = match family.kind {
        FamilyKind::Counter => "counter",
        FamilyKind::Gauge => "gauge",
        FamilyKind::Histogram => "histogram",
    };
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn write_series(text: &mut String, name: &str, series: &MetricSeries) {
    let labels: Vec<String> = series
        .labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    match &series.value {
        SeriesValue::Number(value) => line(text, name, &labels, value),
        SeriesValue::Histogram(times) => histogram(text, name, labels, times),
    }
}

fn histogram(text: &mut String, name: &str, labels: Vec<String>, times: &HistogramReading) {
    let bounds = times.cumulative();
    let bounds = bounds.map(|(bound, count)| (bound.to_string(), count));
    let all = std::iter::once(("+Inf".to_owned(), times.count));
    for (bound, count) in bounds.chain(all) {
        let mut labels = labels.clone();
        labels.push(format!("le=\"{bound}\""));
        line(text, &format!("{name}_bucket"), &labels, count);
    }
    line(text, &format!("{name}_sum"), &labels, times.sum);
    line(text, &format!("{name}_count"), &labels, times.count);
}

fn line(text: &mut String, name: &str, labels: &[String], value: impl std::fmt::Display) {
    let _ = match labels.is_empty() {
        true => writeln!(text, "{name} {value}"),
        false => writeln!(text, "{name}{{{}}} {value}", labels.join(",")),
    };
}

fn escaped(value: &str) -> String {
    let backslashes = value.replace('\\', "\\\\");
    backslashes.replace('"', "\\\"").replace('\n', "\\n")
}
