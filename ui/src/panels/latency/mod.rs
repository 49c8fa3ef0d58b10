//! The distribution of latencies on a logarithmic axis, its percentiles, and the time in each
//! stage: recently, since the last reload and before it.

mod histogram;
mod split;
mod table;

use divisi_session::{Distribution, LatencyView};

use super::body::PanelBody;
use super::frame::{finding, headed};
use super::keys;
use crate::commands::LOAD;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::Whose;
use histogram::{HistogramBars, LatencyAxis};

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody::new(draw);

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let shown = &model.snapshot;
    let whose = model.scopes.latency.there(shown);
    let mut inside = headed(painter, Panel::Latency, &note(whose, model), model);
    let answered = |view: &&LatencyView| view.since.summary.count > 0;
    let Some(view) = whose.latency(shown).filter(answered) else {
        return empty(&mut inside, model);
    };
    let (now, name) = newest(view, model);
    let before = before(model, whose);
    let mut y = table::draw(&mut inside, view, before, model);
    // The histogram keeps at least two rows.
    let room = inside.height().saturating_sub(y + 3);
    let earlier = before.map(|before| &before.split);
    y += split::draw(&mut inside, y, room, &name, &now.split, earlier);
    let height = inside.height().saturating_sub(y);
    let mut area = inside.part(0, y, u16::MAX, height);
    histograms(&mut area, model, now, &name, before);
    if let Some(largest) = split::largest(&now.split) {
        let text = format!("{largest} of the mean ({name})");
        finding(painter, &[(&text, Role::Dim)], model);
    }
}

/// Returns the distribution to draw as bars, and its name: the latest answers, else all since the
/// last reload.
fn newest<'a>(view: &'a LatencyView, model: &Model) -> (&'a Distribution, String) {
    match view.now.summary.count {
        0 => (&view.since, "since".to_owned()),
        _ => (&view.now, format::seconds(model.window())),
    }
}

fn note(whose: Whose, model: &Model) -> String {
    let to = match whose {
        Whose::Ensemble if is_open(model) => "due to answer, ms",
        Whose::Ensemble => "request to answer, ms",
        Whose::Member(_) => "to its answer, ms",
        Whose::Worker(_) => "to its batches' end, ms",
    };
    format!("{} · {to}", whose.name(&model.snapshot))
}

/// Returns whether the load is open. Latencies are then measured from the due times of requests.
fn is_open(model: &Model) -> bool {
    let load = model.snapshot.load.pattern.as_ref();
    load.is_some_and(|pattern| pattern.is_open())
}

fn empty(inside: &mut Painter<'_>, model: &Model) {
    inside.text(0, 0, "no answers yet", Role::Dim);
    keys::draw(inside, 0, 1, model, &[(&LOAD, "starts a load")]);
}

/// Returns the latencies before the last reload, which are kept for the ensemble.
fn before(model: &Model, whose: Whose) -> Option<&Distribution> {
    let before = model.snapshot.latency_before.as_ref();
    before.filter(|b| whose == Whose::Ensemble && b.summary.count > 0)
}

/// Draws one histogram, or two over one axis: side by side if there is room, else stacked.
fn histograms(
    area: &mut Painter<'_>,
    model: &Model,
    now: &Distribution,
    name: &str,
    before: Option<&Distribution>,
) {
    let (width, height) = (area.width(), area.height());
    let target = model.snapshot.target;
    let beside = before.is_some() && width >= 88 && height >= 4;
    let stacked = before.is_some() && height >= 8;
    let each = if beside { width / 2 - 1 } else { width };
    let both = before.filter(|_| beside || stacked);
    let Some(axis) = LatencyAxis::new(now, both, target, each.saturating_sub(2)) else {
        return;
    };
    let old = before.map(|view| HistogramBars {
        view,
        axis,
        target,
        name: "before",
    });
    let new = HistogramBars {
        view: now,
        axis,
        target,
        name,
    };
    match old.filter(|_| both.is_some()) {
        None => new.draw(area),
        Some(old) if beside => {
            old.draw(&mut area.part(0, 0, each, height));
            new.draw(&mut area.part(each + 2, 0, each, height));
        }
        Some(old) => {
            let half = height / 2;
            old.draw(&mut area.part(0, 0, width, half));
            new.draw(&mut area.part(0, half, width, height - half));
        }
    }
}

/// Draws one line of percentiles, for screens without the panel.
pub(crate) fn draw_line(painter: &mut Painter<'_>, model: &Model) {
    let summary = &model.snapshot.latency.now.summary;
    let pairs = [
        ("p50", summary.p50, 0.5),
        ("p90", summary.p90, 0.9),
        ("p99", summary.p99, 0.99),
    ];
    let mut x = 1;
    for (name, micros, share) in pairs {
        let (value, role) = match summary.is_enough_for(share) {
            _ if summary.count == 0 => ("–".to_owned(), Role::Dim),
            true => (format::millis(micros), Role::Strong),
            false => (format!("~{}", format::millis(micros)), Role::Dim),
        };
        let value = format!(" {value:<5}");
        x = painter.pieces(x, 0, &[(name, Role::Dim), (&value, role)]);
    }
    painter.text(
        x,
        0,
        &format!("ms in {}", format::seconds(model.window())),
        Role::Dim,
    );
}
