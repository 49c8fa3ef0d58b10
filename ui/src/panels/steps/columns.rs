//! The columns of the steps' panel: their headings, and those that fit.

use std::time::Duration;

use divisi_engine::serving::{GraphStep, GraphWork};

use crate::look::Role;
use crate::text::format;

/// A column.
#[derive(Clone, Copy)]
pub(super) struct StepColumn {
    /// Its heading.
    pub name: &'static str,
    /// Its width with the gap before it.
    pub width: u16,
    /// The function that returns the text for a step of a graph with a number of requests.
    pub value: fn(&GraphStep, u64) -> (String, Role),
    /// Its priority if not all fit, from 0.
    rank: u8,
}

const fn column(
    name: &'static str,
    width: u16,
    rank: u8,
    value: fn(&GraphStep, u64) -> (String, Role),
) -> StepColumn {
    StepColumn {
        name,
        width,
        value,
        rank,
    }
}

/// The columns in the order of the screen.
static COLUMNS: [StepColumn; 7] = [
    column("rows/s", 8, 0, |step, _| {
        plain(format::short(step.stats.rows_per_s))
    }),
    column("share", 7, 3, |step, _| share(step.stats.share())),
    column("queue", 7, 2, |step, _| {
        plain(format::short(step.stats.queued as f64))
    }),
    column("wait ms", 9, 4, |step, _| {
        time(step, step.stats.mean_wait())
    }),
    column("time ms", 9, 1, |step, _| {
        time(step, step.stats.mean_compute())
    }),
    column("late", 7, 6, |step, _| match step.stats.late {
        0 => ("·".into(), Role::Dim),
        late => (format::short(late as f64), Role::Warn),
    }),
    column("path", 7, 5, |step, requests| {
        let share = step.stats.critical as f64 / requests.max(1) as f64;
        self::share((requests > 0).then_some(share))
    }),
];

fn plain(text: String) -> (String, Role) {
    (text, Role::Text)
}

/// Formats a mean time. Rules are not measured, since they fold rows on arrival.
fn time(step: &GraphStep, mean: Duration) -> (String, Role) {
    let measured = step.stats.rows > 0 && !matches!(step.work, GraphWork::Rule(_));
    match measured {
        true => plain(format::millis(mean.as_micros() as u64)),
        false => ("·".into(), Role::Dim),
    }
}

fn share(share: Option<f64>) -> (String, Role) {
    match share {
        Some(share) => (format::percent(share), Role::Text),
        None => ("·".into(), Role::Dim),
    }
}

/// Returns the columns that fit into `room`, chosen by priority, in the order of the screen.
pub(super) fn fitting(room: u16) -> Vec<StepColumn> {
    let mut ranked: Vec<&StepColumn> = COLUMNS.iter().collect();
    ranked.sort_by_key(|column| column.rank);
    let mut left = room;
    let taken = ranked.into_iter().take_while(|column| {
        let fits = column.width <= left;
        left = left.saturating_sub(column.width);
        fits
    });
    let taken: Vec<u8> = taken.map(|column| column.rank).collect();
    let fits = |column: &&StepColumn| taken.contains(&column.rank);
    COLUMNS.iter().filter(fits).copied().collect()
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
