//! Network clients: the addresses, the connections, the callers with their rates, the errors of the
//! last minute by reason, and the last errors.

mod addresses;
mod errors;
mod last;

use divisi_session::DoorView;

use super::body::{PanelBody, PanelNews, height_for};
use super::callers::CallerRows;
use super::frame::headed;
use super::keys;
use crate::commands::LISTEN;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The width from which callers and errors are side by side.
const WIDE: u16 = 110;

/// The rows above the tables besides the addresses: connections, and a gap.
const ABOVE: u16 = 2;

/// The rows below the addresses from which there is a gap, and errors get up to half of the rest.
const ROOMY: u16 = 10;

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    height: |model, _| height_for(rows_needed(model), 10),
    scroll_end: |model, _, _| callers_count(model).saturating_sub(1),
    news,
    ..PanelBody::new(draw)
};

/// Returns the number of callers.
fn news(model: &Model) -> PanelNews {
    let door = model.snapshot.door.as_ref();
    match door.filter(|door| door.is_open()) {
        None => PanelNews::quiet("not listening"),
        Some(_) => match callers_count(model) {
            0 => PanelNews::quiet("none"),
            callers => PanelNews::open(callers.to_string()),
        },
    }
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let door = model.snapshot.door.as_ref();
    let note = door.map_or(String::new(), note);
    let mut inside = headed(painter, Panel::Clients, &note, model);
    let Some(door) = door else {
        inside.text(1, 0, "this session cannot listen to clients", Role::Dim);
        return;
    };
    if !door.is_open() {
        return shut(&mut inside, model);
    }
    let listens = addresses::draw(&mut inside, door);
    connections(&mut inside, listens, door);
    let is_roomy = inside.height().saturating_sub(listens) >= ROOMY;
    let above = listens + if is_roomy { ABOVE } else { 1 };
    let (width, room) = (inside.width(), inside.height().saturating_sub(above));
    let errors = &model.snapshot.errors;
    let last = if is_roomy {
        last::rows(errors, room / 2)
    } else {
        0
    };
    let height = room - last;
    last::draw(&mut inside.part(0, above + height, width, last), errors);
    if width >= WIDE {
        let half = width / 2;
        callers(&mut inside.part(0, above, half - 2, height), door, model);
        let mut right = inside.part(half, above, width - half, height);
        errors::draw(&mut right, door, errors);
        return;
    }
    let spare = match is_roomy {
        true => height / 2,
        false => height.saturating_sub(caller_rows(door)),
    };
    let below = match errors::rows_needed(errors).min(spare) {
        0 | 1 => 0,
        rows => rows,
    };
    callers(
        &mut inside.part(0, above, width, height - below),
        door,
        model,
    );
    let mut lower = inside.part(0, above + height - below, width, below);
    errors::draw(&mut lower, door, errors);
}

fn callers(inside: &mut Painter<'_>, door: &DoorView, model: &Model) {
    all_callers(door).draw(inside, "caller", model.scrolled(Panel::Clients));
}

fn all_callers(door: &DoorView) -> CallerRows<'_> {
    CallerRows {
        callers: &door.callers,
        others: door.other_callers.as_ref(),
        window: door.window,
        rate_window: door.rate_window,
    }
}

/// Returns the number of rows for all callers, or for a line without callers, with the heading.
fn caller_rows(door: &DoorView) -> u16 {
    let rows = all_callers(door).needed().max(2);
    u16::try_from(rows).unwrap_or(u16::MAX)
}

/// Returns the number of callers to scroll through.
fn callers_count(model: &Model) -> usize {
    let door = model.snapshot.door.as_ref();
    door.map_or(0, |door| door.callers.len())
}

/// Returns the number of rows that show everything.
fn rows_needed(model: &Model) -> usize {
    let errors = &model.snapshot.errors;
    let kinds = usize::from(errors::rows_needed(errors));
    callers_count(model) + kinds + errors.last.len() + usize::from(ABOVE) + 4
}

fn note(door: &DoorView) -> String {
    let open = door.http_connections + door.grpc_connections;
    match door.is_open() {
        true => format!("{open} connected"),
        false => "not listening".into(),
    }
}

/// Draws how to start listening.
fn shut(inside: &mut Painter<'_>, model: &Model) {
    let x = inside.text(1, 0, "not accepting connections   ", Role::Dim);
    keys::draw(inside, x, 0, model, &[(&LISTEN, "starts listening")]);
}

fn connections(inside: &mut Painter<'_>, y: u16, door: &DoorView) {
    let count = |open: usize| format::grouped(open as u64);
    let (http, grpc) = (count(door.http_connections), count(door.grpc_connections));
    let most = count(door.connection_limit);
    let open = format!("connected  {http} HTTP  {grpc} gRPC");
    let room = inside.width().saturating_sub(1 + format::width(&open));
    let most = [format!(", at most {most} each"), format!(", ≤ {most} each")];
    let most = most.into_iter().find(|words| format::width(words) <= room);
    let most = most.unwrap_or_default();
    let pieces = [
        ("connected  ", Role::Dim),
        (&*http, Role::Strong),
        (" HTTP  ", Role::Text),
        (&*grpc, Role::Strong),
        (" gRPC", Role::Text),
        (&*most, Role::Dim),
    ];
    inside.pieces(1, y, &pieces);
}
