//! Where the columns and rows of the matrix are, for the room there is.

use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::DeviceView;

use super::{precisions, words};
use crate::model::Model;
use crate::text::format;

/// How devices are described at the right of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Two shares in percent.
    Narrow,
    /// Three.
    Middle,
    /// A meter, and memory in bytes.
    Wide,
}

impl Side {
    /// Columns that it takes.
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
    /// Columns for the names of devices.
    pub label: u16,
    /// Names leave out what every simulated device's begins with.
    pub short: bool,
    /// Columns of one member.
    pub cell: u16,
    /// First member shown.
    pub first: usize,
    /// Members shown.
    pub shown: usize,
    /// The description of devices at the right.
    pub side: Side,
}

const LEAST: u16 = 5;
const MOST: u16 = 11;

impl MatrixColumns {
    /// The columns for `width`, scrolled so that the cursor is there.
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
        let room = width.saturating_sub(label + side.width());
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
        }
    }

    /// The members that are shown.
    pub(super) fn members(&self) -> impl Iterator<Item = MemberIndex> + use<> {
        (self.first..self.first + self.shown).map(MemberIndex::new)
    }

    /// The column after the member's.
    pub(super) fn end(&self, member: MemberIndex) -> u16 {
        let place = member.get().saturating_sub(self.first) as u16 + 1;
        self.label.saturating_add(self.cell.saturating_mul(place))
    }

    /// The member whose column this is, where it is one.
    pub(super) fn member(&self, x: u16) -> Option<MemberIndex> {
        let place = usize::from(x.checked_sub(self.label)? / self.cell);
        (place < self.shown).then_some(MemberIndex::new(self.first + place))
    }

    /// The column where the right side starts.
    pub(super) fn side_start(&self) -> u16 {
        self.label
            .saturating_add(self.cell.saturating_mul(self.shown as u16))
    }

    /// Whether every name fits over its column.
    fn names_fit(&self, model: &Model) -> bool {
        let members = model.snapshot.members.iter();
        members
            .into_iter()
            .all(|m| format::width(&m.name) < self.cell)
    }
}

/// Columns for names, and whether they are short: whole names where there is room.
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

/// A device's name, and how many times as long it takes where that was set.
pub(super) fn device_label(view: &DeviceView, short: bool) -> String {
    let name = format::device_name(&view.name, short);
    match view.slowdown == 1.0 {
        true => name.to_owned(),
        false => format!("{name} {}", format::times(view.slowdown)),
    }
}

/// The details of a device's entries that the rows under it show, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceDetail {
    /// Share of the batch size that batches filled.
    Fill,
    /// Samples taken and not started.
    Wait,
    /// Share of the device's time.
    Load,
}

/// All of them.
pub(super) const DETAILS: [DeviceDetail; 3] =
    [DeviceDetail::Fill, DeviceDetail::Wait, DeviceDetail::Load];

/// The rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixShape {
    /// Names of members take two rows by turns.
    pub stagger: bool,
    /// Rows for names.
    pub head: u16,
    /// Devices shown.
    pub devices: u16,
    /// The first of them.
    pub first: usize,
    /// Rows for details under each.
    pub details: u16,
}

impl MatrixShape {
    /// For `height` rows inside of the panel.
    pub(super) fn new(model: &Model, columns: MatrixColumns, height: u16) -> Self {
        let all = u16::try_from(model.snapshot.devices.len()).unwrap_or(u16::MAX);
        let stagger = height >= all.saturating_add(2).min(6) && !columns.names_fit(model);
        let head = 1 + u16::from(stagger);
        let details = details(model, all, height.saturating_sub(head));
        let devices = devices(model, all, details, height.saturating_sub(head));
        let first = (model.cursor.device.get() + 1).saturating_sub(usize::from(devices));
        MatrixShape {
            stagger,
            head,
            devices,
            first,
            details,
        }
    }

    /// Rows of one device.
    pub(super) fn each(&self) -> u16 {
        1 + self.details
    }

    /// The row after the devices.
    pub(super) fn under(&self) -> u16 {
        self.head + self.devices * self.each()
    }

    /// The device in a row, where there is one.
    pub(super) fn device(&self, row: u16) -> Option<DeviceIndex> {
        let at = row.checked_sub(self.head)? / self.each();
        let device = DeviceIndex::new(self.first + usize::from(at));
        (at < self.devices).then_some(device)
    }
}

/// Rows for queues, rates and a few words. How many words there are just now does not
/// count: rows must not come and go with them.
const REST: u16 = 7;

/// Rows for the numbers that members are computed in.
fn of_precisions(model: &Model) -> u16 {
    u16::from(precisions::is_shown(model))
}

/// As many details as fit beside the rest; all where the panel has the whole screen and
/// devices can be scrolled.
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

/// Devices that fit in `room` rows: what is urgent has a line of its own, as precisions have.
fn devices(model: &Model, all: u16, details: u16, room: u16) -> u16 {
    let spare = match details {
        0 if room > 2 => u16::from(words::is_urgent(model)) + of_precisions(model),
        0 => 0,
        _ => 3 + of_precisions(model),
    };
    (room.saturating_sub(spare) / (1 + details)).min(all)
}

/// Rows that show everything.
pub(crate) fn rows_needed(model: &Model) -> u16 {
    let devices = u16::try_from(model.snapshot.devices.len()).unwrap_or(u16::MAX);
    let details = 1 + DETAILS.len() as u16;
    // The title, two rows of names, and two rows more for words.
    let rest = REST + 5 + of_precisions(model);
    devices.saturating_mul(details).saturating_add(rest)
}
