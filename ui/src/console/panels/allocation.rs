//! The matrix: devices × members, with the load of each entry; also while it is edited.

use divisi::allocation::{Cell, Difference};
use divisi::ensemble::BatchSize;
use divisi::session::{DeviceView, EntryView, ReloadState};

use super::entries::{Columns, Side};
use super::{framed, lints};
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::{Pen, bar};
use crate::console::theme::Role;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let columns = Columns::new(model, pen.width().saturating_sub(2));
    let mut inside = framed(pen, Panel::Allocation, &note(model, columns), model);
    let devices = model.snapshot.devices.len() as u16;
    let tall = inside.height() >= devices.saturating_add(2).min(8);
    let stagger = tall && !columns.names_fit(model);
    let head = if stagger { 2 } else { 1 };
    names(&mut inside, model, columns, stagger);
    let room = inside.height().saturating_sub(head).min(devices);
    let first = (model.cursor.device + 1).saturating_sub(usize::from(room));
    for row in 0..room {
        device_row(
            &mut inside,
            head + row,
            first + usize::from(row),
            model,
            columns,
        );
    }
    below(&mut inside, head + room, model, columns);
    let at = head + (model.cursor.device.saturating_sub(first)) as u16;
    error(&mut inside, at, model, columns);
}

fn note(model: &Model, columns: Columns) -> String {
    let Some(edit) = &model.edit else {
        let members = model.snapshot.members.len();
        return match columns.shown < members {
            true => format!("{} of {members} members", columns.shown),
            false => "batch sizes and load".to_owned(),
        };
    };
    let difference = Difference::between(&model.snapshot.matrix, edit.staged());
    format!("EDITING · {} staged", difference.changed().count())
}

fn names(inside: &mut Pen<'_>, model: &Model, columns: Columns, stagger: bool) {
    for member in columns.members() {
        let Some(view) = model.snapshot.members.get(member) else {
            continue;
        };
        let odd = (member - columns.first) % 2 == 1;
        let (y, room) = match stagger {
            true => (u16::from(!odd), columns.cell * 2 - 1),
            false => (0, columns.cell - 1),
        };
        let end = columns.end(member);
        let name = format::fit_name(&view.name, room.min(end));
        let role = if model.cursor.member == member && selecting(model) {
            Role::Strong
        } else {
            Role::Dim
        };
        inside.text_right(end, y, &name, role);
    }
    let x = columns.side_start();
    let y = u16::from(stagger);
    match columns.side {
        Side::Narrow => inside.text(x, y, " busy  mem", Role::Dim),
        Side::Wide => {
            inside.text_right(x + 25, y, "memory", Role::Dim);
            inside.text_right(x + 35, y, "of", Role::Dim);
            inside.text(x + 2, y, "busy", Role::Dim)
        }
    };
}

/// The cursor shows where it means something.
fn selecting(model: &Model) -> bool {
    model.edit.is_some() || model.focus == Panel::Allocation
}

fn device_row(inside: &mut Pen<'_>, y: u16, device: usize, model: &Model, columns: Columns) {
    let Some(view) = model.snapshot.devices.get(device) else {
        return;
    };
    let name = format::fit(&view.name, columns.label.saturating_sub(1));
    inside.text(0, y, &name, Role::Text);
    for member in columns.members() {
        entry(inside, y, Cell { device, member }, model, columns);
    }
    match columns.side {
        Side::Narrow => side_narrow(inside, y, view, columns.side_start()),
        Side::Wide => side_wide(inside, y, view, columns.side_start() + 2),
    }
}

fn entry(inside: &mut Pen<'_>, y: u16, cell: Cell, model: &Model, columns: Columns) {
    let end = columns.end(cell.member);
    let (text, role) = entry_text(model, cell);
    inside.text_right(end - 1, y, &text, role);
    let view = entry_view(model, cell);
    let running = model.snapshot.matrix.get(cell).is_some();
    if running && model.edit.is_none() {
        let role = if view.load < 0.02 {
            Role::Dim
        } else {
            Role::Accent
        };
        let glyph = if view.load < 0.06 {
            "▁"
        } else {
            bar(view.load)
        };
        inside.text(end - 1, y, glyph, role);
    }
    if model.cursor == cell && selecting(model) {
        let width = columns.cell.saturating_sub(2);
        inside.restyle(end.saturating_sub(1 + width), y, width, Role::Cursor);
    }
}

fn entry_text(model: &Model, cell: Cell) -> (String, Role) {
    let number = |size: Option<BatchSize>| size.map_or("·".to_owned(), |s| s.to_string());
    let (old, new) = (model.snapshot.matrix.get(cell), model.matrix().get(cell));
    if let Some(edit) = &model.edit
        && cell == model.cursor
        && !edit.typed().is_empty()
    {
        return (format!("{}_", edit.typed()), Role::Strong);
    }
    match (old, new) {
        (None, None) => (number(None), Role::Dim),
        (old, new) if old == new => (number(new), Role::Text),
        (None, new) => (format!("+{}", number(new)), Role::Good),
        (_, None) => ("−0".to_owned(), Role::Bad),
        (_, new) => (format!("~{}", number(new)), Role::Warn),
    }
}

fn entry_view(model: &Model, cell: Cell) -> EntryView {
    let at = cell.device * model.snapshot.members.len() + cell.member;
    model.snapshot.entries.get(at).copied().unwrap_or_default()
}

fn memory_share(view: &DeviceView) -> f64 {
    match view.memory_bytes {
        0 => 0.0,
        size => view.memory_booked as f64 / size as f64,
    }
}

fn busy_role(view: &DeviceView) -> Role {
    if view.busy > 0.95 {
        Role::Warn
    } else {
        Role::Text
    }
}

fn side_narrow(inside: &mut Pen<'_>, y: u16, view: &DeviceView, x: u16) {
    let role = if memory_share(view) > 0.95 {
        Role::Warn
    } else {
        Role::Text
    };
    let x = inside.text(x + 1, y, &format::percent(view.busy), busy_role(view));
    inside.text(x + 1, y, &format::percent(memory_share(view)), role);
}

fn side_wide(inside: &mut Pen<'_>, y: u16, view: &DeviceView, x: u16) {
    inside.meter(x, y, 8, view.busy, Role::Accent);
    inside.text(x + 9, y, &format::percent(view.busy), busy_role(view));
    let role = if memory_share(view) > 0.95 {
        Role::Warn
    } else {
        Role::Text
    };
    inside.text_right(x + 23, y, &format::bytes(view.memory_booked), role);
    inside.text_right(x + 33, y, &format::bytes(view.memory_bytes), Role::Dim);
}

/// Under the matrix, as far as there is room: queues and rates of members, then words.
fn below(inside: &mut Pen<'_>, mut y: u16, model: &Model, columns: Columns) {
    let words = words(model);
    let room = inside.height().saturating_sub(y);
    let urgent = words.iter().filter(|w| w.1 != Role::Dim).count() as u16;
    if room >= 2 + urgent.min(1) || urgent == 0 {
        member_row(inside, y, "queue", model, columns, |m| m.queued as f64);
        member_row(inside, y + 1, "smp/s", model, columns, |m| m.samples_per_s);
        y += 2;
    }
    let left = inside.height().saturating_sub(y);
    if left > words.len() as u16 {
        y += 1;
    }
    let room = inside.width().saturating_sub(1);
    for (i, (text, role)) in words.iter().enumerate() {
        inside.text(0, y + i as u16, &format::fit(text, room), *role);
    }
}

fn member_row(
    inside: &mut Pen<'_>,
    y: u16,
    name: &str,
    model: &Model,
    columns: Columns,
    value: impl Fn(&divisi::session::MemberView) -> f64,
) {
    inside.text(0, y, name, Role::Dim);
    for member in columns.members() {
        if let Some(view) = model.snapshot.members.get(member) {
            let text = format::short(value(view));
            inside.text_right(columns.end(member) - 1, y, &text, Role::Dim);
        }
    }
}

fn words(model: &Model) -> Vec<(String, Role)> {
    if model.edit.is_some() {
        let sizes = &model.snapshot.matrix.frame().batch_sizes;
        let text = format!("0 or {sizes} · + start  − stop  ~ resize");
        return vec![(text, Role::Dim)];
    }
    let mut words: Vec<(String, Role)> = reload(model).into_iter().collect();
    if model.focus == Panel::Allocation {
        words.push((detail(model), Role::Dim));
    }
    words.extend(
        lints::lints(&model.snapshot)
            .into_iter()
            .map(|l| (format!("! {l}"), Role::Warn)),
    );
    words
}

fn reload(model: &Model) -> Option<(String, Role)> {
    let reload = model.snapshot.reload.as_ref()?;
    match &reload.state {
        ReloadState::Done => None,
        ReloadState::Running => {
            let step = reload.steps.last().map_or("", String::as_str);
            let time = format::duration(reload.elapsed);
            Some((format!("› reload {time}: {step}"), Role::Accent))
        }
        ReloadState::Failed(why) => Some((
            format!("✗ reload failed, the old matrix serves: {why}"),
            Role::Bad,
        )),
    }
}

/// The entry under the cursor in words.
fn detail(model: &Model) -> String {
    let cell = model.cursor;
    let frame = model.snapshot.matrix.frame();
    let device = frame.devices.get(cell.device).map_or("", String::as_str);
    let member = frame.members.get(cell.member).map_or("", String::as_str);
    let Some(size) = model.snapshot.matrix.get(cell) else {
        return format!("{device} × {member}: no worker");
    };
    let view = entry_view(model, cell);
    let restarts = match view.restarts {
        0 => String::new(),
        n => format!(" · {n} restarts"),
    };
    format!(
        "{device} × {member}: batch {size} · load {} · filled {} · {} batches{restarts}",
        format::percent(view.load).trim(),
        format::percent(view.fill).trim(),
        format::grouped(view.batches)
    )
}

/// Why the last change was not entered, right under the entry (over it at the end).
fn error(inside: &mut Pen<'_>, row: u16, model: &Model, columns: Columns) {
    let Some(text) = model.edit.as_ref().and_then(|e| e.error()) else {
        return;
    };
    let most = inside.width().min(64);
    let lines = format::wrap(&format!("✗ {text}"), most.saturating_sub(2));
    let height = lines.len() as u16;
    let widest = lines.iter().map(|l| format::width(l)).max().unwrap_or(0) + 2;
    let start = columns
        .end(model.cursor.member)
        .saturating_sub(columns.cell);
    let x = start.min(inside.width().saturating_sub(widest));
    let y = match row + 1 + height <= inside.height() {
        true => row + 1,
        false => row.saturating_sub(height),
    };
    // Rather the whole row than a rest of the device's name.
    let (x, widest) = if x < columns.label {
        (0, inside.width())
    } else {
        (x, widest)
    };
    let mut over = inside.part(x, y, widest, height);
    over.erase();
    for (i, line) in lines.iter().enumerate() {
        over.text(1, i as u16, line, Role::Bad);
    }
}
