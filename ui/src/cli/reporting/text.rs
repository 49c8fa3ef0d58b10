//! A report as text: aligned tables.

use divisi::session::{LatencyView, Snapshot};

use crate::cli::report::matrix_table;
use crate::console::{Condition, gpu_words, lint_texts};
use crate::linear::words;

/// All of it.
pub fn text(shown: &Snapshot) -> String {
    let parts = [
        head(shown),
        section("allocation (batch sizes)", &matrix_table(&shown.matrix)),
        section("devices", &devices(shown)),
        section("GPUs", &gpus(shown)),
        section("members", &members(shown)),
        section("latency", &latency(&shown.latency)),
        section("counters", &counters(shown)),
        section("notes", &notes(shown)),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    parts.join("\n\n")
}

fn section(title: &str, body: &str) -> String {
    match body.is_empty() {
        true => String::new(),
        false => format!("{title}\n{body}"),
    }
}

fn head(shown: &Snapshot) -> String {
    let health = words::condition(Condition::of(shown));
    let load = shown.load.pattern.as_ref().map(|p| p.to_string());
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
    let mib = |bytes: u64| (bytes >> 20).to_string();
    let rows = shown.devices.iter().map(|d| {
        let name = if d.lost {
            format!("{} (lost)", d.name)
        } else {
            d.name.clone()
        };
        vec![
            name,
            d.kind.clone(),
            percent(d.busy),
            percent(d.copying),
            mib(d.memory_booked),
            mib(d.memory_bytes),
        ]
    });
    table(&head, rows)
}

/// What drivers say, and why devices are gone.
fn gpus(shown: &Snapshot) -> String {
    let said = shown.devices.iter().filter_map(|d| {
        let gpu = d.gpu.as_ref()?;
        let words = d
            .loss
            .clone()
            .map_or_else(|| gpu_words(gpu), |why| vec![why]);
        Some(format!("{}: {}", d.name, words.join(", ")))
    });
    let precision = shown.precision.map(|p| format!("they compute in {p}"));
    said.chain(precision).collect::<Vec<_>>().join("\n")
}

fn members(shown: &Snapshot) -> String {
    let head = [
        "member",
        "samples/s",
        "queued",
        "p99 ms",
        "parameters",
        "agreement %",
    ];
    let rows = shown.members.iter().map(|m| {
        vec![
            m.name.clone(),
            format!("{:.0}", m.samples_per_s),
            m.queued.to_string(),
            millis(&m.latency, m.latency.summary.p99),
            m.parameters.to_string(),
            m.standing
                .map_or_else(|| "-".into(), |s| percent(s.agreement)),
        ]
    });
    table(&head, rows)
}

fn latency(view: &LatencyView) -> String {
    let (s, split) = (&view.summary, &view.split);
    let head = [
        "requests", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms",
    ];
    let row = [s.p50, s.p90, s.p99, s.p999, s.max].map(|us| millis(view, us));
    let mut cells = vec![s.count.to_string()];
    cells.extend(row);
    let parts = [
        "queueing ms",
        "batching ms",
        "copying ms",
        "computing ms",
        "combining ms",
    ];
    let means = [
        split.queueing,
        split.batching,
        split.copying,
        split.computing,
        split.combining,
    ];
    let means = means.map(|us| format!("{:.3}", us / 1e3)).to_vec();
    let (first, second) = (table(&head, [cells]), table(&parts, [means]));
    format!("{first}\n{second}")
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
    table(&head, [row.map(|n| n.to_string()).to_vec()])
}

/// What should not be overlooked, the gravest first: the same as a console says.
fn notes(shown: &Snapshot) -> String {
    let found = lint_texts(shown).into_iter();
    let mut notes: Vec<String> = found
        .map(|(grave, text)| words::graded(grave, &text))
        .collect();
    if shown.simulated {
        notes.push("simulated devices: answers mean nothing".to_owned());
    }
    if shown.synthetic {
        notes.push("made-up weights: answers mean nothing".to_owned());
    }
    notes.join("\n")
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn millis(view: &LatencyView, micros: u64) -> String {
    match view.summary.count {
        0 => "-".into(),
        _ => format!("{:.3}", micros as f64 / 1e3),
    }
}

/// Names to the left, numbers to the right.
fn table<const N: usize>(head: &[&str; N], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut all = vec![head.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>()];
    all.extend(rows);
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(i, (cell, &width))| match i {
            0 => format!("  {cell:<width$}"),
            _ => format!("  {cell:>width$}"),
        });
        cells.collect::<String>()
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}
