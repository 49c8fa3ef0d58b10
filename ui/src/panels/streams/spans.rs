//! The signs for the steps of a batch, their legend, and the selected span in words.

use divisi_engine::serving::GraphStep;
use divisi_model::trace::{Span, SpanKind};

use super::{axis, request};
use crate::look::{EIGHTHS, Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::SpanReading;
use crate::view::timeline::CellMark;

/// Returns the sign and the role of a step.
fn step_sign(kind: SpanKind) -> (&'static str, Role) {
    match kind {
        SpanKind::Wait => ("░", Role::Wait),
        SpanKind::CopyIn | SpanKind::CopyAhead => ("▒", Role::Copy),
        SpanKind::Compute => ("█", Role::Compute),
        SpanKind::CopyOut => ("▞", Role::CopyOut),
        SpanKind::Send => ("▓", Role::Send),
    }
}

/// Every other batch is a little lower, to distinguish neighbours.
const OTHER: &str = "▇";

/// Returns the sign and the role of a cell; computing has the member's `hue`. If batches are shorter
/// than a cell, the height of its sign is the share of computing; ASCII signs have no heights.
pub(super) fn cell_sign(mark: CellMark, hue: Role, ascii: bool) -> Option<(&'static str, Role)> {
    let (sign, role) = step_sign(mark.kind?);
    match (role, mark.eighths) {
        (Role::Compute, Some(eighths)) if !ascii => Some((EIGHTHS[usize::from(eighths)], hue)),
        (Role::Compute, _) if !mark.other => Some((OTHER, hue)),
        (Role::Compute, _) => Some((sign, hue)),
        _ => Some((sign, role)),
    }
}

const LONG: [(&str, Role); 10] = [
    (" ░", Role::Wait),
    (" wait ", Role::Dim),
    (" ▒", Role::Copy),
    (" copy in ", Role::Dim),
    (" █", Role::Compute),
    (" compute ", Role::Dim),
    (" ▞", Role::CopyOut),
    (" copy out ", Role::Dim),
    (" ▓", Role::Send),
    (" send ", Role::Dim),
];

const SHORT: [(&str, Role); 10] = [
    (" ░", Role::Wait),
    (" wait", Role::Dim),
    (" ▒", Role::Copy),
    (" in", Role::Dim),
    (" █", Role::Compute),
    (" compute", Role::Dim),
    (" ▞", Role::CopyOut),
    (" out", Role::Dim),
    (" ▓", Role::Send),
    (" send ", Role::Dim),
];

/// Returns the legend for a panel of a width, and its own width.
fn legend(width: u16) -> (&'static [(&'static str, Role)], u16) {
    let legend: &[_] = if width < 120 { &SHORT } else { &LONG };
    (legend, legend.iter().map(|p| format::width(p.0)).sum())
}

/// Returns the columns left by the panel's name and the legend.
pub(super) fn note_room(width: u16) -> u16 {
    let legend = if width < 72 { 0 } else { legend(width).1 };
    width.saturating_sub(legend + 20)
}

/// Draws the legend in the frame's upper line, after a title of width `title`.
pub(super) fn draw_legend(painter: &mut Painter<'_>, title: u16) {
    let (legend, width) = legend(painter.width());
    if title + width + 3 <= painter.width() {
        painter.pieces(painter.width() - width - 3, 0, legend);
    }
}

/// The steps of a batch in their order.
const STEPS: [(SpanKind, &str); 5] = [
    (SpanKind::Wait, "wait"),
    (SpanKind::CopyIn, "in"),
    (SpanKind::Compute, "compute"),
    (SpanKind::CopyOut, "out"),
    (SpanKind::Send, "send"),
];

/// Narrower panels use shorter words.
const ROOMY: u16 = 110;

/// Draws one line, and a second one if there is room.
pub(super) fn draw_readout(painter: &mut Painter<'_>, model: &Model, reading: &SpanReading) {
    let span = &reading.span;
    let (sign, role) = step_sign(span.kind);
    let x = painter.text(0, 0, sign, role);
    let when = format!(
        " {} {} from {:.6} s",
        span.kind.name(),
        axis::taken_words(span.end.saturating_sub(span.start)),
        span.start.as_secs_f64(),
    );
    let x = painter.text(x, 0, &when, Role::Strong);
    let roomy = painter.width() >= ROOMY;
    let rest = format!(
        " · {} · {}",
        place(model, span, roomy),
        contents(span, roomy)
    );
    let room = painter.width().saturating_sub(x);
    painter.text(x, 0, &format::fit(&rest, room), Role::Text);
    if painter.height() > 1 {
        steps(painter, reading);
    }
    if painter.height() > 2 {
        request::draw(painter, 2, model, reading);
    }
}

/// Returns member, device and lane.
fn place(model: &Model, span: &Span, roomy: bool) -> String {
    let member = model.snapshot.member(span.member);
    let device = model.snapshot.device(span.device);
    format!(
        "{} × {}{}{}",
        device.map_or("?", |d| format::device_name(&d.name, true)),
        member.map_or("?", |m| m.name.as_str()),
        if roomy { " lane " } else { "·" },
        span.lane
    ) + &step_words(model, span)
}

/// Returns the name of a span's step, else of its model.
pub(super) fn work_name(model: &Model, span: &Span) -> String {
    let step = step_of(model, span).map(|step| step.name.clone());
    let member = || model.snapshot.member(span.member).map(|m| m.name.clone());
    step.or_else(member).unwrap_or_else(|| "?".to_owned())
}

fn step_of<'a>(model: &'a Model, span: &Span) -> Option<&'a GraphStep> {
    let of = span.of_step?;
    let graph = model.snapshot.graphs.get(usize::from(of.entry))?;
    graph.steps.iter().find(|step| step.number == of.step)
}

/// Returns the step of a span if its name differs from the model's.
fn step_words(model: &Model, span: &Span) -> String {
    let member = model.snapshot.member(span.member);
    let step = step_of(model, span);
    let named = step.filter(|step| member.is_none_or(|member| member.name != step.name));
    named.map_or(String::new(), |step| format!(" · step {}", step.name))
}

/// Describes the batch, the samples and the requests of a span.
fn contents(span: &Span, roomy: bool) -> String {
    let batch = span.batch.map(|b| format!("batch {b}: "));
    let batch = batch.unwrap_or_default();
    let (samples, size, request) = (span.samples, span.batch_size, span.request);
    match (roomy, span.requests.saturating_sub(1)) {
        (true, 0) => format!("{batch}{samples} of {size} samples · request {request}"),
        (true, more) => {
            format!("{batch}{samples} of {size} samples · request {request} and {more} more")
        }
        (false, more) => format!("{batch}{samples}/{size} · rq {request}+{more}"),
    }
}

/// Draws the times of all steps of its batch, with a dot for steps without time.
fn steps(painter: &mut Painter<'_>, reading: &SpanReading) {
    let roomy = painter.width() >= ROOMY;
    let mut x = if roomy {
        painter.text(0, 1, "  its batch:", Role::Dim)
    } else {
        0
    };
    for (kind, name) in STEPS {
        let of_kind = reading.steps.iter().filter(|s| s.kind == kind);
        let time = of_kind.map(|s| s.end.saturating_sub(s.start)).sum();
        let text = match reading.steps.iter().any(|s| s.kind == kind) {
            true => axis::taken_words(time),
            false => "·".to_owned(),
        };
        let here = reading.span.kind == kind;
        let role = if here { Role::Strong } else { Role::Text };
        let (sign, colour) = step_sign(kind);
        let pieces = [
            (if roomy { "  " } else { " " }, Role::Dim),
            (sign, colour),
            (" ", Role::Dim),
            (name, Role::Dim),
            (" ", Role::Dim),
            (text.as_str(), role),
        ];
        x = painter.pieces(x, 1, &pieces);
    }
}
