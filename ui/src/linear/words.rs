//! Snapshots in words.

use divisi::allocation::Cell;
use divisi::session::{DeviceView, Snapshot};

use crate::console::{Condition, Severity, format, gpu_words};

/// How it goes, on one line.
pub fn summary(shown: &Snapshot) -> String {
    let rate = shown.throughput.samples_per_s.round().max(0.0) as u64;
    let requests = shown.throughput.requests_per_s.round().max(0.0) as u64;
    let latency = &shown.latency.summary;
    let mut text = format!("{rate} samples/s, {requests} requests/s");
    if latency.count > 0 {
        let (p50, p99) = (format::millis(latency.p50), format::millis(latency.p99));
        text += &format!("; p50 {p50} ms, p99 {p99} ms");
    }
    for (name, count) in counters(shown) {
        if count > 0 {
            text += &format!("; {count} {name}");
        }
    }
    text
}

/// What was not answered.
pub fn counters(shown: &Snapshot) -> [(&'static str, u64); 4] {
    let counters = &shown.counters;
    [
        ("refused", counters.refused),
        ("failed", counters.failed),
        ("cancelled", counters.cancelled),
        ("worker restarts", counters.worker_restarts),
    ]
}

/// How serving goes, in words.
pub fn condition(now: Condition<'_>) -> String {
    match now.severity() {
        None | Some(Severity::Information) => now.text(),
        Some(grave) => graded(grave, &now.text()),
    }
}

/// What it is about, behind the word for how grave it is.
pub fn graded(severity: Severity, text: &str) -> String {
    match severity {
        Severity::Information => format!("look: {text}"),
        grave => format!("{}: {text}", grave.word()),
    }
}

/// A place in the matrix: `cpu:0 × mlp`.
pub fn cell(shown: &Snapshot, cell: Cell) -> String {
    let frame = shown.matrix.frame();
    let device = frame.devices.get(cell.device).map_or("?", String::as_str);
    let member = frame.members.get(cell.member).map_or("?", String::as_str);
    format!("{device} × {member}")
}

fn precision(shown: &Snapshot) -> String {
    let precision = shown.precision;
    precision.map_or_else(String::new, |p| format!("; GPUs compute in {p}"))
}

/// Whether a device is lost, and why.
fn lost(device: &DeviceView) -> String {
    match (device.lost, &device.loss) {
        (false, _) => String::new(),
        (true, None) => "lost, ".into(),
        (true, Some(why)) => format!("lost ({why}), "),
    }
}

/// All there is to say, a line each: what runs, devices, members, load.
pub fn status(shown: &Snapshot) -> Vec<String> {
    let simulated = if shown.simulated { ", simulated" } else { "" };
    let load = shown.load.pattern.as_ref();
    let load = load.map_or("none".into(), ToString::to_string);
    let mut lines = vec![
        format!(
            "{}: {}{simulated}; {}",
            shown.ensemble,
            condition(Condition::of(shown)),
            summary(shown)
        ),
        format!("policy {}; load {load}{}", shown.policy, precision(shown)),
    ];
    for (i, device) in shown.devices.iter().enumerate() {
        let workers = shown.matrix.workers().filter(|(c, _)| c.device == i);
        let workers = workers.map(|(c, size)| format!("{} {size}", shown.members[c.member].name));
        let workers: Vec<String> = workers.collect();
        lines.push(format!(
            "{}: {}busy {}, memory {} of {}; {}",
            device.name,
            lost(device),
            format::percent(device.busy).trim(),
            format::bytes(device.memory_booked),
            format::bytes(device.memory_bytes),
            if workers.is_empty() {
                "no workers".into()
            } else {
                workers.join(", ")
            }
        ));
        let gpu = device.gpu.as_ref().filter(|_| !device.lost);
        lines.extend(gpu.map(|gpu| format!("{}: {}", device.name, gpu_words(gpu).join(", "))));
    }
    for member in &shown.members {
        let rate = member.samples_per_s.round().max(0.0) as u64;
        lines.push(format!(
            "{}: {rate} samples/s, {} wait",
            member.name, member.queued
        ));
    }
    lines
}
