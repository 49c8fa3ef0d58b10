//! The rows of the panel, in the user's order: workers or their lanes, and sums of devices.
//!
//! Devices that run one batch at a time have a row per worker. If lanes run in parallel, there is a
//! row per lane, then the whole device, then its copies (like Ebird's figure 10). Without room,
//! rows are folded: the cursor's device comes first with all its rows, and devices that do not fit
//! show only their sums.

use std::cmp::Reverse;

use divisi_engine::serving::lane_sizes;
use divisi_model::allocation::Cell;
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::model::Model;
use crate::text::format;
use crate::view::RowOrder;
use crate::view::timeline::{RowKey, RowSum, TimelineRows};

/// A row of the panel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamRow {
    /// Its subject, which does not depend on its position.
    pub key: RowKey,
    /// Its place in the picture.
    pub at: usize,
    /// The largest batch of a lane.
    size: usize,
    /// Whether it is one of several parallel lanes.
    side_by_side: bool,
}

/// All rows in their order.
#[derive(Debug, Default)]
pub(crate) struct RowPlan {
    pub rows: Vec<StreamRow>,
    pub places: TimelineRows,
    /// Whether devices are folded that would show all their rows at the cursor.
    pub folded: bool,
}

/// The visible part of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneDetail {
    /// Lanes, and sums if there are several.
    All,
    /// Workers without sums.
    Workers,
    /// Only the sum.
    Folded,
}

impl RowPlan {
    /// Returns the rows for a panel with `room` rows.
    pub(crate) fn new(model: &Model, room: usize) -> Self {
        let devices = DeviceIndex::all(model.snapshot.devices.len());
        let mut all = RowPlan::for_devices(model, devices.clone().map(|d| (d, LaneDetail::All)));
        if arranged(model) {
            arrange(model, &mut all.rows);
            return all;
        }
        if all.rows.len() <= room {
            return all;
        }
        let workers = RowPlan::for_devices(model, devices.map(|d| (d, LaneDetail::Workers)));
        if workers.rows.len() <= room && !model.snapshot.devices.iter().any(|d| d.side_by_side) {
            return workers;
        }
        RowPlan::folded(model, room)
    }

    /// Returns the cursor's device first, then the others. A device shows all its rows as long as a
    /// row is left for each of the others.
    fn folded(model: &Model, room: usize) -> Self {
        let cursor = model.cursor.device;
        let others = DeviceIndex::all(model.snapshot.devices.len()).filter(|d| *d != cursor);
        let mut left = others.clone().count();
        let mut plan = RowPlan::for_devices(model, std::iter::once((cursor, LaneDetail::All)));
        for device in others {
            left -= 1;
            let open = RowPlan::for_devices(model, std::iter::once((device, LaneDetail::All)));
            let fits = plan.rows.len() + open.rows.len() + left <= room;
            let detail = if fits {
                LaneDetail::All
            } else {
                LaneDetail::Folded
            };
            plan.folded |= !fits;
            plan.device(model, device, detail);
        }
        plan
    }

    fn for_devices(
        model: &Model,
        devices: impl Iterator<Item = (DeviceIndex, LaneDetail)>,
    ) -> Self {
        let shown = &model.snapshot;
        let mut plan = RowPlan {
            places: TimelineRows::new(shown.devices.len(), shown.members.len()),
            ..RowPlan::default()
        };
        for (device, detail) in devices {
            plan.device(model, device, detail);
        }
        plan
    }

    fn device(&mut self, model: &Model, device: DeviceIndex, detail: LaneDetail) {
        let Some(view) = model.snapshot.device(device) else {
            return;
        };
        let before = self.rows.len();
        if detail != LaneDetail::Folded {
            let workers = model.snapshot.matrix.workers();
            for (cell, size) in workers.filter(|w| w.0.device == device) {
                self.worker(model, device, cell.member, size);
            }
        }
        let several = self.rows.len() > before + 1;
        match (detail, view.side_by_side) {
            (LaneDetail::All, true) => self.sums(
                device,
                &[RowSum::Compute, RowSum::ToDevice, RowSum::FromDevice],
            ),
            (LaneDetail::Folded, _) => self.sums(device, &[RowSum::Compute]),
            (LaneDetail::All, false) if several => self.sums(device, &[RowSum::Compute]),
            _ => {}
        }
    }

    fn worker(&mut self, model: &Model, device: DeviceIndex, member: MemberIndex, size: BatchSize) {
        let side_by_side = model.snapshot.devices[device].side_by_side;
        let lanes = lane_sizes(model.snapshot.policy, size, side_by_side);
        let first = self.places.worker(device, member, lanes.len());
        let rows = lanes.iter().enumerate().map(|(lane, size)| StreamRow {
            key: RowKey::Lane {
                device,
                member,
                lane,
            },
            at: first + lane,
            size: *size,
            side_by_side: lanes.len() > 1,
        });
        self.rows.extend(rows);
    }

    fn sums(&mut self, device: DeviceIndex, sums: &[RowSum]) {
        for &sum in sums {
            self.rows.push(StreamRow {
                key: RowKey::Sum { device, sum },
                at: self.places.sum(device, sum),
                size: 0,
                side_by_side: false,
            });
        }
    }
}

/// Returns the row's name. `short` omits the common prefix of simulated devices.
pub(super) fn label(model: &Model, row: &StreamRow, short: bool) -> String {
    let device = |index: DeviceIndex| {
        let view = model.snapshot.device(index);
        format::device_name(view.map_or("", |d| d.name.as_str()), short)
    };
    match row.key {
        RowKey::Sum { device: d, sum } => format!("{} {}", device(d), sum_name(sum)),
        RowKey::Lane {
            device: d, member, ..
        } => {
            let letter = model.signs.letter(member);
            let member = model.snapshot.member(member);
            let member = member.map_or("", |m| m.name.as_str());
            let sign = if row.side_by_side { '·' } else { '/' };
            format!("{} {letter} {member}{sign}{}", device(d), row.size)
        }
    }
}

fn sum_name(sum: RowSum) -> &'static str {
    match sum {
        RowSum::Compute => "all",
        RowSum::ToDevice => "HtoD",
        RowSum::FromDevice => "DtoH",
    }
}

/// Returns whether the user chose rows or their order. Rows are not folded then.
fn arranged(model: &Model) -> bool {
    model.streams.order != RowOrder::Device || !model.streams.filter.is_empty()
}

/// Filters and sorts the rows.
fn arrange(model: &Model, rows: &mut Vec<StreamRow>) {
    let wanted = model.streams.filter.to_lowercase();
    rows.retain(|row| names(model, row).any(|n| n.to_lowercase().contains(&wanted)));
    match model.streams.order {
        RowOrder::Device => {}
        RowOrder::Member => rows.sort_by_key(|row| match row.key {
            RowKey::Lane { member, .. } => member.get(),
            RowKey::Sum { .. } => usize::MAX,
        }),
        RowOrder::Busiest => rows.sort_by_key(|row| Reverse(load(model, row))),
        RowOrder::Name => rows.sort_by_cached_key(|row| label(model, row, true).to_lowercase()),
    }
}

/// Returns the names that the filter searches for a row.
fn names<'a>(model: &'a Model, row: &StreamRow) -> impl Iterator<Item = &'a str> {
    let (device, member) = match row.key {
        RowKey::Lane { device, member, .. } => (device, model.snapshot.member(member)),
        RowKey::Sum { device, .. } => (device, None),
    };
    let device = model.snapshot.device(device).map(|d| d.name.as_str());
    device.into_iter().chain(member.map(|m| m.name.as_str()))
}

/// Returns the load in tenths, so that rows do not change places constantly.
fn load(model: &Model, row: &StreamRow) -> u32 {
    let shown = &model.snapshot;
    let share = match row.key {
        RowKey::Lane { device, member, .. } => {
            let entry = shown.entry(Cell { device, member });
            entry.map_or(0.0, |e| e.load)
        }
        RowKey::Sum { device, sum } => shown.device(device).map_or(0.0, |d| match sum {
            RowSum::Compute => d.busy,
            RowSum::ToDevice | RowSum::FromDevice => d.copying,
        }),
    };
    (share.clamp(0.0, 1.0) * 10.0).round() as u32
}
