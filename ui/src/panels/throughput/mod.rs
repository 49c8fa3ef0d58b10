//! Answered samples per second over recent time, of the ensemble or a member, with the changes;
//! below the ensemble's curve a row per member.

mod chart;

use super::body::PanelBody;
use super::frame::{headed, note_with_windows};
use crate::layout::Panel;
use crate::look::{Dots, Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::Whose;
use chart::{AXIS, Curve};

pub(super) use chart::{letter, nice};

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody::new(draw);

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let whose = whose(model);
    let note = format!("{} · samples/s", whose.name(&model.snapshot));
    let window = "rate of 1 s";
    let note = note_with_windows(Panel::Throughput, note, window, painter.width());
    let mut inside = headed(painter, Panel::Throughput, &note, model);
    numbers(&mut inside, model, whose);
    let rows = member_rows(&inside, model, whose);
    let legend = chart::legend_rows(inside.height().saturating_sub(rows + 6), model);
    let height = inside.height().saturating_sub(2 + rows + legend);
    let left = left(&inside, model, rows);
    let curve = curve(model, whose, inside.width(), left);
    if height > 0 {
        curve.draw(&mut inside, 1, height, model);
    }
    chart::legend(&mut inside, 2 + height, legend, model);
    draw_members(&mut inside, 2 + height + legend, rows, &curve, model);
}

/// Returns the subject; workers have no rates.
fn whose(model: &Model) -> Whose {
    match model.scopes.throughput.there(&model.snapshot) {
        Whose::Worker(cell) => Whose::Member(cell.member),
        whose => whose,
    }
}

fn curve(model: &Model, whose: Whose, width: u16, left: u16) -> Curve {
    let shown = &model.snapshot;
    let member = match whose {
        Whose::Member(at) => shown.member(at),
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
        Whose::Member(at) => shown.member(at).map_or(0.0, |m| m.samples_per_s),
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

/// The minimum rows of the curve above.
const CURVE: u16 = 9;

/// Returns the rows for members, or 0 if not all fit.
fn member_rows(inside: &Painter<'_>, model: &Model, whose: Whose) -> u16 {
    let members = u16::try_from(model.snapshot.members.len()).unwrap_or(u16::MAX);
    let fits = inside.height() >= members.saturating_add(CURVE) && inside.width() >= 36;
    match whose {
        Whose::Ensemble if fits => members,
        _ => 0,
    }
}

/// Returns the columns before the curve above, the same as before the members' curves, so that all
/// share one time axis.
fn left(inside: &Painter<'_>, model: &Model, rows: u16) -> u16 {
    match rows {
        0 => AXIS,
        _ => (label(inside, model) + RATE + 1).max(AXIS),
    }
}

/// The width of rates.
const RATE: u16 = 6;

/// Returns the width of names.
fn label(inside: &Painter<'_>, model: &Model) -> u16 {
    let names = model.snapshot.members.iter();
    let widest = names.map(|m| format::width(&m.name)).max();
    widest.unwrap_or(0).min(inside.width() / 3)
}

/// Draws the members over the time of the curve above.
fn draw_members(inside: &mut Painter<'_>, y: u16, rows: u16, above: &Curve, model: &Model) {
    let members = &model.snapshot.members;
    let label = label(inside, model);
    let all = || members.iter().flat_map(|m| &m.series).copied();
    let most = f64::from(all().fold(1.0, f32::max));
    // Members of an ensemble have similar rates, so the differences are near the top.
    let least = f64::from(all().fold(f32::INFINITY, f32::min)).min(most) * 0.9;
    let scale = (most - least).max(1.0);
    let columns = above.columns();
    for (row, member) in members.iter().take(usize::from(rows)).enumerate() {
        let y = y + row as u16;
        let hue = Role::for_member(row);
        inside.text(0, y, &format::fit_name(&member.name, label), hue);
        let rate = format::short(member.samples_per_s);
        inside.text_right(label + RATE, y, &rate, Role::Text);
        let series: Vec<f64> = member.series.iter().map(|v| f64::from(*v)).collect();
        let mut dots = Dots::new(columns.len() as u16, 1);
        let shares = above.aligned(&series);
        dots.curve(shares.map(|v| v.map(|v| (v - least) / scale)));
        dots.draw(inside, columns.start, y, hue);
    }
}
