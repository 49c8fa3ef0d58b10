//! Navigation in the streams: time, rows and spans.

use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use divisi_model::trace::{Span, SpanKind, TraceNames, chrome};
use ratatui::layout::Rect;

use super::follow_up::FollowUp;
use crate::dialogs::{self, Confirm, ConfirmedAction, Dialog};
use crate::layout::Panel;
use crate::model::{Effect, Model};
use crate::panels::{StreamRow, StreamsView, stream_keys, streams_on_screen};
use crate::text::format;
use crate::view::timeline::{RowKey, TimelineRows};
use crate::view::{LitRequest, SpanReading, ZOOMS};

/// Handles a key while the filter is typed. Returns whether it was used.
pub(crate) fn on_key(model: &mut Model, key: &KeyEvent) -> bool {
    let streams = &mut model.streams;
    if !streams.typing || model.focus != Panel::Streams {
        return false;
    }
    match key.code {
        KeyCode::Esc => {
            streams.filter.clear();
            streams.typing = false;
        }
        KeyCode::Enter => streams.typing = false,
        KeyCode::Backspace => drop(streams.filter.pop()),
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
            streams.filter.push(c);
        }
        _ => {}
    }
    streams.scroll = 0;
    true
}

/// Adds pasted text to the row filter while it is typed. Returns whether it was used.
pub(crate) fn on_paste(model: &mut Model, line: &str) -> bool {
    let typing = model.streams.typing && model.focus == Panel::Streams;
    typing && dialogs::pasted(&mut model.streams.filter, line)
}

/// Handles `Esc`: undoes the last selection. Returns false if there was none.
pub(crate) fn back(model: &mut Model) -> bool {
    let streams = &mut model.streams;
    if streams.reading.is_some() {
        // The next press resumes the picture.
        streams.reading = None;
    } else if !streams.filter.is_empty() {
        streams.filter.clear();
    } else {
        return false;
    }
    true
}

/// Freezes or resumes the picture.
pub(crate) fn freeze(model: &mut Model) {
    match model.streams.frozen {
        Some(_) => go_live(model),
        None => model.streams.frozen = Some(model.snapshot.now),
    }
}

/// Lets the picture follow the current time.
pub(crate) fn go_live(model: &mut Model) {
    model.streams.frozen = None;
    model.streams.reading = None;
}

/// Shows more or less time. A frozen picture keeps the moment at the pointer or the cursor, else
/// its middle.
pub(crate) fn zoom(model: &mut Model, by: isize, pointed: Option<Duration>) {
    let before = model.streams.length();
    let zoom = model.streams.zoom.saturating_add_signed(by);
    model.streams.zoom = zoom.min(ZOOMS.len() - 1);
    let (Some(end), after) = (model.streams.frozen, model.streams.length()) else {
        return;
    };
    let anchor = pointed.or_else(|| read_at(model, end, before));
    let anchor = anchor.unwrap_or(end.saturating_sub(before / 2));
    let right = end.saturating_sub(anchor).as_secs_f64() / before.as_secs_f64();
    hold(model, anchor + after.mul_f64(right));
}

/// Returns the middle of the visible part of the selected span.
fn read_at(model: &Model, end: Duration, length: Duration) -> Option<Duration> {
    let span = &model.streams.reading.as_ref()?.span;
    let (from, until) = (
        span.start.max(end.saturating_sub(length)),
        span.end.min(end),
    );
    (from <= until).then(|| from + (until - from) / 2)
}

/// Freezes the picture with its right edge at an existing moment.
fn hold(model: &mut Model, end: Duration) {
    let earliest = model.timeline.earliest().unwrap_or_default();
    let least = (earliest + model.streams.length()).min(model.snapshot.now);
    model.streams.frozen = Some(end.clamp(least, model.snapshot.now));
}

/// Moves by a number of pictures, forward or backward. Moving backward freezes the picture.
pub(crate) fn pan(model: &mut Model, pictures: f64) {
    let step = model.streams.length().mul_f64(pictures.abs());
    let end = match (model.streams.frozen, pictures < 0.0) {
        (None, false) => return,
        (None, true) => model.snapshot.now.saturating_sub(step),
        (Some(at), true) => at.saturating_sub(step),
        (Some(at), false) => at + step,
    };
    hold(model, end);
}

/// Shows the oldest recorded spans.
pub(crate) fn oldest(model: &mut Model) {
    hold(model, Duration::ZERO);
}

/// Starts typing the row filter.
pub(crate) fn filter(model: &mut Model) {
    model.streams.typing = true;
}

/// Switches to the next row order.
pub(crate) fn sort(model: &mut Model) {
    model.streams.order = model.streams.order.next();
    model.streams.scroll = 0;
    model.say(format!("rows {}", model.streams.order.words()), false);
}

/// Selects the next or the previous row and reads out its span at that time.
pub(crate) fn choose(model: &mut Model, step: isize) {
    let Some((_, view)) = streams_on_screen(model) else {
        return;
    };
    let rows = stream_keys(&view);
    let first = view.first.min(rows.len().saturating_sub(1));
    let at = match (view.selected(model), step < 0) {
        (Some(at), _) => moved(at, step, rows.len()),
        (None, false) => first,
        (None, true) => (first + view.room).min(rows.len()).saturating_sub(1),
    };
    model.streams.selected = rows.get(at).copied();
    show_row(model, &view, at);
    if let (Some(reading), Some(row)) = (&model.streams.reading, view.plan.rows.get(at)) {
        let before = reading.span.start + Duration::from_nanos(1);
        let found = last_before(model, &view.plan.places, row, before);
        read(model, found);
    }
}

fn show_row(model: &mut Model, view: &StreamsView, at: usize) {
    let least = (at + 1).saturating_sub(view.room);
    model.streams.scroll = view.first.clamp(least, at.max(least));
}

/// Reads out the next or the previous span in the selected row.
pub(crate) fn step(model: &mut Model, on: bool) {
    let Some((_, view)) = streams_on_screen(model) else {
        return;
    };
    let at = view.selected(model).unwrap_or(view.first);
    let Some(row) = view.plan.rows.get(at) else {
        return;
    };
    model.streams.selected = Some(row.key);
    show_row(model, &view, at);
    let shows = |span: &Span| shows(&view.plan.places, row, span);
    let found = match &model.streams.reading {
        Some(reading) if on => model.timeline.next(reading.number, shows),
        Some(reading) => model.timeline.previous(reading.number, shows),
        None => {
            let end = model.streams.end(model.snapshot.now);
            last_before(model, &view.plan.places, row, end)
        }
    };
    if found.is_none() && model.streams.reading.is_none() {
        model.say("no spans in this row yet", false);
    }
    read(model, found);
}

fn shows(places: &TimelineRows, row: &StreamRow, span: &Span) -> bool {
    let at = match row.key {
        RowKey::Lane { .. } => places.lane_of(span),
        RowKey::Sum { .. } => places.sum_of(span),
    };
    at == Some(row.at)
}

fn last_before(
    model: &Model,
    places: &TimelineRows,
    row: &StreamRow,
    before: Duration,
) -> Option<(u64, Span)> {
    let wanted = |span: &Span| span.start < before && shows(places, row, span);
    model.timeline.previous(u64::MAX, wanted)
}

/// Reads out a span and moves the picture so that it is visible.
fn read(model: &mut Model, found: Option<(u64, Span)>) {
    let Some((number, span)) = found else {
        return;
    };
    let steps = model.timeline.batch_of(number, &span);
    model.streams.reading = Some(SpanReading {
        number,
        span,
        steps,
        lit: None,
    });
    let (length, end) = (
        model.streams.length(),
        model.streams.end(model.snapshot.now),
    );
    let shown = span.start < end && span.end > end.saturating_sub(length);
    match shown {
        true => model.streams.frozen = Some(end),
        false => hold(
            model,
            span.start + (span.end - span.start).min(length) / 2 + length / 2,
        ),
    }
}

/// Lights a request at one of its spans: selects the span's row, and shows about the time of the
/// request, `took`, before the span's end.
pub(super) fn light(
    model: &mut Model,
    (number, span): (u64, Span),
    request: LitRequest,
    took: Duration,
) {
    let enough = took.mul_f64(1.5).as_micros();
    let zoom = ZOOMS
        .iter()
        .position(|micros| u128::from(*micros) >= enough);
    model.streams.zoom = zoom.unwrap_or(ZOOMS.len() - 1);
    model.streams.selected = Some(RowKey::Lane {
        device: span.device,
        member: span.member,
        lane: span.lane,
    });
    model.streams.reading = Some(SpanReading {
        number,
        span,
        steps: model.timeline.batch_of(number, &span),
        lit: Some(request),
    });
    hold(model, span.end + model.streams.length().mul_f64(0.1));
}

/// Handles the mouse over the panel. Returns whether the event was used.
pub(crate) fn on_mouse(model: &mut Model, place: Rect, mouse: &MouseEvent) -> bool {
    let Some((_, view)) = streams_on_screen(model) else {
        return false;
    };
    let (x, y) = (mouse.column - place.x, mouse.row - place.y);
    let keys = KeyModifiers::CONTROL | KeyModifiers::SHIFT;
    let zooms = mouse.modifiers.intersects(keys) || y + 1 == place.height;
    let pointed = view.cell_at(x).map(|c| view.window.start_of(c));
    match mouse.kind {
        MouseEventKind::ScrollUp if zooms => zoom(model, -1, pointed),
        MouseEventKind::ScrollDown if zooms => zoom(model, 1, pointed),
        MouseEventKind::ScrollUp => scroll(model, &view, -1),
        MouseEventKind::ScrollDown => scroll(model, &view, 1),
        MouseEventKind::Down(MouseButton::Left) => click(model, &view, x, y),
        _ => return false,
    }
    true
}

fn scroll(model: &mut Model, view: &StreamsView, step: isize) {
    model.streams.scroll = moved(model.streams.scroll, step, view.plan.rows.len());
}

fn click(model: &mut Model, view: &StreamsView, x: u16, y: u16) {
    let Some(row) = view.row_at(y) else {
        return;
    };
    model.streams.selected = Some(row.key);
    let Some(cell) = view.cell_at(x) else {
        return;
    };
    let (from, until) = (view.window.start_of(cell), view.window.start_of(cell + 1));
    let here = model.timeline.within(from, until);
    let here = here.filter(|(_, s)| shows(&view.plan.places, row, s));
    let found = here.max_by_key(|(_, s)| weight(s, from, until));
    read(model, found);
}

/// Orders spans by work before waiting, then by their share of the time.
fn weight(span: &Span, from: Duration, until: Duration) -> (bool, Duration) {
    let part = span.end.min(until).saturating_sub(span.start.max(from));
    (span.kind != SpanKind::Wait && !part.is_zero(), part)
}

/// The typical size of a span in a trace file, in bytes: two lines of JSON.
const SPAN_BYTES: u64 = 190;
/// A larger file is written only after a question.
const LARGE: u64 = 4 << 20;

/// Exports spans to a file for trace viewers: the visible ones if the picture is frozen, else all
/// recorded ones. Asks first if the file would be large.
pub(crate) fn export(model: &mut Model) -> FollowUp {
    let (from, until) = exported(model);
    let count = model.timeline.within(from, until).count() as u64;
    if count == 0 {
        model.say("no span to export: start a load with l", true);
        return FollowUp::default();
    }
    let bytes = count * SPAN_BYTES;
    if bytes <= LARGE {
        return trace_file(model).into();
    }
    let text = format!(
        "Write {} spans, about {}, to {}? After f (freeze) only the visible spans are written.",
        format::grouped(count),
        format::bytes(bytes),
        trace_path(model).display()
    );
    let action = ConfirmedAction::ExportTrace;
    Dialog::Confirm(Confirm::new("export the timeline", text, action)).into()
}

/// Returns the times of the exported spans.
fn exported(model: &Model) -> (Duration, Duration) {
    match model.streams.frozen {
        Some(end) => (end.saturating_sub(model.streams.length()), end),
        None => (Duration::ZERO, Duration::MAX),
    }
}

/// Returns the file of a trace, named after the ensemble and the time of the last span.
fn trace_path(model: &Model) -> PathBuf {
    let (ensemble, now) = (&model.snapshot.ensemble, model.snapshot.now);
    let end = exported(model).1.min(now).as_secs();
    PathBuf::from(format!("{ensemble}-trace-{end}s.json"))
}

/// Returns the effect that writes the spans.
pub(crate) fn trace_file(model: &Model) -> Effect {
    let (from, until) = exported(model);
    let spans = model.timeline.within(from, until);
    let devices = model.snapshot.devices.iter();
    let members = model.snapshot.members.iter();
    let names = TraceNames {
        devices: devices.map(|d| d.name.as_str()).collect(),
        members: members.map(|m| m.name.as_str()).collect(),
    };
    Effect::Write {
        path: trace_path(model),
        bytes: chrome(spans.map(|(_, span)| span), &names),
        replace: false,
    }
}

/// Returns the place `step` further among `count` places.
pub(super) fn moved(at: usize, step: isize, count: usize) -> usize {
    at.saturating_add_signed(step).min(count.saturating_sub(1))
}
