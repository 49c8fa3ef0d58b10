//! Staged changes of whole rows and columns, each one step to undo.

use divisi::allocation::{Cell, InvalidMatrix, Matrix};
use divisi::ensemble::BatchSize;
use divisi::session::{Arranged, Arrangement, Setup};

use crate::console::commands::Id;
use crate::console::edit::{SetupEdit, TakenWorker};
use crate::console::effect::Effect;
use crate::console::model::Model;

/// Does one of them at the cursor.
pub fn act(model: &mut Model, id: Id) -> Vec<Effect> {
    let cursor = model.cursor;
    let lost = model.snapshot.devices.get(cursor.device);
    let lost = lost.is_some_and(|d| d.lost).then_some(cursor.device);
    let Some(edit) = &mut model.edit else {
        return Vec::new();
    };
    edit.settle();
    match id {
        Id::Copy => edit.take(cursor, false),
        Id::Cut => edit.take(cursor, true),
        Id::Put if lost.is_some() => edit.refuse("the device is lost: no worker starts there"),
        Id::Put => {
            if let Some(member) = put(edit, cursor) {
                model.cursor.member = member;
            }
        }
        Id::SameRow => resize(edit, cursor, |c| c.device == cursor.device),
        Id::SameColumn => resize(edit, cursor, |c| c.member == cursor.member),
        Id::Spread => return spread(edit, cursor),
        _ => {
            let device = cursor.device;
            return arrange(edit, Arrangement::Clear { device });
        }
    }
    Vec::new()
}

/// The marked worker to the cursor's device; gives its member.
fn put(edit: &mut SetupEdit, cursor: Cell) -> Option<usize> {
    let Some(mark) = edit.mark() else {
        edit.refuse("nothing to put: y takes a worker to copy, x one to move");
        return None;
    };
    let member = mark.from.member;
    if cursor.device == mark.from.device {
        edit.refuse("it is on this device: go to another one");
        return None;
    }
    let device = cursor.device;
    match moved(edit.staged(), mark, Cell { device, member }) {
        Ok(matrix) => edit.stage(edit.setup().with_matrix(matrix)),
        Err(why) => edit.refuse(why.to_string()),
    }
    Some(member)
}

fn moved(matrix: &Matrix, mark: TakenWorker, to: Cell) -> Result<Matrix, InvalidMatrix> {
    let more = matrix.with(to, Some(mark.size))?;
    match mark.moves {
        true => more.with(mark.from, None),
        false => Ok(more),
    }
}

/// The batch size at the cursor for all workers of which `of` says so.
fn resize(edit: &mut SetupEdit, cursor: Cell, of: impl Fn(Cell) -> bool) {
    let matrix = edit.staged();
    let Some(size) = matrix.get(cursor) else {
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

fn spread(edit: &mut SetupEdit, cursor: Cell) -> Vec<Effect> {
    let member = cursor.member;
    let here = edit.staged().get(cursor);
    let largest = || edit.staged().column(member).filter_map(|c| c.1).max();
    let Some(size): Option<BatchSize> = here.or_else(largest) else {
        return Vec::new();
    };
    arrange(edit, Arrangement::Spread { member, size })
}

/// What fits is asked of the session.
fn arrange(edit: &SetupEdit, arrangement: Arrangement) -> Vec<Effect> {
    vec![Effect::Arrange(Box::new(edit.setup().clone()), arrangement)]
}

/// Stages what came of it, if it is still about what is staged.
pub fn arranged(model: &mut Model, about: &Setup, arranged: Result<Arranged, String>) {
    let Some(edit) = model.edit.as_mut().filter(|e| e.setup() == about) else {
        return;
    };
    match arranged {
        Err(why) => edit.refuse(why),
        Ok(arranged) => {
            edit.stage(about.with_matrix(arranged.matrix));
            if !arranged.notes.is_empty() {
                model.say(arranged.notes.join("; "), false);
            }
        }
    }
}
