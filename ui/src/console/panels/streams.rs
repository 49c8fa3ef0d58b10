//! The live timeline: a row a worker, and a row for each device's sum.

use divisi::ensemble::BatchSize;
use divisi::trace::SpanKind;

use super::framed;
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::{Pen, bar};
use crate::console::theme::Role;
use crate::console::timeline::{Mark, Rows, Window};

/// One row of the panel.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// A worker, and its row in the raster.
    Worker {
        device: usize,
        member: usize,
        size: BatchSize,
        at: usize,
    },
    /// A whole device, and the raster rows of its workers.
    Device {
        device: usize,
        from: usize,
        to: usize,
    },
}

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let room = usize::from(pen.height().saturating_sub(2));
    let (rows, places) = rows(model, room);
    framed(pen, Panel::Streams, &note(model, rows.len(), room), model);
    let label = label_width(model, &rows, pen.width().saturating_sub(2));
    legend(pen);
    axis(pen, label + 1, model);
    let mut inside = pen.part(
        1,
        1,
        pen.width().saturating_sub(2),
        pen.height().saturating_sub(2),
    );
    let cells = usize::from(inside.width().saturating_sub(label));
    let window = window(model, cells);
    let raster = source(model).raster(&places, window);
    let first = model.streams.scroll.min(rows.len().saturating_sub(room));
    for (y, row) in rows.iter().skip(first).take(room).enumerate() {
        draw_row(&mut inside, y as u16, row, &raster, label, model);
    }
}

fn note(model: &Model, rows: usize, room: usize) -> String {
    let length = model.streams.length();
    let text = match length.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        ms => format!("{} s", ms / 1000),
    };
    let hidden = if rows > room {
        format!(" · {room} of {rows} rows")
    } else {
        String::new()
    };
    match model.streams.frozen {
        Some(_) => format!("{text} · FROZEN{hidden}"),
        None => format!("{text}{hidden}"),
    }
}

fn source(model: &Model) -> &crate::console::timeline::Timeline {
    model
        .streams
        .frozen
        .as_ref()
        .map_or(&model.timeline, |f| &f.0)
}

fn window(model: &Model, cells: usize) -> Window {
    let frozen = model.streams.frozen.as_ref();
    let end = frozen.map_or(model.snapshot.now, |f| f.1);
    Window::ending(end, model.streams.length(), cells)
}

/// The rows in the order of devices, and where the raster has each worker. Sums of
/// devices are left out where they would push workers out.
fn rows(model: &Model, room: usize) -> (Vec<Row>, Rows) {
    let devices = model.snapshot.devices.len();
    let sums = model.snapshot.matrix.workers().count() + devices <= room;
    let mut rows = Vec::new();
    let mut places = Rows::new();
    for device in 0..model.snapshot.devices.len() {
        let from = places.len();
        for (cell, size) in model
            .snapshot
            .matrix
            .workers()
            .filter(|w| w.0.device == device)
        {
            let at = places.len();
            places.insert((device, cell.member), at);
            rows.push(Row::Worker {
                device,
                member: cell.member,
                size,
                at,
            });
        }
        if sums && places.len() > from + 1 {
            rows.push(Row::Device {
                device,
                from,
                to: places.len(),
            });
        }
    }
    (rows, places)
}

fn label(model: &Model, row: &Row) -> String {
    let device = |d: usize| {
        model
            .snapshot
            .devices
            .get(d)
            .map_or("", |d| d.name.as_str())
    };
    match *row {
        Row::Device { device: d, .. } => format!("{} all", device(d)),
        Row::Worker {
            device: d,
            member,
            size,
            ..
        } => {
            let member = model
                .snapshot
                .members
                .get(member)
                .map_or("", |m| m.name.as_str());
            format!("{} {member}/{size}", device(d))
        }
    }
}

fn label_width(model: &Model, rows: &[Row], width: u16) -> u16 {
    let widest = rows.iter().map(|r| format::width(&label(model, r))).max();
    widest.unwrap_or(0).saturating_add(1).min(width / 3).min(28)
}

fn draw_row(
    inside: &mut Pen<'_>,
    y: u16,
    row: &Row,
    raster: &[Vec<Mark>],
    width: u16,
    model: &Model,
) {
    let name = format::fit_name(&label(model, row), width.saturating_sub(1));
    match *row {
        Row::Worker { at, .. } => {
            inside.text(0, y, &name, Role::Text);
            let marks = raster.get(at).map_or(&[][..], Vec::as_slice);
            for (x, mark) in marks.iter().enumerate() {
                draw_mark(inside, width + x as u16, y, *mark);
            }
        }
        Row::Device { from, to, .. } => {
            inside.text(0, y, &name, Role::Dim);
            let lanes = raster.get(from..to).unwrap_or_default();
            sum(inside, y, lanes, width);
        }
    }
}

fn draw_mark(inside: &mut Pen<'_>, x: u16, y: u16, mark: Mark) {
    let (sign, role) = match mark.kind {
        None => return,
        Some(SpanKind::Wait) => ("░", Role::Wait),
        Some(SpanKind::CopyIn | SpanKind::CopyAhead | SpanKind::CopyOut) => ("▒", Role::Copy),
        Some(SpanKind::Compute) if mark.other => ("█", Role::ComputeOther),
        Some(SpanKind::Compute) => ("█", Role::Compute),
        Some(SpanKind::Send) => ("▓", Role::Send),
    };
    match mark.digit {
        Some(digit) => inside.text(x, y, digit.encode_utf8(&mut [0; 4]), Role::Strong),
        None => inside.text(x, y, sign, role),
    };
}

/// How many of a device's workers compute at once.
fn sum(inside: &mut Pen<'_>, y: u16, lanes: &[Vec<Mark>], width: u16) {
    let cells = lanes.first().map_or(0, Vec::len);
    for x in 0..cells {
        let working = |lane: &&Vec<Mark>| lane[x].kind == Some(SpanKind::Compute);
        let count = lanes.iter().filter(working).count();
        if count > 0 {
            let share = count as f64 / lanes.len() as f64;
            inside.text(width + x as u16, y, bar(share), Role::Dim);
        }
    }
}

/// What the signs mean, in the frame's upper line where there is room.
fn legend(pen: &mut Pen<'_>) {
    if pen.width() < 72 {
        return;
    }
    let pieces = [
        (" ░", Role::Wait),
        (" wait ", Role::Dim),
        (" ▒", Role::Copy),
        (" copy ", Role::Dim),
        (" █", Role::Compute),
        (" compute ", Role::Dim),
        (" ▓", Role::Send),
        (" send ", Role::Dim),
    ];
    let width: u16 = pieces.iter().map(|p| format::width(p.0)).sum();
    pen.pieces(pen.width() - width - 3, 0, &pieces);
}

/// The time axis lies in the frame's lower line.
fn axis(pen: &mut Pen<'_>, start: u16, model: &Model) {
    let y = pen.height().saturating_sub(1);
    let width = pen.width().saturating_sub(start + 1);
    let length = model.streams.length();
    let left = format!(" −{} ", format::duration(length));
    let middle = format!(" −{} ", format::duration(length / 2));
    pen.text(start, y, &left, Role::Dim);
    if width > 40 {
        pen.text((start + width / 2).saturating_sub(1), y, &middle, Role::Dim);
    }
    let end = match &model.streams.frozen {
        Some((_, at)) => format!(" at {:.3} s ", at.as_secs_f64()),
        None => " now ".to_owned(),
    };
    pen.text_right(pen.width().saturating_sub(1), y, &end, Role::Dim);
}
