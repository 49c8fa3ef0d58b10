//! The names above the columns of the matrix: each member's letter and name in its hue.

use divisi_model::allocation::Cell;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::geometry::{MatrixColumns, MatrixShape};
use super::{selecting, side};
use crate::look::{Painter, Role, bar};
use crate::model::{MemberSigns, Model};
use crate::text::format;

/// Draws the names, and the row of all members if some have no column.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    model: &Model,
    columns: MatrixColumns,
    shape: MatrixShape,
) {
    if shape.strip {
        strip(inside, model);
    }
    let first = u16::from(shape.strip);
    for member in columns.members() {
        name(inside, first, member, model, columns, shape.stagger);
    }
    let y = first + u16::from(shape.stagger);
    side::names(inside, y, columns);
    if columns.graph > 0 {
        let x = columns.graph_start();
        inside.text(x, y, &format::fit("busy · 60 s", columns.graph), Role::Dim);
    }
}

fn name(
    inside: &mut Painter<'_>,
    first: u16,
    member: MemberIndex,
    model: &Model,
    columns: MatrixColumns,
    stagger: bool,
) {
    let Some(view) = model.snapshot.member(member) else {
        return;
    };
    let odd = (member.get() - columns.first) % 2 == 1;
    let (y, room) = match stagger {
        true => (first + u16::from(!odd), columns.cell * 2 - 1),
        false => (first, columns.cell - 1),
    };
    let end = columns.end(member);
    let letter = model.signs.letter(member);
    let name = match format::width(&view.name) + 2 <= room {
        true => format!("{letter} {}", view.name),
        false => format::fit_name(&view.name, room.min(end)),
    };
    inside.text_right(end, y, &name, MemberSigns::hue(member));
    if model.cursor.member == member && selecting(model) {
        let width = format::width(&name);
        inside.restyle(end.saturating_sub(width), y, width, Role::Strong);
    }
}

/// Draws the letters of all members, each with its highest load on a device.
fn strip(inside: &mut Painter<'_>, model: &Model) {
    let count = model.snapshot.members.len();
    let mut x = inside.text(0, 0, &format!("all {count} "), Role::Dim);
    let each = match usize::from(inside.width().saturating_sub(x)) / 2 >= count {
        true => 2,
        false => 1,
    };
    for member in MemberIndex::all(count) {
        let hue = MemberSigns::hue(member);
        let letter = model.signs.letter(member);
        inside.sign(x, 0, letter.encode_utf8(&mut [0; 4]), hue);
        let load = highest_load(model, member);
        if each == 2 && load > 0.0 {
            inside.sign(x + 1, 0, bar(load.max(0.125)), hue);
        }
        x += each;
    }
}

fn highest_load(model: &Model, member: MemberIndex) -> f64 {
    let devices = DeviceIndex::all(model.snapshot.devices.len());
    let entries = devices.filter_map(|device| model.snapshot.entry(Cell { device, member }));
    entries.map(|entry| entry.load).fold(0.0, f64::max)
}
