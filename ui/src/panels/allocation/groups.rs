//! Groups of like devices, a row each with a bar for every device, if not all devices have a row.

use std::ops::Range;

use divisi_runtime::device::DeviceIndex;
use divisi_session::DeviceView;

use super::geometry::{MatrixColumns, MatrixShape};
use crate::look::{Painter, Role, bar};
use crate::model::Model;
use crate::text::format;

/// A device with a smaller share of computing counts as idle.
const IDLE: f64 = 0.05;

/// Returns the number of groups: runs of neighbouring devices with one name and
/// successive numbers.
pub(super) fn count(model: &Model) -> u16 {
    u16::try_from(groups(model).len()).unwrap_or(u16::MAX)
}

fn groups(model: &Model) -> Vec<Range<usize>> {
    let devices = &model.snapshot.devices;
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, device) in devices.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if stem(&devices[group.start]) == stem(device) => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// Returns a device's name without its number: `sim:v100` of `sim:v100:3`.
fn stem(device: &DeviceView) -> &str {
    let name = device
        .name
        .trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '-');
    name.trim_end_matches(':')
}

/// Draws the groups that fit; the last row sums up the rest.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    model: &Model,
    shape: MatrixShape,
    columns: MatrixColumns,
) {
    let mut groups = groups(model);
    let room = usize::from(shape.groups);
    if groups.len() > room
        && let Some(rest) = groups
            .drain(room.saturating_sub(1)..)
            .reduce(|all, g| all.start..g.end)
    {
        groups.push(rest);
    }
    for (row, group) in groups.into_iter().take(room).enumerate() {
        draw_group(inside, shape.head + row as u16, group, model, columns);
    }
}

fn draw_group(
    inside: &mut Painter<'_>,
    y: u16,
    group: Range<usize>,
    model: &Model,
    columns: MatrixColumns,
) {
    let devices = &model.snapshot.devices[group.clone()];
    let name = devices.first().map_or("", stem);
    let name = format!("{} ×{}", format::device_name(name, true), devices.len());
    let words = words(model, group.clone());
    let x = inside.text(0, y, &format::fit(&name, columns.label.max(12)), Role::Text) + 1;
    let room = inside.width().saturating_sub(x + format::width(&words) + 2);
    let mut at = x;
    for (device, view) in group.zip(devices).take(usize::from(room)) {
        let (sign, role) = sign(view, DeviceIndex::new(device), model);
        inside.sign(at, y, sign, role);
        at += 1;
    }
    inside.text(at + 2, y, &words, Role::Dim);
}

/// Returns a bar for the load of a device, or a sign for a fault.
fn sign(view: &DeviceView, device: DeviceIndex, model: &Model) -> (&'static str, Role) {
    match view.busy {
        _ if view.lost => ("✗", Role::Bad),
        _ if is_slow(model, device) => ("!", Role::Warn),
        busy if busy <= 0.0 => ("·", Role::Dim),
        busy => (bar(busy.max(0.125)), Role::for_load(busy)),
    }
}

fn is_slow(model: &Model, device: DeviceIndex) -> bool {
    let shown = &model.snapshot;
    let cells = shown.matrix.cells().zip(&shown.entries);
    let mut here = cells.filter(|(cell, _)| cell.device == device);
    here.any(|(_, entry)| entry.interfered.is_some())
}

/// Returns the numbers of lost, slow, busy and idle devices: `1 slow · 3 busy · 12 idle`.
fn words(model: &Model, group: Range<usize>) -> String {
    let mut counts = [0; 4];
    for (device, view) in group.clone().zip(&model.snapshot.devices[group]) {
        let state = match view.busy {
            _ if view.lost => 0,
            _ if is_slow(model, DeviceIndex::new(device)) => 1,
            busy if busy >= IDLE => 2,
            _ => 3,
        };
        counts[state] += 1;
    }
    let named = counts.into_iter().zip(["lost", "slow", "busy", "idle"]);
    let present = named.filter(|(count, _)| *count > 0);
    let words: Vec<String> = present.map(|(n, word)| format!("{n} {word}")).collect();
    words.join(" · ")
}
