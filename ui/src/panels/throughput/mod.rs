//! Samples answered a second over the last moments, of the ensemble or a member, and what
//! changed meanwhile.

mod chart;

mod members;

use super::frame::headed;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::Whose;
use chart::Curve;

/// Draws the panel.
pub(super) fn draw(pen: &mut Painter<'_>, model: &Model) {
    let whose = whose(model);
    let note = format!("{} · samples/s", whose.name(&model.snapshot));
    let mut inside = headed(pen, Panel::Throughput, &note, model);
    numbers(&mut inside, model, whose);
    let rows = members::rows(&inside, model, whose);
    let legend = chart::legend_rows(inside.height().saturating_sub(rows + 6), model);
    let height = inside.height().saturating_sub(2 + rows + legend);
    let left = members::left(&inside, model, rows);
    let curve = curve(model, whose, inside.width(), left);
    if height > 0 {
        curve.draw(&mut inside, 1, height, model);
    }
    chart::legend(&mut inside, 2 + height, legend, model);
    members::draw(&mut inside, 2 + height + legend, rows, &curve, model);
}

/// Rates are counted for members, not for workers.
fn whose(model: &Model) -> Whose {
    match model.scopes.throughput.there(&model.snapshot) {
        Whose::Worker(cell) => Whose::Member(cell.member),
        whose => whose,
    }
}

fn curve(model: &Model, whose: Whose, width: u16, left: u16) -> Curve {
    let shown = &model.snapshot;
    let member = match whose {
        Whose::Member(at) => shown.members.get(at),
        _ => None,
    };
    let series = match member {
        Some(member) => member.series.iter().map(|v| f64::from(*v)).collect(),
        None => shown.throughput.series.clone(),
    };
    Curve::new(&series, shown.throughput.moment, width, left)
}

fn numbers(inside: &mut Painter<'_>, model: &Model, whose: Whose) {
    let shown = &model.snapshot;
    let rate = match whose {
        Whose::Member(at) => shown.members.get(at).map_or(0.0, |m| m.samples_per_s),
        _ => shown.throughput.samples_per_s,
    };
    let now = format::grouped(rate.max(0.0).round() as u64);
    let x = inside.pieces(
        0,
        0,
        &[
            (&format!("{now:>9}"), Role::Strong),
            (" samples/s", Role::Dim),
        ],
    );
    let requests = shown.throughput.requests_per_s.max(0.0).round() as u64;
    let requests = format!("{:>7} requests/s", format::grouped(requests));
    let end = inside.width();
    if whose == Whose::Ensemble && x + 2 + format::width(&requests) <= end {
        inside.text_right(end, 0, &requests, Role::Dim);
    }
}
