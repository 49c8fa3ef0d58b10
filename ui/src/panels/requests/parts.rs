//! The parts of a request's time: names, signs, and the critical path in words.

use std::time::Duration;

use divisi_session::{LastRun, RequestRecord};

use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// A part of a request's time.
pub(super) struct RequestPart {
    pub name: &'static str,
    sign: &'static str,
    role: Role,
    pub time: Duration,
}

/// Returns the parts in the order of a request's stages, with the signs of the streams.
pub(super) fn parts(record: &RequestRecord) -> [RequestPart; 4] {
    let split = &record.split;
    let part = |name, sign, role, time| RequestPart {
        name,
        sign,
        role,
        time,
    };
    let network = record.received.unwrap_or_default();
    let queue = split.queueing + split.batching;
    let other = split.admission + split.copying + split.combining;
    [
        part("network", "→", Role::Copy, network),
        part("queue", "░", Role::Wait, queue),
        part("compute", "█", Role::Compute, split.computing),
        part("other", "▓", Role::Send, other),
    ]
}

/// Draws the parts as a stacked bar of `width` columns for the time `whole`.
pub(super) fn draw_bar(
    inside: &mut Painter<'_>,
    (x, y): (u16, u16),
    width: u16,
    record: &RequestRecord,
    whole: Duration,
) {
    let whole = whole.as_secs_f64().max(f64::MIN_POSITIVE);
    let (mut sum, mut from) = (0.0, 0);
    for part in parts(record) {
        sum += part.time.as_secs_f64();
        let to = (sum / whole * f64::from(width)).round() as u16;
        let to = to.min(width);
        inside.run(x + from, y, to.saturating_sub(from), part.sign, part.role);
        from = to;
    }
}

/// Returns the place of the run that completed a request: `cnn-m on cpu:1`.
pub(super) fn last_words(model: &Model, last: Option<&LastRun>) -> String {
    let Some(last) = last else {
        return "–".to_owned();
    };
    let device = last
        .place
        .and_then(|(device, _)| model.snapshot.device(device));
    match device {
        Some(device) => format!("{} on {}", last.step, device.name),
        None if last.batch.is_none() => format!("{} on the host", last.step),
        None => last.step.clone(),
    }
}

/// Returns the share of the largest part: `62 % queue`.
pub(super) fn largest(record: &RequestRecord) -> String {
    let whole = record.whole().as_secs_f64().max(f64::MIN_POSITIVE);
    let largest = parts(record).into_iter().max_by_key(|part| part.time);
    largest.map_or(String::new(), |part| {
        let share = part.time.as_secs_f64() / whole * 100.0;
        format!("{share:.0} % {}", part.name)
    })
}

/// Returns the critical path of an answered request in words: its waits and its computation on the
/// chain that ended last.
pub(super) fn path_words(model: &Model, record: &RequestRecord) -> String {
    let split = &record.split;
    let last = last_words(model, record.last.as_ref());
    let steps = [
        (record.received, "", " on the network and reading it"),
        (Some(split.admission), "", " before the queue"),
        (Some(split.queueing), "waited ", &*format!(" for {last}")),
        (Some(split.batching), "", " for the batch to fill"),
        (Some(split.copying), "copied ", ""),
        (Some(split.computing), "computed ", ""),
        (Some(split.combining), "combined ", ""),
    ];
    let known = steps.into_iter().filter_map(|(time, before, after)| {
        let time = time.filter(|time| *time >= SHORTEST)?;
        Some(format!("{before}{} ms{after}", ms(time)))
    });
    let known: Vec<String> = known.collect();
    format!("{}: {}", largest(record), known.join(", "))
}

/// Shorter parts are left out.
const SHORTEST: Duration = Duration::from_micros(5);

/// Formats a time in milliseconds.
pub(super) fn ms(time: Duration) -> String {
    format::millis(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
