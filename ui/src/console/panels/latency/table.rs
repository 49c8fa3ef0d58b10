//! Percentiles in fixed columns: now, before the last reload, and the change; then the
//! target.

use divisi::metrics::LatencySummary;
use divisi::session::{LatencyView, Target};

use crate::console::format;
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// Columns for the names of the rows.
const LABEL: u16 = 6;
const NAMES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

/// Draws it; gives how many rows it took.
pub fn draw(
    inside: &mut Pen<'_>,
    now: &LatencyView,
    before: Option<&LatencyView>,
    target: Option<Target>,
) -> u16 {
    let grid = Grid::new(inside.width());
    grid.row(inside, 0, "", &NAMES.map(str::to_owned), Role::Dim);
    grid.row(inside, 1, "now", &values(&now.summary), Role::Strong);
    let mut y = 2;
    if let Some(before) = before {
        grid.row(inside, y, "before", &values(&before.summary), Role::Dim);
        y += 1;
        if inside.height() >= 10 {
            let changes = changes(&before.summary, &now.summary);
            grid.row(inside, y, "change", &changes, Role::Text);
            y += 1;
        }
    }
    match target {
        Some(target) if inside.height() > y + 2 => {
            objective(inside, y, target, now, before);
            y + 1
        }
        _ => y,
    }
}

/// Columns of numbers, all of one width; the last is left out where there is no room.
struct Grid {
    label: u16,
    column: u16,
    shown: usize,
}

impl Grid {
    fn new(width: u16) -> Self {
        let label = if width < 34 { 3 } else { LABEL };
        let room = width.saturating_sub(label);
        let shown = if room < 30 { 4 } else { 5 };
        let column = (room / shown as u16).clamp(5, 9);
        Grid {
            label,
            column,
            shown,
        }
    }

    fn row(&self, inside: &mut Pen<'_>, y: u16, name: &str, values: &[String; 5], role: Role) {
        let name = if self.label < LABEL {
            short(name)
        } else {
            name
        };
        inside.text(0, y, name, Role::Dim);
        for (i, value) in values.iter().take(self.shown).enumerate() {
            // The name of p99.9 is as wide as the narrowest column.
            let wider = u16::from(self.column == 5 && i == 3);
            let end = self.label + self.column * (i as u16 + 1) + wider;
            inside.text_right(end, y, value, role);
        }
    }
}

fn short(name: &str) -> &str {
    match name {
        "before" => "was",
        "change" => "±",
        name => name,
    }
}

fn values(summary: &LatencySummary) -> [String; 5] {
    match summary.count {
        0 => std::array::from_fn(|_| "–".to_owned()),
        _ => micros(summary).map(value),
    }
}

/// Milliseconds, or seconds where those would not fit in a column.
fn value(micros: u64) -> String {
    match micros {
        long if long >= 10_000_000 => format!("{} s", long / 1_000_000),
        short => format::millis(short),
    }
}

fn micros(summary: &LatencySummary) -> [u64; 5] {
    let s = summary;
    [s.p50, s.p90, s.p99, s.p999, s.max]
}

fn changes(before: &LatencySummary, now: &LatencySummary) -> [String; 5] {
    let (before, now) = (micros(before), micros(now));
    std::array::from_fn(|i| {
        let gain = format::gain(before[i] as f64, now[i] as f64);
        gain.map_or("–".to_owned(), |g| g.replace(' ', "").replace('-', "−"))
    })
}

/// `target 5.00 ms for 99.0% · missed 1.8% ✗ (before 4.0%)`.
fn objective(
    inside: &mut Pen<'_>,
    y: u16,
    target: Target,
    now: &LatencyView,
    before: Option<&LatencyView>,
) {
    let latency = format::millis(target.latency.as_micros() as u64);
    let asked = format!("target ┆ {latency} ms · ");
    let x = inside.text(0, y, &asked, Role::Dim);
    let Some(missed) = now.missed else {
        inside.text(x, y, "share missed not known yet", Role::Dim);
        return;
    };
    let met = missed <= 1.0 - target.share + 1e-9;
    let (sign, role) = if met {
        ("✓", Role::Good)
    } else {
        ("✗", Role::Bad)
    };
    let share = format::permille(missed);
    let x = inside.pieces(
        x,
        y,
        &[
            ("missed ", Role::Dim),
            (share.trim(), role),
            (" ", role),
            (sign, role),
        ],
    );
    let allowed = format!(
        " of {} allowed",
        format::permille(1.0 - target.share).trim()
    );
    let was = before.and_then(|b| b.missed);
    let was = was.map_or(String::new(), |m| {
        format!(" · before {}", format::permille(m).trim())
    });
    let rest = allowed + &was;
    if x + format::width(&rest) <= inside.width() {
        inside.text(x, y, &rest, Role::Dim);
    }
}
