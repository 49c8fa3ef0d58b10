//! The session in words: its condition, its load, the time of measurements, and the gauges of GPUs
//! from their drivers.

use std::time::Duration;

use divisi_engine::deployment::CataloguePreview;
use divisi_model::allocation::Cell;
use divisi_model::ensemble::MemberPrecision;
use divisi_model::metrics::WINDOW;
use divisi_runtime::compute::CpuPrecision;
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::device::gpu::Gauges;
use divisi_session::{
    DeviceView, GpuView, LoadView, MemberView, ModelChangeView, ProbationState, SettingChange,
    Snapshot,
};

use super::{Condition, Severity, checks, clients, format};

/// Returns a summary in one line.
pub(crate) fn summary(shown: &Snapshot) -> String {
    let rate = shown.throughput.samples_per_s.round().max(0.0) as u64;
    let requests = shown.throughput.requests_per_s.round().max(0.0) as u64;
    let mut text = format!("{rate} samples/s, {requests} requests/s");
    text += &latencies(shown);
    for (name, count) in counters(shown) {
        if count > 0 {
            text += &format!("; {count} {name}");
        }
    }
    text
}

/// Returns the latencies of the last seconds. A percentile of too few requests is marked.
fn latencies(shown: &Snapshot) -> String {
    let latency = &shown.latency.now.summary;
    let value = |share: f64, micros: u64| {
        let mark = if latency.is_enough_for(share) {
            ""
        } else {
            "~"
        };
        format!("{mark}{} ms", format::millis(micros))
    };
    let mut text = String::new();
    if latency.count > 0 {
        let (p50, p99) = (value(0.5, latency.p50), value(0.99, latency.p99));
        let window = format::seconds(measured_window(shown, Duration::ZERO));
        text += &format!("; p50 {p50}, p99 {p99} in {window}");
    }
    let longest = Duration::from_micros(latency.max);
    if let Some(oldest) = shown.oldest_waiting.filter(|oldest| *oldest > longest) {
        text += &format!("; oldest waiting request {}", format::duration(oldest));
    }
    text
}

/// Returns a planned change of models, in lines.
pub(crate) fn model_plan(change: &ModelChangeView, preview: &CataloguePreview) -> Vec<String> {
    let list = |what: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!("; {what} {}", names.join(", ")),
    };
    let mut lines = vec![format!(
        "plan: {}{}{}{}{}{}",
        change.change,
        list("new", &preview.came),
        list("removed", &preview.went),
        list("new columns", &preview.columns_came),
        list("removed columns", &preview.columns_went),
        list("moved columns", &preview.moved)
    )];
    lines.extend(preview.memory.iter().map(|device| {
        let during = device.during.map_or("no room".to_owned(), format::bytes);
        let [now, after, all] = [device.now, device.after, device.bytes].map(format::bytes);
        format!(
            "plan: {}: memory {now} now, {during} during the change, {after} after, of {all}",
            device.device
        )
    }));
    lines.push(match &preview.not_beside {
        None => "plan: apply-models applies it".into(),
        Some(why) => format!(
            "plan: both engines do not fit: {why}; apply-models old-first ends the old one first; \
             requests wait"
        ),
    });
    lines
}

/// Returns the limits of the running probation with their values.
pub(crate) fn probation(shown: &Snapshot) -> Vec<String> {
    let watched = shown.probation.as_ref();
    let watched = watched.filter(|p| p.state == ProbationState::Watching);
    let checks = watched.into_iter().flat_map(|p| &p.checks);
    checks
        .map(|c| format!("probation: {}", checks::long(c)))
        .collect()
}

fn memory(shown: &Snapshot, device: &DeviceView) -> String {
    let other = device.shares_memory_of.and_then(|of| shown.device(of));
    match other {
        Some(other) => format!("memory shared with {}", other.name),
        None => format!(
            "memory {} of {}",
            format::bytes(device.memory_booked),
            format::bytes(device.memory_bytes)
        ),
    }
}

/// Returns the counters of requests without an answer and of worker restarts, with their names.
pub(crate) fn counters(shown: &Snapshot) -> [(&'static str, u64); 4] {
    let counters = &shown.counters;
    [
        ("refused", counters.refused),
        ("failed", counters.failed),
        ("cancelled", counters.cancelled),
        ("worker restarts", counters.worker_restarts),
    ]
}

/// Returns the condition in words.
pub(crate) fn condition(now: Condition<'_>) -> String {
    match now.severity() {
        None | Some(Severity::Information) => now.text(),
        Some(grave) => graded(grave, &now.text()),
    }
}

/// Returns `text` after the word for its severity.
pub(crate) fn graded(severity: Severity, text: &str) -> String {
    match severity {
        Severity::Information => format!("look: {text}"),
        grave => format!("{}: {text}", grave.word()),
    }
}

/// Returns a place in the matrix: `cpu:0 × mlp`.
pub(crate) fn cell(shown: &Snapshot, cell: Cell) -> String {
    let frame = shown.matrix.frame();
    let device = frame.device(cell.device).unwrap_or("?");
    let member = frame.member(cell.member).unwrap_or("?");
    format!("{device} × {member}")
}

/// Returns the current policy.
pub(crate) fn policy(shown: &Snapshot) -> String {
    let most = if shown.own_policies { " at most" } else { "" };
    format!("{}{most}", shown.policy)
}

fn precision(shown: &Snapshot) -> String {
    let precision = shown.precision;
    precision.map_or_else(String::new, |p| format!("; GPUs compute in {p}"))
}

/// Returns a word on the loss of a device with its reason, or an empty text.
fn lost(device: &DeviceView) -> String {
    match (device.lost, &device.loss) {
        (false, _) => String::new(),
        (true, None) => "lost, ".into(),
        (true, Some(why)) => format!("lost ({why}), "),
    }
}

/// Returns the complete status in lines: setup, devices, members, load.
pub(crate) fn status(shown: &Snapshot) -> Vec<String> {
    let simulated = if shown.simulated { ", simulated" } else { "" };
    let load = load_words(&shown.load).unwrap_or_else(|| "none".into());
    let mut lines = vec![
        format!(
            "{}: {}{simulated}; {}",
            shown.ensemble,
            condition(Condition::from_snapshot(shown)),
            summary(shown)
        ),
        format!("policy {}; load {load}{}", policy(shown), precision(shown)),
    ];
    lines.extend(probation(shown));
    lines.extend(clients::door(shown));
    lines.extend(clients::of_models(shown));
    for (i, device) in DeviceIndex::enumerate(&shown.devices) {
        let workers = shown.matrix.workers().filter(|(c, _)| c.device == i);
        let workers = workers.map(|(c, size)| format!("{} {size}", shown.members[c.member].name));
        let workers: Vec<String> = workers.collect();
        lines.push(format!(
            "{}: {}busy {}, {}; {}",
            device.name,
            lost(device),
            format::percent(device.busy).trim(),
            memory(shown, device),
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
        let computed = unusual_precision(member, shown);
        let computed = computed.map_or(String::new(), |own| format!(", in {own}"));
        lines.push(format!(
            "{}: {rate} samples/s, {} wait{computed}",
            member.name, member.queued
        ));
    }
    lines
}

/// Returns the precision of a member if it differs from the default.
pub(crate) fn unusual_precision(member: &MemberView, shown: &Snapshot) -> Option<MemberPrecision> {
    let own = member.precision;
    match shown.precision {
        Some(of_gpus) => own.if_set(of_gpus),
        // Without GPUs their precision does not matter.
        None => (own.is_auto || own.cores != CpuPrecision::F32).then_some(own),
    }
}

/// A smaller delay is not reported.
const BEHIND: Duration = Duration::from_millis(100);

/// Returns the load, such as `poisson:800`, and its delay if it cannot send fast enough. Returns
/// `None` without a load.
pub(crate) fn load_words(load: &LoadView) -> Option<String> {
    let pattern = load.pattern.as_ref()?;
    Some(match load.behind {
        late if late >= BEHIND => format!("{pattern}, {} behind", format::duration(late)),
        _ => pattern.to_string(),
    })
}

/// Returns the time of the current latencies: ten seconds, or the shorter time since they were
/// reset at `cleared`, at the start or by a new setup.
pub(crate) fn measured_window(shown: &Snapshot, cleared: Duration) -> Duration {
    let since = shown.now.saturating_sub(began(shown).max(cleared));
    let seconds = since.as_millis().div_ceil(1000).max(1);
    WINDOW.min(Duration::from_secs(seconds as u64))
}

/// Returns the start of the running setup. Other votes do not reset latencies.
fn began(shown: &Snapshot) -> Duration {
    let (ran, now) = (shown.history.iter().rev(), shown.setup());
    let same = ran.take_while(|ran| {
        let settings = SettingChange::between(&ran.setup, &now);
        ran.setup.matrix == now.matrix && !settings.iter().any(SettingChange::changes_pace)
    });
    same.last().map_or(Duration::ZERO, |ran| ran.from)
}

/// Returns load, temperature and power, as far as known.
pub(crate) fn gpu_pulse(gauges: &Gauges) -> Vec<String> {
    let busy = gauges
        .busy
        .map(|b| format!("driver {}", format::percent(b)));
    let warm = gauges.temperature.map(|t| format!("{t} °C"));
    let power = gauges.power.map(|w| format!("{w:.0} W"));
    [busy, warm, power].into_iter().flatten().collect()
}

/// Returns the memory used by other programs, or `None` if they use no memory.
pub(crate) fn gpu_others(gauges: &Gauges) -> Option<String> {
    let bytes = gauges.others_bytes.filter(|bytes| *bytes > 0)?;
    Some(format!("others {}", format::bytes(bytes)))
}

/// Returns all gauges of a GPU, for one line.
pub(crate) fn gpu_gauges(gauges: &Gauges) -> Vec<String> {
    let pulse = gpu_pulse(gauges).into_iter();
    let pulse = pulse.map(|text| text.replace("  ", " "));
    gpu_others(gauges).into_iter().chain(pulse).collect()
}

/// Returns the memory in use as counted by the driver, in total and by this process, or `None` if
/// neither is known.
pub(crate) fn gpu_memory(gpu: &GpuView) -> Option<String> {
    let here = gpu.used.map(|b| format!("{} here", format::bytes(b)));
    let all = gpu.gauges.memory_used;
    let all = all.map(|b| format!("in use {}", format::bytes(b)));
    match (all, here) {
        (Some(all), Some(here)) => Some(format!("{all}, {here}")),
        (all, here) => all.or(here),
    }
}

/// Returns everything about a GPU, for one line.
pub(crate) fn gpu_words(gpu: &GpuView) -> Vec<String> {
    let (major, minor) = gpu.capability;
    let mut words = gpu_gauges(&gpu.gauges);
    words.extend(gpu_memory(gpu));
    words.push(gpu.model.clone());
    words.push(format!("compute {major}.{minor}"));
    words
}
