//! The figures of a model as columns.

use divisi::metrics::LatencySummary;
use divisi::session::CatalogueView;

use crate::model::Model;
use crate::text::format;

/// A column: its head, the columns of the screen that it takes with the gap before it, and its text.
pub(super) struct ModelColumn {
    pub name: &'static str,
    pub width: u16,
    pub text: fn(&CatalogueView, &Model) -> String,
}

/// In the order of the screen; where not all fit, the first ones are shown.
static COLUMNS: [ModelColumn; 9] = [
    ModelColumn {
        name: "req/s",
        width: 7,
        text: |m, _| format::short(m.figures.requests_per_s),
    },
    ModelColumn {
        name: "p50 ms",
        width: 8,
        text: |m, _| latency(m, |l| l.p50),
    },
    ModelColumn {
        name: "p99 ms",
        width: 8,
        text: |m, _| latency(m, |l| l.p99),
    },
    ModelColumn {
        name: "failed",
        width: 8,
        text: |m, _| format::grouped(m.figures.failed),
    },
    ModelColumn {
        name: "refused",
        width: 8,
        text: |m, _| format::grouped(m.figures.refused),
    },
    ModelColumn {
        name: "smp/s",
        width: 7,
        text: |m, _| format::short(m.figures.samples_per_s),
    },
    ModelColumn {
        name: "run/s",
        width: 7,
        text: |m, model| run(m, model).map_or("–".into(), format::short),
    },
    ModelColumn {
        name: "answered",
        width: 12,
        text: |m, _| format::grouped(m.figures.answered),
    },
    ModelColumn {
        name: "members",
        width: 9,
        text: |m, _| m.members.len().to_string(),
    },
];

/// Returns the first columns, as many as fit.
pub(super) fn fitting(mut room: u16) -> &'static [ModelColumn] {
    let fits = |column: &&ModelColumn| {
        let fits = column.width <= room;
        room = room.saturating_sub(column.width);
        fits
    };
    let count = COLUMNS.iter().take_while(fits).count();
    &COLUMNS[..count]
}

/// Returns a latency of the last seconds, if there was any.
fn latency(view: &CatalogueView, of: fn(&LatencySummary) -> u64) -> String {
    match view.figures.latency.count {
        0 => "–".into(),
        _ => format::millis(of(&view.figures.latency)),
    }
}

/// Returns the samples that the network of a model ran a second, for whoever asked: also those of
/// pipelines that use it. Several networks have no rate in common.
fn run(view: &CatalogueView, model: &Model) -> Option<f64> {
    let &[member] = &view.members[..] else {
        return None;
    };
    let member = model.snapshot.members.get(member.get())?;
    Some(member.samples_per_s)
}
