//! The figures of a model as columns.

use divisi_model::metrics::LatencySummary;
use divisi_session::{CatalogueView, RunningBatches, VariantView};

use divisi_modelless::quantities::significant;

use crate::model::Model;
use crate::panels::columns::{self, Column, FigureText, plain};
use crate::text::format;

/// A column of models.
pub(super) type ModelColumn = Column<CatalogueView, Model>;

const fn column(
    name: &'static str,
    width: u16,
    value: fn(&CatalogueView, &Model) -> FigureText,
) -> ModelColumn {
    Column::new(name, width, 0, value)
}

/// The columns in the order of the screen. The first ones are shown if not all fit.
static COLUMNS: [ModelColumn; 9] = [
    column("req/s", 7, |m, _| {
        plain(format::short(m.figures.requests_per_s))
    }),
    column("p50 ms", 8, |m, _| plain(latency(m, |l| l.p50))),
    column("p99 ms", 8, |m, _| plain(latency(m, |l| l.p99))),
    column("failed", 8, |m, _| plain(format::grouped(m.figures.failed))),
    column("refused", 8, |m, _| {
        plain(format::grouped(m.figures.refused))
    }),
    column("smp/s", 7, |m, _| {
        plain(format::short(m.figures.samples_per_s))
    }),
    column("run/s", 7, |m, model| {
        plain(run(m, model).map_or("–".into(), format::short))
    }),
    column("answered", 12, |m, _| {
        plain(format::grouped(m.figures.answered))
    }),
    column("members", 9, |m, _| plain(m.members.len().to_string())),
];

/// The columns for variants of tasks.
static OF_VARIANTS: [ModelColumn; 9] = [
    column("accuracy", 9, |m, _| {
        plain(of_variant(m, |v| format!("{:.2}%", 100.0 * v.accuracy)))
    }),
    column("cost/M", 9, |m, _| plain(of_batches(m, |b| cost(b.cost)))),
    column("answered", 10, |m, _| {
        plain(of_variant(m, |v| format::short(v.goals.answered as f64)))
    }),
    column("missed", 8, |m, _| {
        plain(of_variant(m, |v| {
            format::short((v.goals.answered - v.goals.met) as f64)
        }))
    }),
    column("req/s", 7, |m, _| {
        plain(format::short(m.figures.requests_per_s))
    }),
    column("p99 ms", 8, |m, _| plain(latency(m, |l| l.p99))),
    column("of task", 8, |m, model| {
        plain(share(m, model).map_or("–".into(), |share| format!("{share:.0}%")))
    }),
    column("batch", 7, |m, _| {
        plain(of_batches(m, |b| b.size.to_string()))
    }),
    column("full ms", 9, |m, _| {
        plain(of_batches(m, |b| significant(1e3 * b.full.as_secs_f64())))
    }),
];

/// Returns the first columns that suit the models, as many as fit.
pub(super) fn fitting(models: &[CatalogueView], room: u16) -> Vec<&'static ModelColumn> {
    let of_variants = models.iter().any(|model| model.variant.is_some());
    let all = if of_variants { &OF_VARIANTS } else { &COLUMNS };
    columns::fitting(all.iter(), room)
}

/// Formats a cost within the width of its column.
fn cost(of_million: f64) -> String {
    match of_million > 0.0 && of_million < LEAST_WRITTEN_OUT {
        true => format!("{of_million:.1e}"),
        false => significant(of_million),
    }
}

/// Costs below this are written with an exponent.
const LEAST_WRITTEN_OUT: f64 = 1e-3;

fn of_variant(view: &CatalogueView, of: impl Fn(&VariantView) -> String) -> String {
    view.variant.as_ref().map_or("–".into(), of)
}

fn of_batches(view: &CatalogueView, of: impl Fn(&RunningBatches) -> String) -> String {
    let variant = view.variant.as_ref();
    let running = variant.and_then(|variant| variant.running.as_ref());
    running.map_or("–".into(), of)
}

/// Returns the percentage of its task's queries that a variant answered, if there were any.
fn share(view: &CatalogueView, model: &Model) -> Option<f64> {
    let own = view.variant.as_ref()?;
    let variants = model.snapshot.models.iter();
    let of_task = variants.filter_map(|m| m.variant.as_ref().filter(|v| v.task == own.task));
    let all: u64 = of_task.map(|variant| variant.goals.answered).sum();
    (all > 0).then(|| 100.0 * own.goals.answered as f64 / all as f64)
}

/// Returns a latency of the last seconds, if there was any.
fn latency(view: &CatalogueView, of: fn(&LatencySummary) -> u64) -> String {
    match view.figures.latency.count {
        0 => "–".into(),
        _ => format::millis(of(&view.figures.latency)),
    }
}

/// Returns the samples per second run by the network of a model, including the requests of
/// pipelines that use it. Several networks have no common rate.
fn run(view: &CatalogueView, model: &Model) -> Option<f64> {
    let &[member] = &view.members[..] else {
        return None;
    };
    let member = model.snapshot.members.get(member.get())?;
    Some(member.samples_per_s)
}
