//! The live timeline: a row per lane, and rows for whole devices and their copies.

mod axis;
mod request;
mod rows;
mod spans;
mod view;

pub(crate) use rows::StreamRow;
pub(crate) use view::StreamsView;

use divisi_model::trace::Span;
use divisi_runtime::device::MemberIndex;

use super::body::{PanelBody, height_for};
use super::frame::framed;
use crate::layout::Panel;
use crate::look::{EIGHTHS, Painter, Role};
use crate::model::{MemberSigns, Model};
use crate::text::format;
use crate::view::RowOrder;
use crate::view::timeline::{Canvas, RowKey, RowSum};
use rows::RowPlan;

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    least_width: |_| 44,
    height: |model, all| {
        let (least, rows) = height_for(rows_needed(model) + 2, 6);
        (rows.clamp(least, (all * 2 / 5).max(least)), rows)
    },
    ..PanelBody::new(draw)
};

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let view = StreamsView::new(model, painter.width(), painter.height());
    let note = note(model, &view, spans::note_room(painter.width()));
    let mut inside = framed(painter, Panel::Streams, &note, model);
    let (timeline, shown) = (&model.timeline, &model.snapshot);
    let picture = timeline.picture(&view.plan.places, view.window, &shown.under_way, shown.now);
    let rows = view.plan.rows.iter().zip(&view.names).skip(view.first);
    let request = of_request(model, &view);
    for (y, (row, name)) in rows.take(view.room).enumerate() {
        draw_row(&mut inside, y as u16, name, row, &picture, &view);
        light_culprit(&mut inside, y as u16, row, &view, model);
        draw_request(&mut inside, y as u16, row, &request, &view);
        draw_choice(&mut inside, y as u16, row, &view, model);
    }
    draw_foot(&mut inside, &view, model);
    spans::draw_legend(painter, format::width(&note) + 16);
    axis::draw(painter, &view, model);
}

/// Returns the number of rows that show everything, for the panel's height.
fn rows_needed(model: &Model) -> usize {
    let reading = if model.streams.reading.is_some() {
        3
    } else {
        0
    };
    let typing = usize::from(model.streams.typing);
    RowPlan::new(model, usize::MAX).rows.len() + reading + typing
}

/// Returns the visible time, then further facts as far as there is room.
fn note(model: &Model, view: &StreamsView, width: u16) -> String {
    let streams = &model.streams;
    let mut note = axis::length_words(streams.length());
    let many = |n: u64| format::short(n as f64);
    let counted = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", many(n)));
    let rows = view.plan.rows.len();
    let parts = [
        streams.frozen.map(|_| "FROZEN".to_owned()),
        counted(model.lost_spans, "spans lost"),
        (streams.order != RowOrder::Device).then(|| streams.order.words().to_owned()),
        (!streams.filter.is_empty()).then(|| format!("/{}", streams.filter)),
        (rows > view.room).then(|| format!("{} of {rows} rows", view.room)),
        model.timeline.whole_since().map(|since| {
            let gone = many(model.timeline.crowded_out());
            let kept = model.snapshot.now.saturating_sub(since);
            format!(
                "last {:.0} s kept, {gone} spans dropped",
                kept.as_secs_f64()
            )
        }),
        view.plan.folded.then(|| "[ ] other device".to_owned()),
    ];
    for part in parts.into_iter().flatten() {
        if format::width(&note) + format::width(&part) + 3 <= width {
            note = format!("{note} · {part}");
        }
    }
    note
}

fn draw_row(
    inside: &mut Painter<'_>,
    y: u16,
    name: &str,
    row: &StreamRow,
    picture: &Canvas,
    view: &StreamsView,
) {
    match row.key {
        RowKey::Lane { member, .. } => {
            draw_name(inside, y, name, member);
            draw_lane(inside, y, row.at, picture, view, MemberSigns::hue(member));
        }
        RowKey::Sum { sum, .. } => {
            inside.text(0, y, name, Role::Dim);
            for x in 0..view.window.cells {
                let share = picture.share(row.at, x);
                let role = sum_role(sum, picture.leader(row.at, x));
                draw_share(inside, view.label + x as u16, y, share, role);
            }
        }
    }
}

/// Draws the name of a lane, with the member's part in its hue.
fn draw_name(inside: &mut Painter<'_>, y: u16, name: &str, member: MemberIndex) {
    let (device, rest) = name.split_once(' ').unwrap_or(("", name));
    let x = match device {
        "" => 0,
        device => inside.pieces(0, y, &[(device, Role::Text), (" ", Role::Text)]),
    };
    inside.text(x, y, rest, MemberSigns::hue(member));
}

fn draw_lane(
    inside: &mut Painter<'_>,
    y: u16,
    at: usize,
    picture: &Canvas,
    view: &StreamsView,
    hue: Role,
) {
    let ascii = inside.is_ascii();
    for x in 0..view.window.cells {
        let mark = picture.mark(at, x);
        let Some((sign, role)) = spans::cell_sign(mark, hue, ascii) else {
            continue;
        };
        let column = view.label + x as u16;
        match mark.digit {
            Some(digit) => inside.sign(column, y, digit.encode_utf8(&mut [0; 4]), Role::Strong),
            None => inside.sign(column, y, sign, role),
        }
    }
}

/// Returns the role of a sum's cell: computing has the hue of the member that computed most.
fn sum_role(sum: RowSum, leader: MemberIndex) -> Role {
    match sum {
        RowSum::Compute => MemberSigns::hue(leader),
        RowSum::ToDevice => Role::Copy,
        RowSum::FromDevice => Role::CopyOut,
    }
}

/// Dims a row that does not belong to an incident's culprit, and marks one that does.
fn light_culprit(
    inside: &mut Painter<'_>,
    y: u16,
    row: &StreamRow,
    view: &StreamsView,
    model: &Model,
) {
    let Some(culprit) = model.culprit() else {
        return;
    };
    let (device, member) = match row.key {
        RowKey::Lane { device, member, .. } => (device, Some(member)),
        RowKey::Sum { device, .. } => (device, None),
    };
    match culprit.has(device, member) {
        true => inside.restyle(0, y, view.label.saturating_sub(1), Role::Bad),
        false => {
            let width = inside.width();
            inside.restyle(0, y, width, Role::Dim);
        }
    }
}

/// Draws a bar as high as the share of the time. Copies are short but stay visible.
fn draw_share(inside: &mut Painter<'_>, x: u16, y: u16, share: f64, role: Role) {
    if share <= 0.0 {
        return;
    }
    let eighths = (share.min(1.0) * 8.0).round().max(1.0) as usize;
    inside.sign(x, y, EIGHTHS[eighths], role);
}

/// Returns the spans in all rows of the selected span's request.
fn of_request(model: &Model, view: &StreamsView) -> Vec<Span> {
    let Some(reading) = &model.streams.reading else {
        return Vec::new();
    };
    let (from, until) = (view.window.from(), view.window.until());
    let spans = model.timeline.of_request(reading.request(), from, until);
    spans.collect()
}

/// Highlights them in their lanes.
fn draw_request(
    inside: &mut Painter<'_>,
    y: u16,
    row: &StreamRow,
    request: &[Span],
    view: &StreamsView,
) {
    let lane = |span: &Span| RowKey::Lane {
        device: span.device,
        member: span.member,
        lane: span.lane,
    };
    let here = |span: &&Span| lane(span) == row.key;
    for span in request.iter().filter(here) {
        if let Some((first, last)) = cells(span, view) {
            let x = view.label + first as u16;
            inside.restyle(x, y, (last - first) as u16 + 1, Role::Accent);
        }
    }
}

/// Highlights the selected row's name and the selected span.
fn draw_choice(
    inside: &mut Painter<'_>,
    y: u16,
    row: &StreamRow,
    view: &StreamsView,
    model: &Model,
) {
    let streams = &model.streams;
    if streams.selected != Some(row.key) {
        return;
    }
    inside.restyle(0, y, view.label.saturating_sub(1), Role::Cursor);
    if let Some((first, last)) = streams.reading.as_ref().and_then(|r| cells(&r.span, view)) {
        let x = view.label + first as u16;
        inside.restyle(x, y, (last - first) as u16 + 1, Role::Cursor);
    }
}

/// Returns the first and the last cell of a span.
fn cells(span: &Span, view: &StreamsView) -> Option<(usize, usize)> {
    let window = view.window;
    if span.start >= window.until() || span.end < window.from() {
        return None;
    }
    let first = window.cell_of(span.start).unwrap_or(0);
    // A span that ends at a cell's start does not cover that cell.
    let end = span.end.saturating_sub(std::time::Duration::from_nanos(1));
    let last = window.cell_of(end.max(span.start));
    Some((first, last.unwrap_or(window.cells - 1)))
}

/// Draws the readout, and the filter while it is typed.
fn draw_foot(inside: &mut Painter<'_>, view: &StreamsView, model: &Model) {
    let typed = u16::from(model.streams.typing).min(view.foot);
    let y = inside.height().saturating_sub(view.foot);
    if let Some(reading) = &model.streams.reading {
        let width = inside.width();
        spans::draw_readout(
            &mut inside.part(0, y, width, view.foot - typed),
            model,
            reading,
        );
    }
    if typed > 0 {
        let y = inside.height().saturating_sub(1);
        let x = inside.text(0, y, "rows with / ", Role::Dim);
        let x = inside.text(x, y, &model.streams.filter, Role::Strong);
        let x = inside.text(x, y, "▏", Role::Accent);
        inside.text(
            x + 2,
            y,
            "Enter keeps the filter, Esc shows all rows",
            Role::Dim,
        );
    }
}

/// Returns the rows in the order of the screen.
pub(crate) fn keys(view: &StreamsView) -> Vec<RowKey> {
    view.plan.rows.iter().map(|row| row.key).collect()
}
