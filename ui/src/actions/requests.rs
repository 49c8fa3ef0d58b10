//! Actions on the list of recent requests.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divisi_model::allocation::Cell;
use divisi_model::trace::{Span, SpanKind};
use divisi_session::RequestRecord;

use super::streams;
use crate::dialogs;
use crate::layout::Panel;
use crate::model::Model;
use crate::panels::streams_on_screen;
use crate::view::{LitRequest, id_of};

/// The time around a request in which its spans are searched.
const AROUND: Duration = Duration::from_secs(1);

/// Handles a key while the filter is typed. Returns whether it was used.
pub(crate) fn on_key(model: &mut Model, key: &KeyEvent) -> bool {
    let list = &mut model.requests;
    if !list.typing || model.focus != Panel::Requests {
        return false;
    }
    match key.code {
        KeyCode::Esc => {
            list.filter.clear();
            list.typing = false;
        }
        KeyCode::Enter => list.typing = false,
        KeyCode::Backspace => drop(list.filter.pop()),
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
            list.filter.push(c);
        }
        _ => {}
    }
    true
}

/// Adds pasted text to the filter while it is typed. Returns whether it was used.
pub(crate) fn on_paste(model: &mut Model, line: &str) -> bool {
    let typing = model.requests.typing && model.focus == Panel::Requests;
    typing && dialogs::pasted(&mut model.requests.filter, line)
}

/// Handles `Esc`: undoes the last selection. Returns false if there was none.
pub(crate) fn back(model: &mut Model) -> bool {
    let was_lit = model
        .streams
        .reading
        .as_ref()
        .is_some_and(|r| r.lit.is_some());
    if was_lit {
        streams::go_live(model);
    }
    let was_held = model.requests.release();
    let was_filtered = !std::mem::take(&mut model.requests.filter).is_empty();
    was_lit || was_held || was_filtered
}

/// Selects the request `step` places further.
pub(super) fn choose(model: &mut Model, step: isize) {
    model.requests.choose(&model.snapshot.requests, step);
}

/// Switches to the next order.
pub(super) fn sort(model: &mut Model) {
    model.requests.sort();
    let order = model.requests.order.name();
    model.say(format!("requests: {order}"), false);
}

/// Starts typing the filter.
pub(super) fn filter(model: &mut Model) {
    model.requests.typing = true;
}

/// Lights the selected request: the streams show its spans, and the cursor of the matrix goes to the
/// worker that ended last.
pub(super) fn light(model: &mut Model) {
    let list = model.requests.rows(&model.snapshot.requests);
    let chosen = list.get(model.requests.place(&list));
    let Some(record) = chosen.map(|record| (*record).clone()) else {
        model.say("no request to light", true);
        return;
    };
    model.requests.selected = Some(id_of(&record));
    model.requests.hold(&model.snapshot.requests);
    if let Some((device, member)) = record.last.as_ref().and_then(|last| last.place) {
        model.cursor = Cell { device, member };
    }
    let lit = LitRequest {
        number: record.number,
        batches: record.batches.clone(),
    };
    match found(model, &record, &lit) {
        Some(span) => {
            show_streams(model);
            streams::light(model, span, lit, record.latency);
        }
        None => model.say("its spans are no longer kept", true),
    }
}

/// Switches to the layout with the requests and the streams if the streams are not on the screen.
fn show_streams(model: &mut Model) {
    if streams_on_screen(model).is_none() {
        model.arrangement.choose("requests");
        model.expanded = false;
        model.say("layout requests", false);
    }
}

/// Returns the computation of a request that ended last, or else its last known span.
fn found(model: &Model, record: &RequestRecord, lit: &LitRequest) -> Option<(u64, Span)> {
    let from = record.ended.saturating_sub(record.latency + AROUND);
    let spans = model.timeline.within(from, record.ended + AROUND);
    let spans = spans.filter(|(_, span)| lit.has(span));
    spans.max_by_key(|(_, span)| (span.kind == SpanKind::Compute, span.end))
}
