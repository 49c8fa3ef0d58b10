//! Where the columns of the matrix are, for the width there is.

use divisi::session::DeviceView;

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
        let members = model.snapshot.members.len().max(1);
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
        let shown = usize::from(room / cell).clamp(1, members);
        let first = (model.cursor.member + 1).saturating_sub(shown);
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
    pub(super) fn members(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.shown
    }

    /// The column after the member's.
    pub(super) fn end(&self, member: usize) -> u16 {
        let place = member.saturating_sub(self.first) as u16 + 1;
        self.label.saturating_add(self.cell.saturating_mul(place))
    }

    /// The member whose column this is, where it is one.
    pub(super) fn member(&self, x: u16) -> Option<usize> {
        let place = usize::from(x.checked_sub(self.label)? / self.cell);
        (place < self.shown).then_some(self.first + place)
    }

    /// The column where the right side starts.
    pub(super) fn side_start(&self) -> u16 {
        self.label
            .saturating_add(self.cell.saturating_mul(self.shown as u16))
    }

    /// Whether every name fits over its column.
    pub(super) fn names_fit(&self, model: &Model) -> bool {
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
