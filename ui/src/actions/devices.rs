//! What commands do to the device under the cursor.

use divisi::session::{Command, DeviceView};

use crate::dialogs::{Confirm, Dialog, Form, Then};
use crate::model::Model;

fn at_cursor(model: &Model) -> Option<(usize, &DeviceView)> {
    let device = model.cursor.device;
    Some((device, model.snapshot.devices.get(device)?))
}

/// Asks whether the device is to disappear.
pub(super) fn lose(model: &Model) -> Option<Dialog> {
    let (device, view) = at_cursor(model)?;
    let name = &view.name;
    let text = format!(
        "Let {name} disappear? It is evacuated: what it was doing is done again, and \
         members that have no other worker start on other devices, as far as their \
         memory reaches."
    );
    let then = Then::Send(Command::LoseDevice(device));
    let confirm = Confirm::new("lose the device", text, then);
    Some(Dialog::Confirm(confirm))
}

/// Asks how many times as long the device is to take.
pub(super) fn slow(model: &Model) -> Option<Dialog> {
    let (device, view) = at_cursor(model)?;
    Some(Dialog::Form(Form::slow(device, view)))
}

/// Asks how many samples may be in execution on the device.
pub(super) fn max_inf(model: &Model) -> Option<Dialog> {
    let (device, view) = at_cursor(model)?;
    Some(Dialog::Form(Form::max_inf(device, view)))
}

/// Moves the cursor to the next device or the one before, round and round.
pub(super) fn step(model: &mut Model, step: isize) {
    let count = model.snapshot.devices.len().max(1) as isize;
    let next = (model.cursor.device as isize + step).rem_euclid(count);
    model.cursor.device = next as usize;
    model.streams.scroll = 0;
}
