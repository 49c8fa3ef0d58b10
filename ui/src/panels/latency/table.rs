//! Percentiles in fixed columns: recently, since the last reload, before it, and the change; then
//! the target and the share of requests that miss it.

use divisi_model::metrics::LatencySummary;
use divisi_session::{Distribution, LatencyView, Target};

use super::histogram::SHARES;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The width of the rows' names.
const LABEL: u16 = 6;
const NAMES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

type PercentileText = (String, Role);

/// Draws the table and returns the number of rows used.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    view: &LatencyView,
    before: Option<&Distribution>,
    model: &Model,
) -> u16 {
    let grid = PercentileTable::new(inside.width());
    grid.row(inside, 0, "", &NAMES.map(|n| (n.to_owned(), Role::Dim)));
    let lately = format::seconds(model.window());
    let values = |summary, role| values(summary, role, grid.column);
    grid.row(inside, 1, &lately, &values(&view.now.summary, Role::Strong));
    let mut y = 2;
    let mut next = |inside: &mut Painter<'_>, name: &str, values: &[PercentileText; 5]| {
        grid.row(inside, y, name, values);
        y += 1;
    };
    if inside.height() >= 6 {
        next(inside, "since", &values(&view.since.summary, Role::Text));
    }
    if let Some(before) = before {
        next(inside, "before", &values(&before.summary, Role::Dim));
        if inside.height() >= 11 {
            let changes = changes(&before.summary, &view.since.summary);
            next(inside, "change", &changes);
        }
    }
    match model.snapshot.target {
        Some(target) if inside.height() > y + 2 => {
            draw_objective(inside, y, target, view, before);
            y + 1
        }
        _ => y,
    }
}

/// Columns of numbers with the same width. The last is left out without room.
struct PercentileTable {
    label: u16,
    column: u16,
    shown: usize,
}

impl PercentileTable {
    fn new(width: u16) -> Self {
        let label = if width < 34 { 3 } else { LABEL };
        let room = width.saturating_sub(label);
        let shown = if room < 30 { 4 } else { 5 };
        let column = (room / shown as u16).clamp(5, 9);
        PercentileTable {
            label,
            column,
            shown,
        }
    }

    fn row(&self, inside: &mut Painter<'_>, y: u16, name: &str, values: &[PercentileText; 5]) {
        let name = match self.label < LABEL {
            true => short(name),
            false => name.to_owned(),
        };
        inside.text(0, y, &name, Role::Dim);
        for (i, (value, role)) in values.iter().take(self.shown).enumerate() {
            // The name of p99.9 is as wide as the narrowest column.
            let wider = u16::from(self.column == 5 && i == 3);
            let end = self.label + self.column * (i as u16 + 1) + wider;
            inside.text_right(end, y, value, *role);
        }
    }
}

fn short(name: &str) -> String {
    match name {
        "since" => "all".to_owned(),
        "before" => "was".to_owned(),
        "change" => "±".to_owned(),
        name => name.replace(' ', ""),
    }
}

/// Returns the percentiles; those of too few requests are dimmed and marked.
fn values(summary: &LatencySummary, role: Role, column: u16) -> [PercentileText; 5] {
    let micros = micros(summary);
    std::array::from_fn(|i| match summary.is_enough_for(SHARES[i]) {
        _ if summary.count == 0 => ("–".to_owned(), Role::Dim),
        true => (value(micros[i], column), role),
        false => (format!("~{}", value(micros[i], column)), Role::Dim),
    })
}

/// Formats milliseconds, or seconds if milliseconds do not fit in a column, so that no value looks
/// like a row's name.
fn value(micros: u64, column: u16) -> String {
    let seconds = micros as f64 / 1e6;
    match micros {
        long if long >= 99_950_000 => format!("{seconds:.0} s"),
        long if long >= 10_000_000 && column >= 8 => format!("{seconds:.1} s"),
        long if long >= 10_000_000 => format!("{seconds:.0}s"),
        short => format::millis(short),
    }
}

fn micros(summary: &LatencySummary) -> [u64; 5] {
    let s = summary;
    [s.p50, s.p90, s.p99, s.p999, s.max]
}

fn changes(before: &LatencySummary, now: &LatencySummary) -> [PercentileText; 5] {
    let enough = |i: usize| [before, now].iter().all(|s| s.is_enough_for(SHARES[i]));
    let (before, now) = (micros(before), micros(now));
    std::array::from_fn(|i| {
        let gain = format::gain(before[i] as f64, now[i] as f64);
        match gain.map(|g| g.replace(' ', "").replace('-', "−")) {
            None => ("–".to_owned(), Role::Dim),
            Some(gain) if enough(i) => (gain, Role::Text),
            Some(gain) => (format!("~{gain}"), Role::Dim),
        }
    })
}

/// Draws `objective ┆ 5.00 ms · missed 1.8% ✗, limit 1.0% · since 2.1% · before 4.0%`. The missed
/// share is of the window, or since the reload if the window has no answers.
fn draw_objective(
    inside: &mut Painter<'_>,
    y: u16,
    target: Target,
    view: &LatencyView,
    before: Option<&Distribution>,
) {
    let latency = format::millis(target.latency.as_micros() as u64);
    let asked = format!("objective ┆ {latency} ms · ");
    let x = inside.text(0, y, &asked, Role::Dim);
    let Some(missed) = view.now.missed.or(view.since.missed) else {
        inside.text(x, y, "missed share not known yet", Role::Dim);
        return;
    };
    let met = missed <= 1.0 - target.share + 1e-9;
    let (sign, role) = if met {
        ("✓", Role::Good)
    } else {
        ("✗", Role::Bad)
    };
    let share = format::permille(missed);
    let pieces = [
        ("missed ", Role::Dim),
        (share.trim(), role),
        (" ", role),
        (sign, role),
    ];
    let mut x = inside.pieces(x, y, &pieces);
    let said = |name: &str, share: Option<f64>| {
        share.map(|m| format!(" · {name} {}", format::permille(m).trim()))
    };
    let allowed = format::permille(1.0 - target.share);
    let rest = [
        Some(format!(", limit {}", allowed.trim())),
        said(
            "since",
            view.since.missed.filter(|_| view.now.missed.is_some()),
        ),
        said("before", before.and_then(|b| b.missed)),
    ];
    for text in rest.into_iter().flatten() {
        if x + format::width(&text) <= inside.width() {
            x = inside.text(x, y, &text, Role::Dim);
        }
    }
}
