//! The slowest, the failed or the newest of the kept requests, and the critical path of the selected
//! one in words.

mod parts;
mod rows;

use std::time::Duration;

use divisi_session::RequestRecord;

use super::body::{PanelBody, PanelNews, height_for};
use super::frame::headed;
use super::keys;
use crate::commands::{FILTER_REQUESTS, LIGHT_REQUEST, SORT_REQUESTS};
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::RequestOrder;
use rows::RequestColumns;

/// The rows of the panel from which the selected request is described.
const ROOMY: u16 = 6;

/// The most rows of the description.
const MOST_DETAILS: usize = 4;

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    least_width: |_| 44,
    height: |model, _| height_for(listed(model).len() + MOST_DETAILS + 3, 8),
    news,
    ..PanelBody::new(draw)
};

/// Returns the slowest request of the last minute.
fn news(model: &Model) -> PanelNews {
    let slowest = model.snapshot.requests.slowest.iter();
    let slowest = slowest.map(|request| request.latency).max();
    match slowest {
        Some(latency) => PanelNews::open(format!("slowest {}", format::duration(latency))),
        None => PanelNews::quiet("none"),
    }
}

/// Returns the listed requests.
fn listed(model: &Model) -> Vec<&RequestRecord> {
    model.requests.rows(&model.snapshot.requests)
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let list = listed(model);
    let note = note(model, list.len());
    let mut inside = headed(painter, Panel::Requests, &note, model);
    let foot = draw_foot(&mut inside, model, &list);
    let (width, height) = (inside.width(), inside.height().saturating_sub(foot));
    let mut upper = inside.part(0, 0, width, height);
    if list.is_empty() {
        upper.text(1, 0, &nothing(model), Role::Dim);
        return;
    }
    draw_list(&mut upper, model, &list);
}

fn note(model: &Model, count: usize) -> String {
    let requests = &model.requests;
    let order = match requests.order {
        RequestOrder::Slowest => "slowest of the last minute",
        RequestOrder::Failed => "failed, newest first",
        RequestOrder::Newest => "newest of those kept",
    };
    let mut note = format!("{count} {order}");
    if !requests.filter.is_empty() && !requests.typing {
        note += &format!(" · /{}", requests.filter);
    }
    if requests.is_held() {
        note += " · HELD";
    }
    note
}

fn nothing(model: &Model) -> String {
    let requests = &model.requests;
    match (requests.filter.is_empty(), requests.order) {
        (false, _) => format!("no kept request contains `{}`", requests.filter),
        (true, RequestOrder::Failed) => "no request failed".to_owned(),
        (true, _) => "no requests in the last minute".to_owned(),
    }
}

fn draw_list(inside: &mut Painter<'_>, model: &Model, list: &[&RequestRecord]) {
    let order = model.requests.order;
    let mut columns = RequestColumns::new(inside.width(), order);
    columns.head(inside, order);
    let room = usize::from(inside.height().saturating_sub(1));
    let chosen = model.requests.place(list);
    let first = (chosen + 1).saturating_sub(room);
    let slowest = list.iter().map(|record| record.whole()).max();
    let whole = slowest.unwrap_or(Duration::ZERO);
    for (row, (at, record)) in list.iter().enumerate().skip(first).take(room).enumerate() {
        let y = row as u16 + 1;
        columns.row(inside, y, record, whole, model);
        if at == chosen && model.focus == Panel::Requests {
            inside.text(0, y, "▸", Role::Accent);
            inside.restyle(1, y, inside.width().saturating_sub(1), Role::Cursor);
        }
    }
}

/// Draws the description of the selected request and the filter while it is typed, and returns the
/// number of rows used.
fn draw_foot(inside: &mut Painter<'_>, model: &Model, list: &[&RequestRecord]) -> u16 {
    let bottom = inside.height();
    if model.requests.typing {
        draw_typed(inside, bottom.saturating_sub(1), model);
        return 1;
    }
    let record = list.get(model.requests.place(list));
    let Some(record) = record.filter(|_| bottom >= ROOMY) else {
        return 0;
    };
    let lines = details(model, record, inside.width());
    let rows = lines.len() as u16 + 1;
    let y = bottom.saturating_sub(rows);
    for (line, (text, role)) in lines.iter().enumerate() {
        inside.text(1, y + line as u16, text, *role);
    }
    let hints = [
        (&LIGHT_REQUEST, "light it in the streams"),
        (&SORT_REQUESTS, "order"),
        (&FILTER_REQUESTS, "filter"),
    ];
    keys::draw(inside, 1, bottom.saturating_sub(1), model, &hints);
    rows
}

fn draw_typed(inside: &mut Painter<'_>, y: u16, model: &Model) {
    let x = inside.text(0, y, "requests with / ", Role::Dim);
    let x = inside.text(x, y, &model.requests.filter, Role::Strong);
    let x = inside.text(x, y, "▏", Role::Accent);
    let hint = "a number, an id or a client; Enter keeps it, Esc shows all";
    inside.text(x + 2, y, hint, Role::Dim);
}

/// Returns the description of a request in lines.
fn details(model: &Model, record: &RequestRecord, width: u16) -> Vec<(String, Role)> {
    let width = width.saturating_sub(2);
    let head = format::fit(&head(model, record), width);
    let (text, role) = match &record.failure {
        Some(why) => (format!("failed: {why}"), Role::Bad),
        None => (parts::path_words(model, record), Role::Text),
    };
    let mut lines = vec![(head, Role::Dim)];
    let wrapped = format::wrap(&text, width).into_iter();
    lines.extend(wrapped.map(|line| (line, role)));
    lines.truncate(MOST_DETAILS);
    lines
}

fn head(model: &Model, record: &RequestRecord) -> String {
    let clock = model.clock.at(&model.snapshot, record.ended);
    let clock = clock.map_or(String::new(), |clock| format!(" at {clock}"));
    let ago = model.snapshot.now.saturating_sub(record.ended);
    let samples = if record.samples == 1 {
        "sample"
    } else {
        "samples"
    };
    format!(
        "#{} of {}, {} version {}, {} {samples}, ended{clock}, {} ago, {} ms",
        record.number,
        rows::client(record),
        record.model.name,
        record.model.version,
        format::grouped(record.samples as u64),
        format::seconds(ago),
        parts::ms(record.whole()),
    )
}
