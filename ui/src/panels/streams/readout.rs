//! The span under the cursor in words, and what else its batch did.

use divisi::trace::{Span, SpanKind};

use super::{scale, signs};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::SpanReading;

/// The steps of a batch in their order.
const STEPS: [(SpanKind, &str); 5] = [
    (SpanKind::Wait, "wait"),
    (SpanKind::CopyIn, "in"),
    (SpanKind::Compute, "compute"),
    (SpanKind::CopyOut, "out"),
    (SpanKind::Send, "send"),
];

/// Narrower panels have the same in fewer words.
const ROOMY: u16 = 110;

/// Draws one line, and a second one where there is room.
pub(super) fn draw(pen: &mut Painter<'_>, model: &Model, reading: &SpanReading) {
    let span = &reading.span;
    let (sign, role) = signs::of_kind(span.kind);
    let x = pen.text(0, 0, sign, role);
    let when = format!(
        " {} {} from {:.6} s",
        span.kind.name(),
        scale::taken(span.end.saturating_sub(span.start)),
        span.start.as_secs_f64(),
    );
    let x = pen.text(x, 0, &when, Role::Strong);
    let roomy = pen.width() >= ROOMY;
    let rest = format!(
        " · {} · {}",
        place(model, span, roomy),
        contents(span, roomy)
    );
    let room = pen.width().saturating_sub(x);
    pen.text(x, 0, &format::fit(&rest, room), Role::Text);
    if pen.height() > 1 {
        steps(pen, reading);
    }
}

/// Member, device and lane.
fn place(model: &Model, span: &Span, roomy: bool) -> String {
    let member = model.snapshot.members.get(span.member);
    let device = model.snapshot.devices.get(span.device);
    format!(
        "{} × {}{}{}",
        device.map_or("?", |d| format::device_name(&d.name, true)),
        member.map_or("?", |m| m.name.as_str()),
        if roomy { " lane " } else { "·" },
        span.lane
    )
}

/// Describes the batch, samples and requests that the span worked on.
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

/// The times of all steps of its batch; those that took none have a dot.
fn steps(pen: &mut Painter<'_>, reading: &SpanReading) {
    let roomy = pen.width() >= ROOMY;
    let mut x = if roomy {
        pen.text(0, 1, "  its batch:", Role::Dim)
    } else {
        0
    };
    for (kind, name) in STEPS {
        let of_kind = reading.steps.iter().filter(|s| s.kind == kind);
        let time = of_kind.map(|s| s.end.saturating_sub(s.start)).sum();
        let text = match reading.steps.iter().any(|s| s.kind == kind) {
            true => scale::taken(time),
            false => "·".to_owned(),
        };
        let here = reading.span.kind == kind;
        let role = if here { Role::Strong } else { Role::Text };
        let (sign, colour) = signs::of_kind(kind);
        let pieces = [
            (if roomy { "  " } else { " " }, Role::Dim),
            (sign, colour),
            (" ", Role::Dim),
            (name, Role::Dim),
            (" ", Role::Dim),
            (text.as_str(), role),
        ];
        x = pen.pieces(x, 1, &pieces);
    }
}
