//! The live timeline: a row a lane, and rows for whole devices and their copies.

mod rows;

use divisi::trace::SpanKind;

use super::framed;
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::{EIGHTHS, Pen};
use crate::console::theme::Role;
use crate::console::timeline::{Mark, Raster, Sum, Timeline, Window};
use rows::{Plan, Row};

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let room = usize::from(pen.height().saturating_sub(2));
    let plan = Plan::new(model, room);
    let note = note(model, &plan, room, note_room(pen.width()));
    let mut inside = framed(pen, Panel::Streams, &note, model);
    let (label, short) = labels(model, &plan, inside.width());
    let cells = usize::from(inside.width().saturating_sub(label));
    let raster = source(model).raster(&plan.places, window(model, cells));
    let first = first_row(model, plan.rows.len(), room);
    for (y, row) in plan.rows.iter().skip(first).take(room).enumerate() {
        let name = rows::label(model, row, short);
        let name = format::fit_name(&name, label.saturating_sub(1));
        draw_row(&mut inside, y as u16, &name, row, &raster, label);
    }
    legend(pen, format::width(&note) + 16);
    axis(pen, label + 1, model);
}

/// The rows that show everything, for the panel's height.
pub fn rows_needed(model: &Model) -> usize {
    Plan::new(model, usize::MAX).rows.len()
}

fn first_row(model: &Model, rows: usize, room: usize) -> usize {
    model.streams.scroll.min(rows.saturating_sub(room))
}

/// Beside the panel's name and the legend, where there is room for one.
fn note_room(width: u16) -> u16 {
    let legend = if width < 72 { 0 } else { legend_width() };
    width.saturating_sub(legend + 20)
}

/// How much time, then what else there is room to say.
fn note(model: &Model, plan: &Plan, room: usize, width: u16) -> String {
    let length = model.streams.length();
    let mut note = match length.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        ms => format!("{} s", ms / 1000),
    };
    let frozen = model.streams.frozen.as_ref().map(|_| "FROZEN".to_owned());
    let rows = plan.rows.len();
    let hidden = (rows > room).then(|| format!("{room} of {rows} rows"));
    let crowded = Some(source(model).crowded_out()).filter(|n| *n > 0);
    let crowded = crowded.map(|n| format!("{} spans dropped", format::short(n as f64)));
    let folded = plan.folded.then(|| "[ ] other device".to_owned());
    for part in [frozen, crowded, hidden, folded].into_iter().flatten() {
        if format::width(&note) + format::width(&part) + 3 <= width {
            note = format!("{note} · {part}");
        }
    }
    note
}

fn source(model: &Model) -> &Timeline {
    let frozen = model.streams.frozen.as_ref();
    frozen.map_or(&model.timeline, |f| &f.0)
}

fn window(model: &Model, cells: usize) -> Window {
    let frozen = model.streams.frozen.as_ref();
    let end = frozen.map_or(model.snapshot.now, |f| f.1);
    Window::ending(end, model.streams.length(), cells)
}

/// Columns of labels, and whether names of devices are short in them.
fn labels(model: &Model, plan: &Plan, width: u16) -> (u16, bool) {
    let most = (width / 3).min(28);
    let widest = |short| {
        let rows = plan.rows.iter();
        let widths = rows.map(|r| format::width(&rows::label(model, r, short)));
        widths.max().unwrap_or(0).saturating_add(1)
    };
    let long = widest(false);
    match long <= width / 6 {
        true => (long, false),
        false => (widest(true).min(most), true),
    }
}

fn draw_row(inside: &mut Pen<'_>, y: u16, name: &str, row: &Row, raster: &Raster, width: u16) {
    match *row {
        Row::Lane { at, .. } => {
            inside.text(0, y, name, Role::Text);
            for (x, mark) in raster.lanes.get(at).into_iter().flatten().enumerate() {
                draw_mark(inside, width + x as u16, y, *mark);
            }
        }
        Row::Sum { at, sum, .. } => {
            inside.text(0, y, name, Role::Dim);
            for (x, share) in raster.sums.get(at).into_iter().flatten().enumerate() {
                draw_share(inside, width + x as u16, y, *share, sum);
            }
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

/// As high as the share of the time; copies are short, and show all the same.
fn draw_share(inside: &mut Pen<'_>, x: u16, y: u16, share: f64, sum: Sum) {
    if share <= 0.0 {
        return;
    }
    let role = match sum {
        Sum::Compute => Role::Dim,
        Sum::ToDevice | Sum::FromDevice => Role::Copy,
    };
    let eighths = (share.min(1.0) * 8.0).round().max(1.0) as usize;
    inside.text(x, y, EIGHTHS[eighths], role);
}

/// What the signs mean.
const LEGEND: [(&str, Role); 8] = [
    (" ░", Role::Wait),
    (" wait ", Role::Dim),
    (" ▒", Role::Copy),
    (" copy ", Role::Dim),
    (" █", Role::Compute),
    (" compute ", Role::Dim),
    (" ▓", Role::Send),
    (" send ", Role::Dim),
];

fn legend_width() -> u16 {
    LEGEND.iter().map(|p| format::width(p.0)).sum()
}

/// In the frame's upper line, beside a title of width `title`.
fn legend(pen: &mut Pen<'_>, title: u16) {
    let width = legend_width();
    if title + width + 3 <= pen.width() {
        pen.pieces(pen.width() - width - 3, 0, &LEGEND);
    }
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
