//! Under the ensemble's curve: a row a member, with its rate and a small curve.

use crate::console::braille::Dots;
use crate::console::format;
use crate::console::model::Model;
use crate::console::pen::Pen;
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
    let all = || members.iter().flat_map(|m| &m.series).copied();
    let most = f64::from(all().fold(1.0, f32::max));
    // Members of one ensemble answer alike: what differs is near the top.
    let least = f64::from(all().fold(f32::INFINITY, f32::min)).min(most) * 0.9;
    let scale = (most - least).max(1.0);
    for (row, member) in members.iter().take(usize::from(rows)).enumerate() {
        let y = y + row as u16;
        inside.text(0, y, &format::fit_name(&member.name, label), Role::Dim);
        let rate = format::short(member.samples_per_s);
        inside.text_right(label + 6, y, &rate, Role::Text);
        let start = label + 7;
        let width = inside.width().saturating_sub(start);
        let series = &member.series;
        let mut dots = Dots::new(width, 1);
        let over = series.len().saturating_sub(usize::from(dots.columns()));
        let shares = stretched(&series[over..], dots.columns());
        dots.curve(shares.map(|v| v.map(|v| (v - least) / scale)));
        dots.draw(inside, start, y, Role::Accent);
    }
}

/// The series over so many columns, each value held until the next.
fn stretched(series: &[f32], columns: u16) -> impl Iterator<Item = Option<f64>> + '_ {
    let columns = usize::from(columns).max(1);
    (0..columns).map(move |x| {
        series
            .get(x * series.len() / columns)
            .map(|v| f64::from(*v))
    })
}
