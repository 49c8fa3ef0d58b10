//! Staging: changes of one entry, of whole rows and columns, each one step to undo.

use divisi_model::allocation::{Cell, InvalidMatrix, Matrix};
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{Arranged, Arrangement, Refusal, Setup};

use crate::dialogs::{Confirm, ConfirmedAction, Dialog};
use crate::layout::Panel;
use crate::model::{Effect, Model};
use crate::view::{SetupEdit, TakenWorker};

/// Begins to stage changes of what runs.
pub(super) fn begin(model: &mut Model) {
    if model.edit.is_none() {
        model.edit = Some(SetupEdit::new(model.snapshot.setup()));
        model.focus = Panel::Allocation;
    }
}

/// Takes the allowed batch size `step` places on at the cursor.
pub(super) fn cycle(model: &mut Model, step: isize) {
    if let Some(edit) = &mut model.edit {
        edit.cycle(model.cursor, step);
    }
}

/// Takes the next precision for the member at the cursor.
pub(super) fn precision(model: &mut Model) {
    let (member, with_gpus) = (model.cursor.member, model.snapshot.precision.is_some());
    let running = model.snapshot.member(member).map(|view| view.precision);
    if let (Some(edit), Some(running)) = (&mut model.edit, running) {
        edit.next_precision(member, running, with_gpus);
    }
}

/// Takes the worker at the cursor away.
pub(super) fn empty(model: &mut Model) {
    if let Some(edit) = &mut model.edit {
        edit.set(model.cursor, None);
    }
}

/// Takes the last staged change back.
pub(super) fn unstage(model: &mut Model) {
    if model.edit.as_mut().is_some_and(|edit| !edit.undo()) {
        model.say("nothing staged to undo", false);
    }
}

/// Stages again what was taken back.
pub(super) fn restage(model: &mut Model) {
    if model.edit.as_mut().is_some_and(|edit| !edit.redo()) {
        model.say("nothing staged to redo", false);
    }
}

/// Leaves editing; asks first where staged changes would be dropped.
pub(super) fn leave(model: &mut Model) -> Option<Dialog> {
    // What was taken is let go first.
    if model.edit.as_mut().is_some_and(SetupEdit::unmark) {
        return None;
    }
    if !model.has_staged() {
        model.edit = None;
        return None;
    }
    let text = "Drop the staged changes? What runs stays as it is.";
    let confirm = Confirm::new("leave editing", text, ConfirmedAction::DropEdit);
    Some(Dialog::Confirm(confirm))
}

/// Takes the worker at the cursor, to be copied or moved.
pub(super) fn take(model: &mut Model, moves: bool) {
    if let Some(edit) = &mut model.edit {
        edit.take(model.cursor, moves);
    }
}

/// Puts the taken worker on the cursor's device; the cursor goes to its member.
pub(super) fn put(model: &mut Model) {
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

/// Puts the taken worker on a device; returns its member.
fn put_on(edit: &mut SetupEdit, device: DeviceIndex) -> Option<MemberIndex> {
    edit.settle();
    let Some(taken) = edit.mark() else {
        edit.refuse("nothing to put: y takes a worker to copy, x one to move");
        return None;
    };
    let member = taken.from.member;
    if device == taken.from.device {
        edit.refuse("it is on this device: go to another one");
        return None;
    }
    match moved(edit.staged(), taken, Cell { device, member }) {
        Ok(matrix) => edit.stage(edit.setup().with_matrix(matrix)),
        Err(why) => edit.refuse(why.to_string()),
    }
    Some(member)
}

fn moved(matrix: &Matrix, taken: TakenWorker, to: Cell) -> Result<Matrix, InvalidMatrix> {
    let more = matrix.with(to, Some(taken.size))?;
    match taken.moves {
        true => more.with(taken.from, None),
        false => Ok(more),
    }
}

/// The batch size at the cursor for all workers of its device.
pub(super) fn same_row(model: &mut Model) {
    let cursor = model.cursor;
    resize(model, |cell| cell.device == cursor.device);
}

/// The batch size at the cursor for all workers of its member.
pub(super) fn same_column(model: &mut Model) {
    let cursor = model.cursor;
    resize(model, |cell| cell.member == cursor.member);
}

/// The batch size at the cursor for all workers of which `of` says so.
fn resize(model: &mut Model, of: impl Fn(Cell) -> bool) {
    let Some(edit) = &mut model.edit else {
        return;
    };
    edit.settle();
    let matrix = edit.staged();
    let Some(size) = matrix.get(model.cursor) else {
        return edit.refuse("no worker here whose batch size others could take");
    };
    let entries = matrix.cells().map(|cell| {
        let entry = matrix.get(cell);
        if of(cell) { entry.map(|_| size) } else { entry }
    });
    let even = Matrix::new(matrix.frame().clone(), entries.collect());
    match even {
        Ok(even) if even == *matrix => edit.refuse("all of them have this batch size"),
        Ok(even) => edit.stage(edit.setup().with_matrix(even)),
        Err(why) => edit.refuse(why.to_string()),
    }
}

/// Starts the cursor's member on all devices with room, as far as the session says.
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

/// Takes all workers off the cursor's device, as far as the session finds other places.
pub(super) fn clear_device(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = &mut model.edit else {
        return Vec::new();
    };
    edit.settle();
    let device = model.cursor.device;
    arrange(edit, Arrangement::Clear { device })
}

/// Asks the session for the changes of `arrangement` that fit.
fn arrange(edit: &SetupEdit, arrangement: Arrangement) -> Vec<Effect> {
    vec![Effect::Arrange(Box::new(edit.setup().clone()), arrangement)]
}

/// Stages what came of it, if it is still about what is staged.
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
