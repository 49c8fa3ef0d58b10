//! A report as text: aligned tables.

use std::time::Duration;

use divisi_model::ensemble::{AnswerKind, Measure, Quality};
use divisi_model::metrics::LatencySummary;
use divisi_session::{DeviceView, LatencyView, Snapshot};

use super::{errors, tasks};
use crate::cli::tables::{figures, lines, matrix_table, stages};
use crate::panels::lint_texts;
use crate::text::{Condition, load_words, measured_window, status as words};

/// Returns the whole report.
pub(super) fn text(shown: &Snapshot) -> String {
    let mut parts = vec![
        head(shown),
        section("allocation (batch sizes)", &matrix_table(&shown.matrix)),
        section("devices (in the last second)", &devices(shown)),
        section("GPUs", &gpus(shown)),
        section(&host_title(shown), &host(shown)),
        section("members", &members(shown)),
        section(&latency_title(shown), &latency(shown)),
        section("counters", &counters(shown)),
    ];
    parts.extend(errors::parts(shown));
    parts.extend(shown.scaling.iter().flat_map(tasks::parts));
    parts.push(section("notes", &notes(shown)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

pub(super) fn section(title: &str, body: &str) -> String {
    match body.is_empty() {
        true => String::new(),
        false => format!("{title}\n{body}"),
    }
}

fn head(shown: &Snapshot) -> String {
    let health = words::condition(Condition::from_snapshot(shown));
    let load = load_words(&shown.load);
    format!(
        "{} · {health} · {:.1} s\n{:.0} samples/s · {:.0} requests/s · load {} · policy {}",
        shown.ensemble,
        shown.now.as_secs_f64(),
        shown.throughput.samples_per_s,
        shown.throughput.requests_per_s,
        load.unwrap_or_else(|| "none".into()),
        shown.policy,
    )
}

fn devices(shown: &Snapshot) -> String {
    let head = [
        "device",
        "kind",
        "busy %",
        "copying %",
        "booked MiB",
        "of MiB",
    ];
    let rows = shown.devices.iter().map(|d| {
        let name = format!("{}{}", d.name, if d.lost { " (lost)" } else { "" });
        [
            name,
            d.kind.clone(),
            percent(d.busy),
            percent(d.copying),
            memory(shown, d, d.memory_booked),
            memory(shown, d, d.memory_bytes),
        ]
    });
    table(&head, rows)
}

/// Returns MiB for the first device of a memory space, and that device's name for the others.
fn memory(shown: &Snapshot, device: &DeviceView, bytes: u64) -> String {
    let other = device.shares_memory_of.and_then(|of| shown.device(of));
    match other {
        Some(other) => format!("as {}", other.name),
        None => (bytes >> 20).to_string(),
    }
}

/// The gauges of GPUs, and the reasons for lost devices.
fn gpus(shown: &Snapshot) -> String {
    let said = shown.devices.iter().filter_map(|d| {
        let gpu = d.gpu.as_ref()?;
        let words = d
            .loss
            .clone()
            .map_or_else(|| words::gpu_words(gpu), |why| vec![why]);
        Some(format!("{}: {}", d.name, words.join(", ")))
    });
    let precision = shown.precision.map(|p| format!("precision {p}"));
    said.chain(precision).collect::<Vec<_>>().join("\n")
}

fn host_title(shown: &Snapshot) -> String {
    let host = shown.host.as_ref();
    let window = host.map_or(Duration::ZERO, |host| host.load.window);
    format!("host (in the last {:.0} s)", window.as_secs_f64())
}

/// The load of the host, or nothing if it is not known.
fn host(shown: &Snapshot) -> String {
    let Some(host) = &shown.host else {
        return String::new();
    };
    let cores = host.load.cores.iter().map(|core| {
        let [own, others, steal] = [core.own, core.others, core.steal].map(percent);
        [format!("cpu:{}", core.core), own, others, steal]
    });
    let head = ["core", "Divisi %", "other programs %", "stolen %"];
    let (wait, throttled) = (
        host.load.wait.map(percent),
        host.load.throttled.map(percent),
    );
    lines([
        Some(table(&head, cores)),
        wait.map(|share| format!("  runnable threads waited for a core: {share} % of their time")),
        throttled.map(|share| format!("  throttled by the CPU limit: {share} % of its periods")),
    ])
}

fn members(shown: &Snapshot) -> String {
    let agreement = agreement_head(shown.answers);
    let head = [
        "member",
        "samples/s",
        "queued",
        "p99 ms since reload",
        "parameters",
        "precision",
        &agreement,
    ];
    let rows = shown.members.iter().map(|m| {
        vec![
            m.name.clone(),
            format!("{:.0}", m.samples_per_s),
            m.queued.to_string(),
            millis(&m.latency.since.summary, 0.99, m.latency.since.summary.p99),
            m.parameters.to_string(),
            m.precision.to_string(),
            m.contribution
                .map_or_else(|| "-".into(), |s| agreement_text(s.agreement)),
        ]
    });
    table(&head, rows)
}

/// Returns the title of the latencies, with the event from which they are measured.
fn latency_title(shown: &Snapshot) -> String {
    match &shown.load.pattern {
        Some(pattern) => format!("latency ({})", pattern.measured_from()),
        None => "latency".to_owned(),
    }
}

fn latency(shown: &Snapshot) -> String {
    let LatencyView { now, since } = &shown.latency;
    let head = [
        "answered", "requests", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms",
    ];
    let window = measured_window(shown, Duration::ZERO);
    let lately = format!("last {} s", window.as_secs());
    let rows = [
        percentiles(&lately, &now.summary),
        percentiles("since the last reload", &since.summary),
    ];
    let stages = stages(&since.split);
    let parts = ["mean by stage".to_owned()].into_iter();
    let parts: Vec<String> = parts
        .chain(stages.map(|(name, _)| format!("{name} ms")))
        .collect();
    let means = ["since the last reload".to_owned()].into_iter();
    let means = means.chain(stages.map(|(_, micros)| format!("{:.3}", micros / 1e3)));
    let oldest = shown.oldest_waiting.map(|oldest| {
        let oldest = oldest.as_secs_f64() * 1e3;
        format!("  oldest request in progress: {oldest:.3} ms")
    });
    lines([
        Some(table(&head, rows)),
        Some(table(&parts, [means.collect::<Vec<_>>()])),
        oldest,
    ])
}

fn percentiles(name: &str, summary: &LatencySummary) -> [String; 7] {
    let s = summary;
    let value = |share, micros| millis(summary, share, micros);
    [
        name.to_owned(),
        s.count.to_string(),
        value(0.5, s.p50),
        value(0.9, s.p90),
        value(0.99, s.p99),
        value(0.999, s.p999),
        value(0.0, s.max),
    ]
}

fn counters(shown: &Snapshot) -> String {
    let c = &shown.counters;
    let head = ["answered", "refused", "failed", "cancelled", "restarts"];
    let row = [
        c.answered,
        c.refused,
        c.failed,
        c.cancelled,
        c.worker_restarts,
    ];
    table(&head, [row.map(|n| n.to_string())])
}

/// Returns the console's remarks, the most severe first.
fn notes(shown: &Snapshot) -> String {
    let found = lint_texts(shown).into_iter();
    let mut notes: Vec<String> = found
        .map(|(grave, text)| words::graded(grave, &text))
        .collect();
    if shown.simulated {
        notes.push("simulated devices: answers mean nothing".to_owned());
    }
    if shown.synthetic {
        notes.push("synthetic weights: answers mean nothing".to_owned());
    }
    notes.join("\n")
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// Returns the column head for the agreement between members and ensemble.
fn agreement_head(answers: AnswerKind) -> String {
    let measure = Measure::of_similarity(answers);
    match measure.is_share() {
        true => "agreement %".to_owned(),
        false => format!("{} to the ensemble", measure.name()),
    }
}

fn agreement_text(figure: Quality) -> String {
    match figure.measure.is_share() {
        true => percent(figure.value),
        false => figure.text(),
    }
}

/// Formats a percentile in milliseconds, with `~` if it rests on too few requests.
fn millis(summary: &LatencySummary, share: f64, micros: u64) -> String {
    match summary.is_enough_for(share) {
        _ if summary.count == 0 => "-".into(),
        true => format!("{:.3}", micros as f64 / 1e3),
        false => format!("~{:.3}", micros as f64 / 1e3),
    }
}

/// Formats an indented table with the first column left-aligned and the others right-aligned.
pub(super) fn table<R: Into<Vec<String>>>(
    head: &[impl AsRef<str>],
    rows: impl IntoIterator<Item = R>,
) -> String {
    let table = figures(1, head, rows);
    format!("  {}", table.replace('\n', "\n  "))
}
