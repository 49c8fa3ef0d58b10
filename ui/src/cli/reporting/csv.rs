//! A report as CSV: a row for the ensemble, each device, member and worker.

use anyhow::Result;
use divisi::session::{LatencyView, Snapshot};

const HEAD: [&str; 19] = [
    "section",
    "device",
    "member",
    "batch_size",
    "load",
    "fill",
    "samples_per_s",
    "queued",
    "batches",
    "memory_booked_bytes",
    "memory_bytes",
    "answered",
    "p50_us",
    "p90_us",
    "p99_us",
    "max_us",
    "recent_requests",
    "recent_p50_us",
    "recent_p99_us",
];

type CsvRow = [String; HEAD.len()];

/// Returns the whole report.
pub(crate) fn csv(shown: &Snapshot) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEAD)?;
    for row in rows(shown) {
        writer.write_record(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn rows(shown: &Snapshot) -> Vec<CsvRow> {
    let mut rows = vec![ensemble(shown)];
    rows.extend(shown.devices.iter().map(|d| {
        let mut row = row("device", &d.name, "");
        row[4] = share(d.busy);
        // A memory space is told once, so that sums are right.
        if d.shares_memory_of.is_none() {
            row[9] = d.memory_booked.to_string();
            row[10] = d.memory_bytes.to_string();
        }
        row
    }));
    rows.extend(shown.members.iter().map(|m| {
        let mut row = row("member", "", &m.name);
        row[6] = format!("{:.3}", m.samples_per_s);
        row[7] = m.queued.to_string();
        latency(&mut row, &m.latency);
        row
    }));
    rows.extend(workers(shown));
    rows
}

fn ensemble(shown: &Snapshot) -> CsvRow {
    let mut row = row("ensemble", "", "");
    row[6] = format!("{:.3}", shown.throughput.samples_per_s);
    row[11] = shown.counters.answered.to_string();
    latency(&mut row, &shown.latency);
    row
}

fn workers(shown: &Snapshot) -> impl Iterator<Item = CsvRow> {
    let frame = shown.matrix.frame();
    let entries = shown.matrix.cells().zip(&shown.entries);
    entries.filter_map(|(cell, entry)| {
        let size = shown.matrix.get(cell)?;
        let mut row = row(
            "worker",
            &frame.devices[cell.device],
            &frame.members[cell.member],
        );
        row[3] = size.get().to_string();
        row[4] = share(entry.load);
        row[5] = share(entry.fill);
        row[7] = entry.waiting.to_string();
        row[8] = entry.batches.to_string();
        latency(&mut row, &entry.latency);
        Some(row)
    })
}

fn row(section: &str, device: &str, member: &str) -> CsvRow {
    let mut row = CsvRow::default();
    for (cell, text) in row.iter_mut().zip([section, device, member]) {
        *cell = text.to_owned();
    }
    row
}

fn share(of: f64) -> String {
    format!("{of:.4}")
}

/// Writes the latencies since the last reload and of the last seconds. Cells without a
/// measurement stay empty.
fn latency(row: &mut CsvRow, view: &LatencyView) {
    let (since, now) = (&view.since.summary, &view.now.summary);
    if since.count > 0 {
        fill(
            &mut row[12..16],
            &[since.p50, since.p90, since.p99, since.max],
        );
    }
    if now.count > 0 {
        fill(&mut row[16..19], &[now.count, now.p50, now.p99]);
    }
}

fn fill(cells: &mut [String], values: &[u64]) {
    for (cell, value) in cells.iter_mut().zip(values) {
        *cell = value.to_string();
    }
}
