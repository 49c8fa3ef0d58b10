//! How the rows of the panel are shared out: devices, details of their entries, words.

use super::columns::MatrixColumns;
use super::words;
use crate::model::Model;

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
        let first = (model.cursor.device + 1).saturating_sub(usize::from(devices));
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
    pub(super) fn device(&self, row: u16) -> Option<usize> {
        let at = row.checked_sub(self.head)? / self.each();
        (at < self.devices).then_some(self.first + usize::from(at))
    }
}

/// Rows for queues, rates and a few words. How many words there are just now does not
/// count: rows must not come and go with them.
const REST: u16 = 7;

/// As many details as fit beside the rest; all where the panel has the whole screen and
/// devices can be scrolled.
fn details(model: &Model, devices: u16, room: u16) -> u16 {
    if model.edit.is_some() {
        return 0;
    }
    let fits = |n: &u16| devices.saturating_mul(1 + n).saturating_add(REST) <= room;
    let all = DETAILS.len() as u16;
    match (0..=all).rev().find(fits) {
        Some(n) => n,
        None if model.expanded && room >= 12 => all,
        None => 0,
    }
}

/// Devices that fit in `room` rows: what is urgent has a line of its own.
fn devices(model: &Model, all: u16, details: u16, room: u16) -> u16 {
    let spare = match details {
        0 => u16::from(room > 2 && words::is_urgent(model)),
        _ => 3,
    };
    (room.saturating_sub(spare) / (1 + details)).min(all)
}

/// Rows that show everything.
pub(crate) fn needed(model: &Model) -> u16 {
    let devices = u16::try_from(model.snapshot.devices.len()).unwrap_or(u16::MAX);
    let details = 1 + DETAILS.len() as u16;
    // The title, two rows of names, and two rows more for words.
    devices.saturating_mul(details).saturating_add(REST + 5)
}
