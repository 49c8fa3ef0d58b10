//! Which rows there are and in which order, where the user chose.

use std::cmp::Reverse;

use super::rows::{StreamRow, label};
use crate::model::Model;
use crate::view::RowOrder;
use crate::view::timeline::RowSum;

/// The user chose rows or their order; nothing is folded then.
pub(super) fn arranged(model: &Model) -> bool {
    model.streams.order != RowOrder::Device || !model.streams.filter.is_empty()
}

/// Leaves out what the filter does not name, and sorts the rest.
pub(super) fn arrange(model: &Model, rows: &mut Vec<StreamRow>) {
    let wanted = model.streams.filter.to_lowercase();
    rows.retain(|row| names(model, row).any(|n| n.to_lowercase().contains(&wanted)));
    match model.streams.order {
        RowOrder::Device => {}
        RowOrder::Member => rows.sort_by_key(|row| match row {
            StreamRow::Lane { member, .. } => *member,
            StreamRow::Sum { .. } => usize::MAX,
        }),
        RowOrder::Busiest => rows.sort_by_key(|row| Reverse(load(model, row))),
        RowOrder::Name => rows.sort_by_cached_key(|row| label(model, row, true).to_lowercase()),
    }
}

/// The names that a row is found by.
fn names<'a>(model: &'a Model, row: &StreamRow) -> impl Iterator<Item = &'a str> {
    let (device, member) = match *row {
        StreamRow::Lane { device, member, .. } => (device, model.snapshot.members.get(member)),
        StreamRow::Sum { device, .. } => (device, None),
    };
    let device = model.snapshot.devices.get(device).map(|d| d.name.as_str());
    device.into_iter().chain(member.map(|m| m.name.as_str()))
}

/// Tenths of the time, so that rows do not change places at every look.
fn load(model: &Model, row: &StreamRow) -> u32 {
    let shown = &model.snapshot;
    let share = match *row {
        StreamRow::Lane { device, member, .. } => {
            let entry = shown.entries.get(device * shown.members.len() + member);
            entry.map_or(0.0, |e| e.load)
        }
        StreamRow::Sum { device, sum, .. } => {
            shown.devices.get(device).map_or(0.0, |d| match sum {
                RowSum::Compute => d.busy,
                RowSum::ToDevice | RowSum::FromDevice => d.copying,
            })
        }
    };
    (share.clamp(0.0, 1.0) * 10.0).round() as u32
}
