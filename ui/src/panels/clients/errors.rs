//! Errors that clients saw: a row for each kind, with its number over time in the last minute.

use divisi_session::{DoorView, ErrorCount, ErrorsView};

use crate::look::{Painter, Role, bar};
use crate::text::{error_words, format};

/// The width of the count, and the gap around the bars.
const COUNT: u16 = 9;
const GAP: u16 = 2;

/// The minimum useful width of bars.
const LEAST_BARS: u16 = 8;

/// The minimum width of reasons.
const REASON: u16 = 24;

/// The width of the count since the start.
const TOTAL: u16 = 11;

/// The widths of bars, reasons and totals. Reasons take precedence.
struct ErrorWidths {
    bars: u16,
    /// The first column of reasons.
    reason: u16,
    /// The width of the count since the start, or 0 if there is no room.
    total: u16,
}

impl ErrorWidths {
    fn for_width(width: u16, errors: &ErrorsView) -> Self {
        let room = width.saturating_sub(COUNT + GAP + REASON);
        let total = if room >= TOTAL { TOTAL } else { 0 };
        let (bars, gap) = match room.saturating_sub(total + GAP) {
            0..LEAST_BARS => (0, 0),
            room => (bar_columns(room, errors), GAP),
        };
        ErrorWidths {
            bars,
            reason: COUNT + GAP + bars + gap,
            total,
        }
    }
}

/// Returns the number of rows that show all kinds of errors.
pub(super) fn rows_needed(errors: &ErrorsView) -> u16 {
    let reasons = errors.counts.len().max(1);
    u16::try_from(reasons).unwrap_or(u16::MAX).saturating_add(1)
}

/// Draws the errors under a heading with the time of the counts.
pub(super) fn draw(inside: &mut Painter<'_>, door: &DoorView, errors: &ErrorsView) {
    if inside.height() < 2 {
        return;
    }
    let window = format::counted_over(door.window);
    let widths = ErrorWidths::for_width(inside.width(), errors);
    heads(inside, &widths, &window);
    if errors.counts.is_empty() {
        inside.text(COUNT + GAP, 1, "none since the start", Role::Dim);
    }
    let most = usize::from(inside.height() - 1);
    for (error, y) in errors.counts.iter().take(most).zip(1..) {
        row(inside, y, error, &widths);
    }
}

fn heads(inside: &mut Painter<'_>, widths: &ErrorWidths, window: &str) {
    let over = format!("in {window}");
    inside.text_right(COUNT, 0, &over, Role::Dim);
    let bars = format::fit(&format!("errors, last {window}"), widths.bars);
    inside.text(COUNT + GAP, 0, &bars, Role::Dim);
    let reason = match widths.bars {
        0 => "errors, by reason",
        _ => "reason",
    };
    inside.text(widths.reason, 0, reason, Role::Dim);
    if widths.total > 0 {
        inside.text_right(inside.width(), 0, "since start", Role::Dim);
    }
}

/// Returns the number of columns of bars, each for one or more moments, as far as there is room.
fn bar_columns(room: u16, errors: &ErrorsView) -> u16 {
    let moments = errors.counts.iter().map(|error| error.series.len());
    let moments = u16::try_from(moments.max().unwrap_or(0)).unwrap_or(u16::MAX);
    let each = moments.div_ceil(room.max(1)).max(1);
    moments.div_ceil(each).max(24.min(room))
}

fn row(inside: &mut Painter<'_>, y: u16, error: &ErrorCount, widths: &ErrorWidths) {
    let lately = error.lately();
    let role = if lately > 0 { Role::Warn } else { Role::Dim };
    inside.text_right(COUNT, y, &format::grouped(lately), role);
    let bars = shares(&error.series, widths.bars).take(usize::from(widths.bars));
    for (share, x) in bars.zip(COUNT + GAP..) {
        inside.sign(x, y, bar(share), role);
    }
    let end = inside.width();
    let room = end.saturating_sub(widths.reason + widths.total);
    let reason = format::fit(&error_words(error.key), room);
    inside.text(widths.reason, y, &reason, Role::Text);
    if widths.total > 0 {
        let total = format::grouped(error.total);
        inside.text_right(end, y, &total, Role::Dim);
    }
}

/// Returns the height of each bar as a share of the highest. Small values stay visible.
fn shares(series: &[u32], bars: u16) -> impl Iterator<Item = f64> {
    let each = series.len().div_ceil(usize::from(bars.max(1))).max(1);
    let sums: Vec<u64> = series
        .rchunks(each)
        .rev()
        .map(|moments| moments.iter().map(|count| u64::from(*count)).sum())
        .collect();
    let most = sums.iter().copied().max().unwrap_or(0).max(1) as f64;
    sums.into_iter().map(move |sum| match sum {
        0 => 0.0,
        sum => (sum as f64 / most).max(0.125),
    })
}
