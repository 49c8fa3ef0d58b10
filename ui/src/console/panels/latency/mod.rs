//! The distribution of latencies on a logarithmic axis, its percentiles, and where the
//! time went; now, and before the last reload.

mod histogram;
mod marks;
mod split;
mod table;

use divisi::session::LatencyView;

use super::{headed, keys};
use crate::console::commands::Id;
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::Pen;
use crate::console::scope::Whose;
use crate::console::theme::Role;
use histogram::{Axis, Bars};

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let shown = &model.snapshot;
    let whose = model.scopes.latency.there(shown);
    let mut inside = headed(pen, Panel::Latency, &note(whose, model), model);
    let Some(now) = whose.latency(shown).filter(|l| l.summary.count > 0) else {
        return empty(&mut inside, model);
    };
    let before = before(model, whose);
    let mut y = table::draw(&mut inside, now, before, shown.target);
    // Two rows at least are the histogram's.
    let room = inside.height().saturating_sub(y + 3);
    y += split::draw(&mut inside, y, room, &now.split, before.map(|b| &b.split));
    let height = inside.height().saturating_sub(y);
    histograms(&mut inside.part(0, y, u16::MAX, height), model, now, before);
}

fn note(whose: Whose, model: &Model) -> String {
    let to = match whose {
        Whose::Ensemble => "request to answer, ms",
        Whose::Member(_) => "to its answer, ms",
        Whose::Worker(_) => "to its batches' end, ms",
    };
    format!("{} · {to}", whose.name(&model.snapshot))
}

fn empty(inside: &mut Pen<'_>, model: &Model) {
    inside.text(0, 0, "no answers yet", Role::Dim);
    keys::draw(inside, 0, 1, model, &[(Id::Load, "starts a load")]);
}

/// Latencies before the last reload; they are kept for the ensemble.
fn before(model: &Model, whose: Whose) -> Option<&LatencyView> {
    let before = model.snapshot.latency_before.as_ref();
    before.filter(|b| whose == Whose::Ensemble && b.summary.count > 0)
}

/// One histogram, or two over one axis: side by side where there is room, else stacked.
fn histograms(area: &mut Pen<'_>, model: &Model, now: &LatencyView, before: Option<&LatencyView>) {
    let (width, height) = (area.width(), area.height());
    let target = model.snapshot.target;
    let beside = before.is_some() && width >= 88 && height >= 4;
    let stacked = before.is_some() && height >= 8;
    let each = if beside { width / 2 - 1 } else { width };
    let both = before.filter(|_| beside || stacked);
    let Some(axis) = Axis::new(now, both, target, each.saturating_sub(2)) else {
        return;
    };
    let bars = |view, name| Bars {
        view,
        axis,
        target,
        name,
    };
    match both {
        None => bars(now, "").draw(area),
        Some(was) if beside => {
            bars(was, "before").draw(&mut area.part(0, 0, each, height));
            bars(now, "now").draw(&mut area.part(each + 2, 0, each, height));
        }
        Some(was) => {
            let half = height / 2;
            bars(was, "before").draw(&mut area.part(0, 0, width, half));
            bars(now, "now").draw(&mut area.part(0, half, width, height - half));
        }
    }
}

/// One line of percentiles, for screens without the panel.
pub fn draw_line(pen: &mut Pen<'_>, model: &Model) {
    let summary = &model.snapshot.latency.summary;
    let pairs = [
        ("p50", summary.p50),
        ("p90", summary.p90),
        ("p99", summary.p99),
    ];
    let mut x = 1;
    for (name, micros) in pairs {
        let value = format!(" {:<5}", format::millis(micros));
        x = pen.pieces(x, 0, &[(name, Role::Dim), (&value, Role::Strong)]);
    }
    let last = format!("p99.9 {} ms", format::millis(summary.p999));
    if x + format::width(&last) <= pen.width() {
        pen.pieces(x, 0, &[(&last, Role::Dim)]);
    } else {
        pen.text(x, 0, "ms", Role::Dim);
    }
}
