//! Staging: changes of an entry, a row or a column, each as one undo step.

use divisi_model::allocation::{Cell, InvalidMatrix, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{Arranged, Arrangement, Refusal, Setup};

use crate::dialogs::{Confirm, ConfirmedAction, Dialog};
use crate::layout::Panel;
use crate::model::{Effect, Model};
use crate::view::{SetupEdit, TakenWorker};

/// Starts editing a copy of the running setup.
pub(super) fn begin(model: &mut Model) {
    if model.edit.is_none() {
        model.edit = Some(SetupEdit::new(model.snapshot.setup()));
        model.focus = Panel::Allocation;
    }
}

/// Sets the entry at the cursor to the batch size `step` places further.
pub(super) fn cycle(model: &mut Model, step: isize) {
    if let Some(edit) = &mut model.edit {
        edit.cycle(model.cursor, step);
    }
}

/// Sets the member at the cursor to the next precision.
pub(super) fn precision(model: &mut Model) {
    let (member, with_gpus) = (model.cursor.member, model.snapshot.precision.is_some());
    let running = model.snapshot.member(member).map(|view| view.precision);
    if let (Some(edit), Some(running)) = (&mut model.edit, running) {
        edit.next_precision(member, running, with_gpus);
    }
}

/// Removes the worker at the cursor.
pub(super) fn empty(model: &mut Model) {
    if let Some(edit) = &mut model.edit {
        edit.set(model.cursor, None);
    }
}

/// Undoes the last staged change.
pub(super) fn unstage(model: &mut Model) {
    if model.edit.as_mut().is_some_and(|edit| !edit.undo()) {
        model.say("nothing staged to undo", false);
    }
}

/// Redoes the last undone staged change.
pub(super) fn restage(model: &mut Model) {
    if model.edit.as_mut().is_some_and(|edit| !edit.redo()) {
        model.say("nothing staged to redo", false);
    }
}

/// Leaves editing. Asks first if staged changes would be dropped.
pub(super) fn leave(model: &mut Model) -> Option<Dialog> {
    // The first press releases the taken worker.
    if model.edit.as_mut().is_some_and(SetupEdit::unmark) {
        return None;
    }
    if !model.has_staged() {
        model.edit = None;
        return None;
    }
    let text = "Drop the staged changes? The running setup stays.";
    let confirm = Confirm::new("leave editing", text, ConfirmedAction::DropEdit);
    Some(Dialog::Confirm(confirm))
}

/// Takes the worker at the cursor, to copy or move it.
pub(super) fn take(model: &mut Model, moves: bool) {
    if let Some(edit) = &mut model.edit {
        edit.take(model.cursor, moves);
    }
}

/// Puts the taken worker on the cursor's device and moves the cursor to its member.
pub(super) fn put_worker(model: &mut Model) {
    let cursor = model.cursor;
    let lost = model.snapshot.device(cursor.device);
    let lost = lost.is_some_and(|d| d.lost);
    let Some(edit) = &mut model.edit else {
        return;
    };
    if lost {
        edit.refuse("the device is lost: no worker starts there");
    } else if let Some(member) = put_on(edit, cursor.device) {
        model.cursor.member = member;
    }
}

/// Puts the taken worker on a device and returns its member.
fn put_on(edit: &mut SetupEdit, device: DeviceIndex) -> Option<MemberIndex> {
    edit.settle();
    let Some(taken) = edit.mark() else {
        edit.refuse("no worker taken: y copies a worker, x moves one");
        return None;
    };
    let member = taken.from.member;
    if device == taken.from.device {
        edit.refuse("the worker is on this device: choose another device");
        return None;
    }
    match moved(edit.staged(), taken, Cell { device, member }) {
        Ok(matrix) => edit.stage(edit.setup().with_matrix(matrix)),
        Err(why) => edit.refuse(why.to_string()),
    }
    Some(member)
}

fn moved(matrix: &Matrix, taken: TakenWorker, to: Cell) -> Result<Matrix, InvalidMatrix> {
    let more = matrix.with_entry(to, Some(taken.size))?;
    match taken.moves {
        true => more.with_entry(taken.from, None),
        false => Ok(more),
    }
}

/// Sets all workers of the device to the batch size at the cursor.
pub(super) fn same_row(model: &mut Model) {
    let cursor = model.cursor;
    resize(model, |cell| cell.device == cursor.device);
}

/// Sets all workers of the member to the batch size at the cursor.
pub(super) fn same_column(model: &mut Model) {
    let cursor = model.cursor;
    resize(model, |cell| cell.member == cursor.member);
}

/// Sets all workers selected by `of` to the batch size at the cursor.
fn resize(model: &mut Model, of: impl Fn(Cell) -> bool) {
    let Some(edit) = &mut model.edit else {
        return;
    };
    edit.settle();
    let matrix = edit.staged();
    let Some(size) = matrix.get(model.cursor) else {
        return edit.refuse("no worker here to take the batch size from");
    };
    let entries = matrix.cells().map(|cell| {
        let entry = matrix.get(cell);
        if of(cell) { entry.map(|_| size) } else { entry }
    });
    let even = Matrix::new(matrix.frame().clone(), entries.collect());
    match even {
        Ok(even) if even == *matrix => edit.refuse("all already have this batch size"),
        Ok(even) => edit.stage(edit.setup().with_matrix(even)),
        Err(why) => edit.refuse(why.to_string()),
    }
}

/// Starts the cursor's member on all devices with room, as far as the session allows.
pub(super) fn spread(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = &mut model.edit else {
        return Vec::new();
    };
    edit.settle();
    let member = model.cursor.member;
    let here = edit.staged().get(model.cursor);
    let largest = || edit.staged().column(member).filter_map(|c| c.1).max();
    let Some(size): Option<BatchSize> = here.or_else(largest) else {
        return Vec::new();
    };
    arrange(edit, Arrangement::Spread { member, size })
}

/// Removes all workers from the cursor's device, as far as the session finds other places.
pub(super) fn clear_device(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = &mut model.edit else {
        return Vec::new();
    };
    edit.settle();
    let device = model.cursor.device;
    arrange(edit, Arrangement::Clear { device })
}

/// Requests the changes of `arrangement` that fit from the session.
fn arrange(edit: &SetupEdit, arrangement: Arrangement) -> Vec<Effect> {
    vec![Effect::Arrange(Box::new(edit.setup().clone()), arrangement)]
}

/// Stages the session's arrangement, if the staged setup has not changed since.
pub(crate) fn arranged(model: &mut Model, about: &Setup, arranged: Result<Arranged, Refusal>) {
    let Some(edit) = model.edit.as_mut().filter(|e| e.setup() == about) else {
        return;
    };
    match arranged {
        Err(why) => edit.refuse(why.to_string()),
        Ok(arranged) => {
            edit.stage(about.with_matrix(arranged.matrix));
            if !arranged.notes.is_empty() {
                model.say(arranged.notes.join("; "), false);
            }
        }
    }
}
