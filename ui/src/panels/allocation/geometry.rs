//! The places of the matrix's columns and rows, for the available room.

use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::DeviceView;

use super::{groups, precisions, words};
use crate::model::Model;
use crate::text::format;
use crate::view::KEPT;

/// The form of the device descriptions at the right of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Two percentages.
    Narrow,
    /// Three percentages.
    Middle,
    /// A meter, and memory in bytes.
    Wide,
}

impl Side {
    /// Returns its width in columns.
    pub(super) fn width(self) -> u16 {
        match self {
            Side::Narrow => 10,
            Side::Middle => 16,
            Side::Wide => 42,
        }
    }
}

/// The columns of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatrixColumns {
    /// The width of device names.
    pub label: u16,
    /// Whether names omit the common prefix of simulated devices.
    pub short: bool,
    /// The width of a member's column.
    pub cell: u16,
    /// The first visible member.
    pub first: usize,
    /// The number of visible members.
    pub shown: usize,
    /// The description of devices at the right.
    pub side: Side,
    /// The width of the graph of each device's load, at the right end; 0 without room.
    pub graph: u16,
}

/// The minimum width of a graph, and the gap before it.
const GRAPH: u16 = 10;
const GAP: u16 = 2;

const LEAST: u16 = 5;
const MOST: u16 = 11;

impl MatrixColumns {
    /// Returns the columns for `width`, scrolled to the cursor.
    pub(super) fn new(model: &Model, width: u16) -> Self {
        let there = model.snapshot.members.len();
        let members = there.max(1);
        let (label, short) = label(model, width);
        let fits = |side: Side, cell| {
            let cells = (members as u16).saturating_mul(cell);
            width >= label.saturating_add(cells).saturating_add(side.width())
        };
        let side = match (fits(Side::Wide, 7), fits(Side::Middle, LEAST)) {
            (true, _) => Side::Wide,
            (false, true) => Side::Middle,
            (false, false) => Side::Narrow,
        };
        let taken = label + side.width();
        let spare = width.saturating_sub(taken + (members as u16).saturating_mul(MOST) + GAP);
        let graph = match spare {
            0..GRAPH => 0,
            wide => wide.min(KEPT as u16),
        };
        let room = width.saturating_sub(taken + graph + if graph > 0 { GAP } else { 0 });
        let cell = (room / members as u16).clamp(LEAST, MOST);
        let shown = usize::from(room / cell).clamp(1, members).min(there);
        let first = (model.cursor.member.get() + 1).saturating_sub(shown);
        MatrixColumns {
            label,
            short,
            cell,
            first,
            shown,
            side,
            graph,
        }
    }

    /// Returns the first column of the graphs.
    pub(super) fn graph_start(&self) -> u16 {
        self.side_start() + self.side.width() + GAP
    }

    /// Returns the visible members.
    pub(super) fn members(&self) -> impl Iterator<Item = MemberIndex> + use<> {
        (self.first..self.first + self.shown).map(MemberIndex::new)
    }

    /// Returns the column after the member's.
    pub(super) fn end(&self, member: MemberIndex) -> u16 {
        let place = member.get().saturating_sub(self.first) as u16 + 1;
        self.label.saturating_add(self.cell.saturating_mul(place))
    }

    /// Returns the member at a column, if any.
    pub(super) fn member(&self, x: u16) -> Option<MemberIndex> {
        let place = usize::from(x.checked_sub(self.label)? / self.cell);
        (place < self.shown).then_some(MemberIndex::new(self.first + place))
    }

    /// Returns the first column of the right side.
    pub(super) fn side_start(&self) -> u16 {
        self.label
            .saturating_add(self.cell.saturating_mul(self.shown as u16))
    }

    /// Returns whether every name fits over its column.
    fn names_fit(&self, model: &Model) -> bool {
        let members = model.snapshot.members.iter();
        members
            .into_iter()
            .all(|m| format::width(&m.name) < self.cell)
    }
}

/// Returns the width that shows the columns of up to twelve members.
pub(super) fn least_width(model: &Model) -> u16 {
    let members = model.snapshot.members.len().min(12) as u16;
    (Side::Narrow.width() + 10 + members * LEAST).max(44)
}

/// Returns the width of names, and whether they are short: whole names if there is room.
fn label(model: &Model, width: u16) -> (u16, bool) {
    let widest = |short| {
        let devices = model.snapshot.devices.iter();
        let names = devices.map(|d| format::width(&device_label(d, short)));
        names.max().unwrap_or(0).max(5)
    };
    let long = widest(false);
    match long <= (width / 8).max(5) {
        true => (long + 1, false),
        false => (widest(true).min(17) + 1, true),
    }
}

/// Returns a device's name, with its slowdown if one is set.
pub(super) fn device_label(view: &DeviceView, short: bool) -> String {
    let name = format::device_name(&view.name, short);
    match view.slowdown == 1.0 {
        true => name.to_owned(),
        false => format!("{name} {}", format::times(view.slowdown)),
    }
}

/// The details of a device's entries in the rows below it, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceDetail {
    /// The filled share of the batch size.
    Fill,
    /// Samples taken but not started.
    Wait,
    /// The share of the device's time.
    Load,
}

/// All details.
pub(super) const DETAILS: [DeviceDetail; 3] =
    [DeviceDetail::Fill, DeviceDetail::Wait, DeviceDetail::Load];

/// The rows of the matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixShape {
    /// Whether names of members alternate between two rows.
    pub stagger: bool,
    /// Whether a row above the names shows all members, since some have no column.
    pub strip: bool,
    /// The rows for names and for all members.
    pub head: u16,
    /// The rows for groups of like devices, since some devices have no row.
    pub groups: u16,
    /// The number of visible devices.
    pub devices: u16,
    /// The first visible device.
    pub first: usize,
    /// The rows for details below each.
    pub details: u16,
}

impl MatrixShape {
    /// Returns the rows for `height` rows inside of the panel.
    pub(super) fn new(model: &Model, columns: MatrixColumns, height: u16) -> Self {
        let all = u16::try_from(model.snapshot.devices.len()).unwrap_or(u16::MAX);
        let stagger = height >= all.saturating_add(2).min(6) && !columns.names_fit(model);
        let strip = columns.shown < model.snapshot.members.len() && height >= 5;
        let head = 1 + u16::from(stagger) + u16::from(strip);
        let room = height.saturating_sub(head);
        let details = details(model, all, room);
        let whole = devices(model, all, details, room);
        let groups = match whole < all && room >= 3 {
            true => groups::count(model).min(room / 3),
            false => 0,
        };
        // The entry at the cursor needs a line if some members have no column.
        let line = u16::from(strip && room >= 3 && model.edit.is_none());
        let taken = groups.saturating_add(line).div_ceil(1 + details);
        let devices = whole.saturating_sub(taken).max(whole.min(1));
        let first = (model.cursor.device.get() + 1).saturating_sub(usize::from(devices));
        MatrixShape {
            stagger,
            strip,
            head,
            groups,
            devices,
            first,
            details,
        }
    }

    /// Returns the row of the first device.
    pub(super) fn first_row(&self) -> u16 {
        self.head + self.groups
    }

    /// Returns the rows of one device.
    pub(super) fn each(&self) -> u16 {
        1 + self.details
    }

    /// Returns the row after the devices.
    pub(super) fn end_row(&self) -> u16 {
        self.first_row() + self.devices * self.each()
    }

    /// Returns the device in a row, if any.
    pub(super) fn device(&self, row: u16) -> Option<DeviceIndex> {
        let at = row.checked_sub(self.first_row())? / self.each();
        let device = DeviceIndex::new(self.first + usize::from(at));
        (at < self.devices).then_some(device)
    }
}

/// The rows for queues, rates and a few words. The current number of words does not count, so that
/// rows do not come and go with them.
const REST: u16 = 7;

/// Returns the rows for precisions.
fn of_precisions(model: &Model) -> u16 {
    u16::from(precisions::is_shown(model))
}

/// Returns the number of details that fit next to the rest, or all if the panel has the whole
/// screen and devices can be scrolled.
fn details(model: &Model, devices: u16, room: u16) -> u16 {
    if model.edit.is_some() {
        return 0;
    }
    let rest = REST + of_precisions(model);
    let fits = |n: &u16| devices.saturating_mul(1 + n).saturating_add(rest) <= room;
    let all = DETAILS.len() as u16;
    match (0..=all).rev().find(fits) {
        Some(n) => n,
        None if model.expanded && room >= 12 => all,
        None => 0,
    }
}

/// Returns the number of devices that fit in `room` rows. Urgent words and precisions have their
/// own lines.
fn devices(model: &Model, all: u16, details: u16, room: u16) -> u16 {
    let spare = match details {
        0 if room > 2 => u16::from(words::is_urgent(model)) + of_precisions(model),
        0 => 0,
        _ => 3 + of_precisions(model),
    };
    (room.saturating_sub(spare) / (1 + details)).min(all)
}

/// Returns the number of rows that show everything.
pub(super) fn rows_needed(model: &Model) -> u16 {
    let devices = u16::try_from(model.snapshot.devices.len()).unwrap_or(u16::MAX);
    let details = 1 + DETAILS.len() as u16;
    // The title, two rows of names, and two more rows for words.
    let rest = REST + 5 + of_precisions(model);
    devices.saturating_mul(details).saturating_add(rest)
}
