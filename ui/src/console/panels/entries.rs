//! Where the columns of the matrix are, for the width there is.

use crate::console::format;
use crate::console::model::Model;

/// How devices are described at the right of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Two shares in percent.
    Narrow,
    /// A meter, and memory in bytes.
    Wide,
}

impl Side {
    /// Columns that it takes.
    pub fn width(self) -> u16 {
        match self {
            Side::Narrow => 10,
            Side::Wide => 36,
        }
    }
}

/// The columns of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Columns for the names of devices.
    pub label: u16,
    /// Columns of one member.
    pub cell: u16,
    /// First member shown.
    pub first: usize,
    /// Members shown.
    pub shown: usize,
    /// What is at the right.
    pub side: Side,
}

const LEAST: u16 = 5;
const MOST: u16 = 11;

impl Columns {
    /// The columns for `width`, scrolled so that the cursor is there.
    pub fn new(model: &Model, width: u16) -> Self {
        let members = model.snapshot.members.len().max(1);
        let label = label(model);
        let side = match width >= label + members as u16 * 7 + Side::Wide.width() {
            true => Side::Wide,
            false => Side::Narrow,
        };
        let room = width.saturating_sub(label + side.width());
        let cell = (room / members as u16).clamp(LEAST, MOST);
        let shown = usize::from(room / cell).clamp(1, members);
        let first = (model.cursor.member + 1).saturating_sub(shown);
        Columns {
            label,
            cell,
            first,
            shown,
            side,
        }
    }

    /// The members that are shown.
    pub fn members(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.shown
    }

    /// The column after the member's.
    pub fn end(&self, member: usize) -> u16 {
        let place = member.saturating_sub(self.first) as u16 + 1;
        self.label.saturating_add(self.cell.saturating_mul(place))
    }

    /// The column where the right side starts.
    pub fn side_start(&self) -> u16 {
        self.label
            .saturating_add(self.cell.saturating_mul(self.shown as u16))
    }

    /// Whether every name fits over its column.
    pub fn names_fit(&self, model: &Model) -> bool {
        let members = model.snapshot.members.iter();
        members
            .into_iter()
            .all(|m| format::width(&m.name) < self.cell)
    }
}

fn label(model: &Model) -> u16 {
    let devices = model.snapshot.devices.iter();
    let widest = devices.map(|d| format::width(&d.name)).max().unwrap_or(0);
    widest.clamp(5, 12) + 1
}
