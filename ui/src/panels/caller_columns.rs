//! The figures of a caller as columns. Names go first: where there is little room, heads do without
//! their times, and then figures are left out.

use divisi_session::CallerFigures;

use super::callers::per_second;
use crate::look::Role;
use crate::text::format;

/// A figure of callers.
#[derive(Clone, Copy)]
pub(super) struct CallerColumn {
    /// Its head, without the time.
    pub name: &'static str,
    /// Whether it is taken over the time of rates.
    pub is_rate: bool,
    /// Its columns of the screen with the gap before it: with the time in its head, and without.
    widths: (u16, u16),
    /// Its place where not all fit, from 0.
    rank: u8,
    /// The figure as a number, in words, and as it is drawn.
    value: fn(&CallerFigures) -> (f64, String, Role),
}

/// In the order of the screen.
static COLUMNS: [CallerColumn; 3] = [
    CallerColumn {
        name: "calls/s",
        is_rate: true,
        widths: (14, 8),
        rank: 0,
        value: |f| (f.per_second, per_second(f.per_second), Role::Strong),
    },
    CallerColumn {
        name: "calls",
        is_rate: false,
        widths: (13, 7),
        rank: 2,
        value: |f| (f.calls as f64, format::grouped(f.calls), Role::Text),
    },
    CallerColumn {
        name: "failed",
        is_rate: false,
        widths: (13, 7),
        rank: 1,
        value: |f| {
            let role = if f.failed > 0 { Role::Warn } else { Role::Dim };
            (f.failed as f64, format::grouped(f.failed), role)
        },
    },
];

/// The columns that fit.
pub(super) struct CallerColumns {
    /// Columns of the screen for names.
    pub names: u16,
    /// Whether heads have their times.
    pub are_wide: bool,
    /// The figures, in the order of the screen.
    pub shown: Vec<CallerColumn>,
}

/// The columns that names have at least beside figures with all of their heads, be they shorter or not.
const ROOMY: u16 = 24;

impl CallerColumns {
    /// Those that fit into `room` beside names of `longest` columns. One figure is always there.
    pub(super) fn fitting(room: u16, longest: u16) -> Self {
        let wide: u16 = COLUMNS.iter().map(|column| column.widths.0).sum();
        let are_wide = wide + longest.min(ROOMY) <= room;
        let shown = match are_wide {
            true => COLUMNS.to_vec(),
            false => narrow(room.saturating_sub(longest.max(format::width("caller")))),
        };
        let mut columns = CallerColumns {
            names: 0,
            are_wide,
            shown,
        };
        let taken: u16 = columns.shown.iter().map(|c| columns.width(c)).sum();
        columns.names = room.saturating_sub(taken);
        columns
    }

    /// Columns of the screen that a figure takes.
    pub(super) fn width(&self, column: &CallerColumn) -> u16 {
        match self.are_wide {
            true => column.widths.0,
            false => column.widths.1,
        }
    }

    /// Returns the text of a figure, shortened where it does not fit.
    pub(super) fn cell(&self, column: &CallerColumn, figures: &CallerFigures) -> (String, Role) {
        let (number, text, role) = (column.value)(figures);
        match format::width(&text) < self.width(column) {
            true => (text, role),
            false => (format::short(number), role),
        }
    }
}

/// Returns the weightiest columns without times that fit, in the order of the screen.
fn narrow(mut room: u16) -> Vec<CallerColumn> {
    let mut ranked: Vec<&CallerColumn> = COLUMNS.iter().collect();
    ranked.sort_by_key(|column| column.rank);
    let taken = ranked.into_iter().take_while(|column| {
        let fits = column.rank == 0 || column.widths.1 <= room;
        room = room.saturating_sub(column.widths.1);
        fits
    });
    let taken: Vec<u8> = taken.map(|column| column.rank).collect();
    let fits = |column: &&CallerColumn| taken.contains(&column.rank);
    COLUMNS.iter().filter(fits).copied().collect()
}
