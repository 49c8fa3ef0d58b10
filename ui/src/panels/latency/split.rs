//! The parts of the mean latency: a stacked bar, and milliseconds.

use divisi_model::metrics::SplitMeans;

use crate::look::{Painter, Role};
use crate::text::format;

/// The maximum rows for the parts' numbers.
const MOST: u16 = 2;

/// A part of the mean.
struct SplitPart {
    sign: &'static str,
    name: &'static str,
    short: &'static str,
    role: Role,
    micros: f64,
}

/// Returns the parts in the order of a request's stages, with the signs of the streams.
fn parts(split: &SplitMeans) -> [SplitPart; 6] {
    let part = |sign, name, short, role, micros| SplitPart {
        sign,
        name,
        short,
        role,
        micros,
    };
    [
        part("→", "admission", "admit", Role::Dim, split.admission),
        part("░", "queueing", "queue", Role::Wait, split.queueing),
        part("≈", "batching", "batch", Role::Warn, split.batching),
        part("▒", "copying", "copy", Role::Copy, split.copying),
        part("█", "computing", "comp", Role::Compute, split.computing),
        part("▓", "combining", "comb", Role::Send, split.combining),
    ]
}

/// Draws the bars and the numbers in at most `room` rows, and returns the number of rows used.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    y: u16,
    room: u16,
    name: &str,
    split: &SplitMeans,
    before: Option<&SplitMeans>,
) -> u16 {
    let parts = parts(split);
    let now = total(&parts);
    if room < 2 || now <= 0.0 {
        return 0;
    }
    let before = before
        .map(self::parts)
        .filter(|b| room > 4 && total(b) > 0.0);
    // Both bars have the same scale, so that a shorter bar is a shorter time.
    let whole = before.as_ref().map_or(now, |b| total(b).max(now));
    let names = names(name, inside.width());
    let x = names.iter().map(|n| format::width(n)).max().unwrap_or(0) + 1;
    bar(inside, x, y, &names[0], &parts, whole);
    let mut rows = 1;
    if let Some(before) = &before {
        bar(inside, x, y + 1, &names[1], before, whole);
        rows = 2;
    }
    rows + numbers(inside, y + rows, (room - rows).min(MOST), &parts)
}

/// Returns the names of the bars' times.
fn names(name: &str, width: u16) -> [String; 2] {
    match width >= 44 {
        true => [format!("{name} mean"), "before".to_owned()],
        false => [name.to_owned(), "was".to_owned()],
    }
}

/// Returns the largest part with its share of the mean: `mostly queueing: 62 %`.
pub(super) fn largest(split: &SplitMeans) -> Option<String> {
    let parts = parts(split);
    let all = total(&parts);
    let largest = parts.iter().max_by(|a, b| a.micros.total_cmp(&b.micros))?;
    let share = format::percent(largest.micros / all);
    (all > 0.0).then(|| format!("mostly {}: {}", largest.name, share.trim()))
}

fn total(parts: &[SplitPart]) -> f64 {
    parts.iter().map(|p| p.micros).sum()
}

fn bar(inside: &mut Painter<'_>, x: u16, y: u16, name: &str, parts: &[SplitPart], whole: f64) {
    inside.text(0, y, name, Role::Dim);
    let width = inside.width().saturating_sub(x);
    let (mut so_far, mut from) = (0.0, 0);
    for part in parts {
        so_far += part.micros;
        let to = (so_far / whole * f64::from(width)).round() as u16;
        inside.run(x + from, y, to.saturating_sub(from), part.sign, part.role);
        from = to;
    }
}

/// Draws whole words, short words, or only the largest parts, as far as there is room.
fn numbers(inside: &mut Painter<'_>, y: u16, rows: u16, parts: &[SplitPart]) -> u16 {
    let width = inside.width();
    let all: Vec<&SplitPart> = parts.iter().collect();
    for name in [whole, short] {
        let lines = lines(&all, name, width);
        if lines.len() <= usize::from(rows) {
            return write(inside, y, &lines, name);
        }
    }
    let mut largest = all;
    largest.sort_by(|a, b| b.micros.total_cmp(&a.micros));
    let mut lines = lines(&largest, short, width);
    lines.truncate(usize::from(rows));
    write(inside, y, &lines, short)
}

fn whole(part: &SplitPart) -> String {
    format!("{} {}", part.name, format::millis(part.micros as u64))
}

fn short(part: &SplitPart) -> String {
    format!("{} {}", part.short, format::millis(part.micros as u64))
}

/// Returns the parts side by side, in lines of at most `width` columns.
fn lines<'a>(
    parts: &[&'a SplitPart],
    name: fn(&SplitPart) -> String,
    width: u16,
) -> Vec<Vec<&'a SplitPart>> {
    let (mut lines, mut used) = (vec![Vec::new()], 0);
    for part in parts {
        let taken = format::width(&name(part)) + 4;
        if used > 0 && used + taken > width + 2 {
            lines.push(Vec::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            line.push(*part);
        }
        used += taken;
    }
    lines
}

fn write(
    inside: &mut Painter<'_>,
    y: u16,
    lines: &[Vec<&SplitPart>],
    name: fn(&SplitPart) -> String,
) -> u16 {
    for (row, line) in lines.iter().enumerate() {
        let mut x = 0;
        for part in line {
            let text = format!(" {}  ", name(part));
            let pieces = [(part.sign, part.role), (text.as_str(), Role::Text)];
            x = inside.pieces(x, y + row as u16, &pieces);
        }
    }
    lines.len() as u16
}
