//! What commands do to the device under the cursor.

use divisi::session::Command;

use crate::console::commands::Id;
use crate::console::dialogs::{Confirm, Dialog, Form, Then};
use crate::console::model::Model;

/// Opens what asks before a device is changed.
pub fn open(model: &mut Model, id: Id) {
    let device = model.cursor.device;
    let Some(view) = model.snapshot.devices.get(device) else {
        return;
    };
    let dialog = match id {
        Id::LoseDevice => Dialog::Confirm(lose(device, &view.name)),
        Id::SlowDevice => Dialog::Form(Form::slow(device, view)),
        _ => Dialog::Form(Form::max_inf(device, view)),
    };
    model.dialogs.push(dialog);
}

fn lose(device: usize, name: &str) -> Confirm {
    let text = format!(
        "Let {name} disappear? It is evacuated: what it was doing is done again, and \
         members that have no other worker start on other devices, as far as their \
         memory reaches."
    );
    let then = Then::Send(Command::LoseDevice(device));
    Confirm::new("lose the device", text, then)
}

/// The cursor to the next device or the one before, round and round.
pub fn step(model: &mut Model, id: Id) {
    let count = model.snapshot.devices.len().max(1);
    let step = if id == Id::NextDevice { 1 } else { count - 1 };
    model.cursor.device = (model.cursor.device + step) % count;
    model.streams.scroll = 0;
}
