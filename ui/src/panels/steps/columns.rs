//! The columns of the steps' panel: their headings, and those that fit.

use std::time::Duration;

use divisi_engine::serving::{GraphStep, GraphWork};

use crate::look::Role;
use crate::panels::columns::{self, Column, FigureText, plain};
use crate::text::format;

/// A column of the steps of a graph with a number of requests.
pub(super) type StepColumn = Column<GraphStep, u64>;

/// The columns in the order of the screen.
static COLUMNS: [StepColumn; 7] = [
    Column::new("rows/s", 8, 0, |step, _| {
        plain(format::short(step.stats.rows_per_s))
    }),
    Column::new("share", 7, 3, |step, _| share(step.stats.share())),
    Column::new("queue", 7, 2, |step, _| {
        plain(format::short(step.stats.queued as f64))
    }),
    Column::new("wait ms", 9, 4, |step, _| {
        time(step, step.stats.mean_wait())
    }),
    Column::new("time ms", 9, 1, |step, _| {
        time(step, step.stats.mean_compute())
    }),
    Column::new("late", 7, 6, |step, _| match step.stats.late {
        0 => ("·".into(), Role::Dim),
        late => (format::short(late as f64), Role::Warn),
    }),
    Column::new("path", 7, 5, |step, requests| {
        let share = step.stats.critical as f64 / (*requests).max(1) as f64;
        self::share((*requests > 0).then_some(share))
    }),
];

/// Formats a mean time. Rules are not measured, since they fold rows on arrival.
fn time(step: &GraphStep, mean: Duration) -> FigureText {
    let measured = step.stats.rows > 0 && !matches!(step.work, GraphWork::Rule(_));
    match measured {
        true => plain(format::millis(mean.as_micros() as u64)),
        false => ("·".into(), Role::Dim),
    }
}

fn share(share: Option<f64>) -> FigureText {
    match share {
        Some(share) => (format::percent(share), Role::Text),
        None => ("·".into(), Role::Dim),
    }
}

/// Returns the columns that fit into `room`.
pub(super) fn fitting(room: u16) -> Vec<&'static StepColumn> {
    columns::fitting(COLUMNS.iter(), room)
}

/// Describes the model or host step that runs a step, and its condition.
pub(super) fn words(step: &GraphStep) -> String {
    let work = match &step.work {
        GraphWork::Model(name) if *name == step.name => "model".to_owned(),
        GraphWork::Model(name) => format!("model {name}"),
        GraphWork::Host(kind) | GraphWork::Rule(kind) => kind.clone(),
    };
    let when = step.when.as_ref().map(|when| format!("when {when}"));
    let quorum = step.quorum.map(|least| format!("quorum {least}"));
    let parts = std::iter::once(work).chain(when).chain(quorum);
    parts.collect::<Vec<_>>().join(" · ")
}
