//! Under the ensemble's curve: a row a member, with its rate and a small curve.

use crate::console::format;
use crate::console::model::Model;
use crate::console::pen::{Pen, bar};
use crate::console::scope::Whose;
use crate::console::theme::Role;

/// Rows that the curve above keeps.
const CURVE: u16 = 9;

/// Rows for members, where all of them fit.
pub fn rows(inside: &Pen<'_>, model: &Model, whose: Whose) -> u16 {
    let members = u16::try_from(model.snapshot.members.len()).unwrap_or(u16::MAX);
    let fits = inside.height() >= members.saturating_add(CURVE) && inside.width() >= 36;
    match whose {
        Whose::Ensemble if fits => members,
        _ => 0,
    }
}

/// Draws them.
pub fn draw(inside: &mut Pen<'_>, y: u16, rows: u16, model: &Model) {
    let members = &model.snapshot.members;
    let label = members.iter().map(|m| format::width(&m.name)).max();
    let label = label.unwrap_or(0).min(inside.width() / 3);
    let most = members.iter().flat_map(|m| &m.series);
    let most = f64::from(most.copied().fold(1.0, f32::max));
    for (row, member) in members.iter().take(usize::from(rows)).enumerate() {
        let y = y + row as u16;
        inside.text(0, y, &format::fit_name(&member.name, label), Role::Dim);
        let rate = format::short(member.samples_per_s);
        inside.text_right(label + 6, y, &rate, Role::Text);
        let start = label + 7;
        let width = inside.width().saturating_sub(start);
        let series = &member.series;
        let shown = series.len().min(usize::from(width));
        let latest = &series[series.len() - shown..];
        let start = inside.width() - shown as u16;
        for (x, value) in latest.iter().enumerate() {
            let share = f64::from(*value) / most;
            inside.glyph(start + x as u16, y, bar(share), Role::Accent);
        }
    }
}
