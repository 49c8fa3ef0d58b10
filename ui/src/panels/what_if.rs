//! The effects of a setup in words: for the comparison and under a matrix being edited.

use divisi_model::allocation::{EntryChange, Matrix, WorkerChange};
use divisi_session::{
    BusyShare, DeviceForecast, DeviceView, EditPreview, P99Outlook, WhatIfAnswer,
};

use crate::look::Role;
use crate::model::Model;
use crate::text::{format, outlook, proposal};

/// The pieces of a line.
pub(crate) type StyledLine = Vec<(String, Role)>;

/// Returns a text in lines of one role.
pub(crate) fn wrapped(
    text: &str,
    width: u16,
    role: Role,
) -> impl Iterator<Item = StyledLine> + use<> {
    let lines = format::wrap(text, width).into_iter();
    lines.map(move |line| vec![(line, role)])
}

/// Below this width, lines use fewer words.
const NARROW: u16 = 60;

/// Returns the numbers of workers kept, started, stopped, resized and rebuilt.
pub(crate) fn counts(preview: &EditPreview, width: u16) -> StyledLine {
    let of = |test: fn(&WorkerChange) -> bool| {
        let entries = preview.difference.entries.iter();
        entries.filter(|e| test(&e.change)).count()
    };
    let kept = of(|c| matches!(c, WorkerChange::Keep(_)));
    let started = of(|c| matches!(c, WorkerChange::Start(_)));
    let stopped = of(|c| matches!(c, WorkerChange::Stop(_)));
    let resized = of(|c| matches!(c, WorkerChange::Resize { .. }));
    let rebuilt = of(|c| matches!(c, WorkerChange::Rebuild(_)));
    let again = |text: String| match rebuilt {
        0 => String::new(),
        _ => text,
    };
    let long = format!(
        "workers  = {kept} kept   + {started} started   − {stopped} stopped   ~ {resized} resized{}",
        again(format!("   ↻ {rebuilt} rebuilt"))
    );
    let text = match format::width(&long) <= width {
        true => long,
        false => {
            let again = again(format!(" ↻{rebuilt}"));
            format!("workers ={kept} +{started} −{stopped} ~{resized}{again}")
        }
    };
    vec![(text, Role::Strong)]
}

/// Returns the samples per second before and after with their interval, and the source of both, or
/// why they are unknown.
pub(crate) fn prediction(preview: &EditPreview, width: u16) -> Vec<StyledLine> {
    let said = &preview.prediction;
    let (word, unit) = match width < NARROW {
        true => ("", ""),
        false => ("predicted  ", " samples/s"),
    };
    let Some(after) = said.after else {
        let text = match said.source.as_str() {
            "" => "no prediction".to_owned(),
            why => format!("no prediction: {why}"),
        };
        return vec![vec![(format::fit(&text, width), Role::Dim)]];
    };
    let number = |n: f64| format::grouped(n.max(0.0).round() as u64);
    let range = format!(" ({} … {})", number(after.low), number(after.high));
    let (before, after) = (said.before.map(|b| b.samples_per_s), after.samples_per_s);
    let gain = before.and_then(|b| format::gain(b, after));
    let role = match before {
        Some(before) if after < before * 0.995 => Role::Bad,
        Some(before) if after > before * 1.005 => Role::Good,
        _ => Role::Text,
    };
    let before = before.map_or("?".to_owned(), number);
    let throughput = vec![
        (format!("{word}{before} → "), Role::Text),
        (number(after), Role::Strong),
        (range, Role::Text),
        (unit.to_owned(), Role::Dim),
        (gain.map_or(String::new(), |g| format!("  {g}")), role),
    ];
    let indent = " ".repeat(word.len());
    let source = format::fit(&format!("{indent}{}", said.source), width);
    vec![throughput, vec![(source, Role::Dim)]]
}

/// Returns lines on the changed settings other than the matrix, from their `words`.
pub(crate) fn settings(words: &[String], width: u16) -> Vec<StyledLine> {
    let lines = words
        .iter()
        .map(|s| wrapped(&format!("~ {s}"), width, Role::Warn));
    lines.flatten().collect()
}

/// Returns lines on precisions that devices do not multiply.
pub(crate) fn remarks(preview: &EditPreview, width: u16) -> Vec<StyledLine> {
    let remarks = preview.remarks.iter();
    let lines = remarks.map(|remark| wrapped(&format!("! {remark}"), width, Role::Warn));
    lines.flatten().collect()
}

/// Returns the changed entries of `matrix`.
pub(crate) fn changes(preview: &EditPreview, matrix: &Matrix, width: u16) -> Vec<StyledLine> {
    let changed = preview.difference.changed();
    changed.map(|c| change(c, matrix, width)).collect()
}

/// Returns the number of unchanged workers, or `None` if all change.
pub(crate) fn unchanged(preview: &EditPreview) -> Option<StyledLine> {
    let entries = preview.difference.entries.iter();
    let kept = entries.filter(|e| matches!(e.change, WorkerChange::Keep(_)));
    let text = match kept.count() {
        0 => return None,
        1 => "= 1 worker unchanged".to_owned(),
        kept => format!("= {kept} workers unchanged"),
    };
    Some(vec![(text, Role::Dim)])
}

/// The width of names in front of predicted effects.
const NAMES: usize = 11;

/// Returns the predicted latency, and the load of each device whose load changes.
pub(crate) fn effects(answer: &WhatIfAnswer, width: u16) -> Vec<StyledLine> {
    let Ok(after) = &answer.after else {
        return Vec::new();
    };
    let mut lines = vec![latency(answer, &after.p99, width)];
    let loads = outlook::changed_loads(&answer.before, after);
    lines.extend(loads.iter().map(|(device, was)| load(device, *was)));
    lines
}

fn latency(answer: &WhatIfAnswer, after: &P99Outlook, width: u16) -> StyledLine {
    let name = format!("{:<NAMES$}", "p99");
    let (text, role) = match after {
        P99Outlook::Unknown(why) => (format!("unknown: {why}"), Role::Dim),
        P99Outlook::Grows { .. } => (outlook::p99(after), Role::Bad),
        P99Outlook::Known { .. } => {
            let (was, now) = (outlook::p99(&answer.before.p99), outlook::p99(after));
            (format!("{was} → {now} ms"), Role::Text)
        }
    };
    let load = match (after, answer.load.words.as_str()) {
        (P99Outlook::Unknown(_), _) | (_, "") => String::new(),
        (_, load) => format!("  at {load}"),
    };
    let room = width.saturating_sub(format::width(&name));
    let text = format::fit(&text, room);
    let load = format::fit(&load, room.saturating_sub(format::width(&text)));
    vec![(name, Role::Dim), (text, role), (load, Role::Dim)]
}

/// The width of a bar of a device's load.
const BAR: usize = 10;

fn load(device: &DeviceForecast, was: Option<BusyShare>) -> StyledLine {
    let name = format::fit_name(&device.name, NAMES as u16 - 1);
    let was = was.map_or("–".to_owned(), |was| outlook::percent(was.share));
    let share = device.busy.map_or(0.0, |busy| busy.share);
    let now = device.busy.map_or("?".to_owned(), outlook::share);
    let full = ((share * BAR as f64).round() as usize).min(BAR);
    vec![
        (format!("{name:<NAMES$}"), Role::Dim),
        (format!("busy {was:>4} → "), Role::Text),
        ("█".repeat(full), Role::Accent),
        ("░".repeat(BAR - full), Role::Dim),
        (format!(" {now}"), Role::Text),
    ]
}

/// Returns a changed entry.
pub(crate) fn change(entry: &EntryChange, matrix: &Matrix, width: u16) -> StyledLine {
    let (device, member) = proposal::names(entry, matrix);
    let (sign, word, what, role) = match entry.change {
        WorkerChange::Keep(size) => ("=", "keep", format!("{size}"), Role::Dim),
        WorkerChange::Start(size) => ("+", "start", format!("batch {size}"), Role::Good),
        WorkerChange::Stop(size) => ("−", "stop", format!("batch {size}"), Role::Bad),
        WorkerChange::Resize { from, to } => {
            ("~", "resize", format!("batch {from} → {to}"), Role::Warn)
        }
        WorkerChange::Rebuild(size) => ("↻", "rebuild", format!("batch {size}"), Role::Warn),
    };
    let (first, second) = match width < NARROW {
        true => {
            let names = format!("{} × {} ", format::fit_name(device, 8), member);
            (format!("{sign} "), format::fit(&names, 22))
        }
        false => {
            let (device, member) = (format::fit_name(device, 10), format::fit_name(member, 16));
            let pad = usize::from(10 - format::width(&device).min(10));
            let tail = usize::from(17 - format::width(&member).min(16));
            let names = format!("{device}{:pad$} × {member}{:tail$}", "", "");
            (format!("{sign} {word:<7}"), names)
        }
    };
    vec![(first, role), (second, Role::Text), (what, Role::Strong)]
}

/// Returns the booked bytes now and after of each memory space, by its first device.
fn spaces<'a>(
    preview: &'a EditPreview,
    model: &'a Model,
) -> impl Iterator<Item = (&'a DeviceView, &'a u64, &'a u64)> {
    let devices = model.snapshot.devices.iter().zip(&preview.memory);
    let first = devices.filter(|(device, _)| device.shares_memory_of.is_none());
    first.map(|(device, (now, after))| (device, now, after))
}

/// Returns the booked bytes now and after, a line per memory space that changes.
pub(crate) fn memory(preview: &EditPreview, model: &Model, width: u16) -> Vec<StyledLine> {
    if spaces(preview, model).all(|(_, now, after)| now == after) {
        return vec![vec![("memory unchanged".to_owned(), Role::Dim)]];
    }
    let each = if width < NARROW { 9 } else { 11 };
    let head = format!(
        "{:<10}{:>each$}{:>each$}{:>each$}",
        "memory", "now", "after", "of"
    );
    let mut lines = vec![vec![(head, Role::Dim)]];
    let changed = spaces(preview, model).filter(|(_, now, after)| now != after);
    for (device, now, after) in changed {
        let role = match after {
            a if *a > device.memory_bytes => Role::Bad,
            a if *a != *now => Role::Strong,
            _ => Role::Text,
        };
        let name = format::fit_name(&device.name, 9);
        let [now, after, size] = [*now, *after, device.memory_bytes].map(format::bytes);
        lines.push(vec![
            (format!("{name:<10}{now:>each$}"), Role::Text),
            (format!("{after:>each$}"), role),
            (format!("{size:>each$}"), Role::Dim),
        ]);
    }
    lines
}

/// Returns the members whose requests pause briefly.
pub(crate) fn pauses(preview: &EditPreview) -> (String, Role) {
    match preview.paused_members.as_slice() {
        [] => (
            "✓ new workers start before old ones drain: no pause".to_owned(),
            Role::Good,
        ),
        members => (
            format!(
                "! both do not fit in memory: requests pause briefly for {}",
                members.join(", ")
            ),
            Role::Warn,
        ),
    }
}

/// Returns a short form for the few lines under the matrix.
pub(crate) fn brief(preview: &EditPreview, model: &Model, width: u16) -> Vec<StyledLine> {
    let mut lines = prediction(preview, width);
    let remarks = preview.remarks.iter();
    lines.extend(remarks.map(|text| vec![(format::fit(&format!("! {text}"), width), Role::Warn)]));
    lines.push(brief_memory(preview, model, width));
    let mut workers = counts(preview, width);
    if !preview.paused_members.is_empty() {
        let text = format!("   ! pauses {}", preview.paused_members.join(", "));
        workers.push((text, Role::Warn));
    }
    lines.push(workers);
    lines.extend(settings(&preview.settings, width));
    lines
}

/// Returns `812 MiB → 930 MiB`, or the difference if both would look the same.
fn from_to(now: u64, after: u64) -> String {
    let [from, to, by] = [now, after, now.abs_diff(after)].map(format::bytes);
    match (from == to, after > now) {
        (false, _) => format!("{from} → {to}"),
        (true, true) => format!("{from} +{by}"),
        (true, false) => format!("{from} −{by}"),
    }
}

/// Returns the devices whose memory changes.
fn brief_memory(preview: &EditPreview, model: &Model, width: u16) -> StyledLine {
    let mut line = vec![("memory".to_owned(), Role::Dim)];
    let mut used = 6;
    for (device, now, after) in spaces(preview, model) {
        if now == after {
            continue;
        }
        let text = format!("  {} {}", device.name, from_to(*now, *after));
        used += format::width(&text);
        if used + 2 > width {
            line.push((" …".to_owned(), Role::Dim));
            break;
        }
        let full = *after > device.memory_bytes;
        line.push((text, if full { Role::Bad } else { Role::Text }));
    }
    if line.len() == 1 {
        line.push(("  unchanged".to_owned(), Role::Dim));
    }
    line
}
