//! The figures of a caller as columns. Names take precedence: with little room, headings lose their
//! times, then figures are left out.

use divisi_session::CallerFigures;

use super::callers::per_second;
use crate::look::Role;
use crate::text::format;

/// A figure of callers.
#[derive(Clone, Copy)]
pub(super) struct CallerColumn {
    /// Its heading, without the time.
    pub name: &'static str,
    /// Whether it is measured over the time of rates.
    pub is_rate: bool,
    /// Its width with the gap before it: with the time in its heading, and without.
    widths: (u16, u16),
    /// Its priority if not all fit, from 0.
    rank: u8,
    /// The figure as a number, as text, and with its role.
    value: fn(&CallerFigures) -> (f64, String, Role),
}

/// The columns in the order of the screen.
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
        name: "errors",
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
    /// The width of names.
    pub names: u16,
    /// Whether headings have their times.
    pub are_wide: bool,
    /// The figures, in the order of the screen.
    pub shown: Vec<CallerColumn>,
}

/// The minimum width of names next to figures with complete headings.
const ROOMY: u16 = 24;

impl CallerColumns {
    /// Returns the columns that fit into `room` next to names of `longest` columns. There is always
    /// at least one figure.
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

    /// Returns the width of a figure.
    pub(super) fn width(&self, column: &CallerColumn) -> u16 {
        match self.are_wide {
            true => column.widths.0,
            false => column.widths.1,
        }
    }

    /// Returns the text of a figure, shortened if it does not fit.
    pub(super) fn cell(&self, column: &CallerColumn, figures: &CallerFigures) -> (String, Role) {
        let (number, text, role) = (column.value)(figures);
        match format::width(&text) < self.width(column) {
            true => (text, role),
            false => (format::short(number), role),
        }
    }
}

/// Returns the most important columns without times that fit, in the order of the screen.
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
