//! Under the ensemble's curve: a row a member, with its rate and a small curve.

use super::chart::{AXIS, Curve};
use crate::look::Dots;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::Whose;

/// Rows that the curve above keeps.
const CURVE: u16 = 9;

/// Rows for members, where all of them fit.
pub(super) fn rows(inside: &Painter<'_>, model: &Model, whose: Whose) -> u16 {
    let members = u16::try_from(model.snapshot.members.len()).unwrap_or(u16::MAX);
    let fits = inside.height() >= members.saturating_add(CURVE) && inside.width() >= 36;
    match whose {
        Whose::Ensemble if fits => members,
        _ => 0,
    }
}

/// Columns before the curve above: as many as before those of the members, so that all
/// have one time axis.
pub(super) fn left(inside: &Painter<'_>, model: &Model, rows: u16) -> u16 {
    match rows {
        0 => AXIS,
        _ => (label(inside, model) + RATE + 1).max(AXIS),
    }
}

/// Columns for rates.
const RATE: u16 = 6;

/// Columns for names.
fn label(inside: &Painter<'_>, model: &Model) -> u16 {
    let names = model.snapshot.members.iter();
    let widest = names.map(|m| format::width(&m.name)).max();
    widest.unwrap_or(0).min(inside.width() / 3)
}

/// Draws them, over the time of the curve above.
pub(super) fn draw(inside: &mut Painter<'_>, y: u16, rows: u16, above: &Curve, model: &Model) {
    let members = &model.snapshot.members;
    let label = label(inside, model);
    let all = || members.iter().flat_map(|m| &m.series).copied();
    let most = f64::from(all().fold(1.0, f32::max));
    // Members of one ensemble answer alike: what differs is near the top.
    let least = f64::from(all().fold(f32::INFINITY, f32::min)).min(most) * 0.9;
    let scale = (most - least).max(1.0);
    let columns = above.columns();
    for (row, member) in members.iter().take(usize::from(rows)).enumerate() {
        let y = y + row as u16;
        inside.text(0, y, &format::fit_name(&member.name, label), Role::Dim);
        let rate = format::short(member.samples_per_s);
        inside.text_right(label + RATE, y, &rate, Role::Text);
        let series: Vec<f64> = member.series.iter().map(|v| f64::from(*v)).collect();
        let mut dots = Dots::new(columns.len() as u16, 1);
        let shares = above.beside(&series);
        dots.curve(shares.map(|v| v.map(|v| (v - least) / scale)));
        dots.draw(inside, columns.start, y, Role::Accent);
    }
}
