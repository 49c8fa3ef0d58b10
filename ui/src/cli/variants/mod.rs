//! `divisi variants`: the registered variants, and the choice for a query.

mod chosen;
mod table;

use std::cmp::Ordering;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use divisi_modelless::goals::{MissedGoals, QueryGoals};
use divisi_modelless::variants::Variant;
use divisi_registry::records::{RegisteredModel, StaleProfile};
use divisi_registry::store::StoreContents;
use divisi_server::TaskStore;
use serde::Serialize;

use super::args::parse_rate;
use super::goals::GoalArgs;
use super::reporting::{Report, ReportOptions, written_csv};
use super::store::StoreArgs;
use chosen::ChosenReport;
pub(super) use table::{ListedVariant, cells, heads};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct VariantsArgs {
    /// Task name (default: all)
    #[arg(value_name = "TASK")]
    task: Option<String>,
    #[command(flatten)]
    goals: GoalArgs,
    /// Also show the cost of a million queries at this rate, as paid for whole devices: queries a
    /// second
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    rate: Option<f64>,
    /// Sort by cost, time or memory (ascending) or accuracy (descending)
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t)]
    sort: VariantOrder,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    report: ReportOptions,
}

/// The order of a list of variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum VariantOrder {
    #[default]
    Cost,
    Accuracy,
    Latency,
    Loading,
    Memory,
}

/// Variants, and the choice if a task and goals are given.
#[derive(Serialize)]
struct VariantsReport {
    /// Whether no task is registered.
    #[serde(skip)]
    is_empty: bool,
    variants: Vec<ListedVariant>,
    /// Ensembles that have to be registered again.
    stale: Vec<StaleModel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<ChosenReport>,
}

/// An ensemble with unused profiles, and the reason.
#[derive(Serialize)]
struct StaleModel {
    task: String,
    ensemble: String,
    code: &'static str,
    why: String,
}

pub(crate) fn run(args: &VariantsArgs) -> Result<()> {
    let contents = args.store.place().read()?;
    let goals = args.goals.goals();
    let report = VariantsReport::from_store(&contents, args, &goals)?;
    args.report.write(&report)
}

impl VariantOrder {
    fn compare(self, a: &Variant, b: &Variant) -> Ordering {
        let accuracy = |v: &Variant| v.accuracy.value().get();
        let cost = a.query_cost().get().total_cmp(&b.query_cost().get());
        let first = match self {
            VariantOrder::Cost => Ordering::Equal,
            VariantOrder::Accuracy => accuracy(b).total_cmp(&accuracy(a)),
            VariantOrder::Latency => a.p99().cmp(&b.p99()),
            VariantOrder::Loading => a.profile.loading.cmp(&b.profile.loading),
            VariantOrder::Memory => a.profile.memory.cmp(&b.profile.memory),
        };
        first.then(cost)
    }
}

/// Returns the 99th percentile of a variant's time for a query by itself.
fn alone(variant: &Variant) -> Duration {
    variant.profile.latency.p99(1)
}

/// Returns the goals that a variant misses for a query by itself.
fn missed(variant: &Variant, goals: &QueryGoals) -> MissedGoals {
    let accuracy = variant.accuracy.value();
    MissedGoals::compare(goals, accuracy, alone(variant), variant.query_cost())
}

/// An ensemble of a task, and the reason why its profiles are unused, if they are.
struct ShownModel<'a> {
    task: &'a str,
    model: &'a RegisteredModel,
    stale: Option<StaleProfile>,
}

/// Returns the ensembles of one task, or of all.
fn shown<'a>(contents: &'a StoreContents, task: Option<&'a str>) -> Result<Vec<ShownModel<'a>>> {
    if let Some(task) = task {
        contents.task(task)?;
    }
    let tasks = contents.tasks.iter();
    let tasks = tasks.filter(|(name, _)| task.is_none_or(|task| task == *name));
    let models = tasks.flat_map(|(task, models)| {
        models.iter().map(move |model| ShownModel {
            task,
            model,
            stale: TaskStore::stale(model),
        })
    });
    Ok(models.collect())
}

impl VariantsReport {
    fn from_store(
        contents: &StoreContents,
        args: &VariantsArgs,
        goals: &QueryGoals,
    ) -> Result<Self> {
        let models = shown(contents, args.task.as_deref())?;
        let each = models.iter().flat_map(|shown| {
            let variants = shown.model.variants.iter();
            variants.map(move |variant| (shown, variant))
        });
        let mut each: Vec<_> = each
            .filter(|(_, variant)| missed(variant, goals).is_none())
            .collect();
        each.sort_by(|(a, x), (b, y)| a.task.cmp(b.task).then(args.sort.compare(x, y)));
        let rows = each.into_iter().map(|(shown, variant)| {
            let stale = shown.stale.as_ref();
            let listed = ListedVariant::from_variant(shown.task, shown.model, variant, stale);
            listed.at_rate(args.rate, shown.model, variant)
        });
        let chosen = match &args.task {
            Some(task) if *goals != QueryGoals::default() => {
                let fresh = models.iter().filter(|shown| shown.stale.is_none());
                let fresh: Vec<&RegisteredModel> = fresh.map(|shown| shown.model).collect();
                Some(ChosenReport::choose(task, &fresh, goals)?)
            }
            _ => None,
        };
        Ok(VariantsReport {
            is_empty: contents.tasks.is_empty(),
            variants: rows.collect(),
            stale: models.iter().filter_map(StaleModel::from_model).collect(),
            chosen,
        })
    }
}

impl Report for VariantsReport {
    fn text(&self) -> String {
        if self.is_empty {
            return "no registered tasks; register one with `divisi register TASK ENSEMBLE`"
                .to_owned();
        }
        let mut parts = Vec::new();
        let stale = self.stale.iter().map(StaleModel::line);
        parts.push(match self.variants.is_empty() {
            true => "no variant meets all of these goals".to_owned(),
            false => table::text(&self.variants),
        });
        parts.extend(stale);
        parts.extend(self.chosen.as_ref().map(ChosenReport::text));
        parts.join("\n")
    }

    /// Returns one table of variants, whatever else is reported.
    fn csv(&self) -> Result<String> {
        written_csv(|writer| {
            let mut rows = self.variants.iter();
            rows.try_for_each(|row| writer.serialize(row))
        })
    }
}

impl StaleModel {
    fn from_model(shown: &ShownModel<'_>) -> Option<Self> {
        let why = shown.stale.as_ref()?;
        Some(StaleModel {
            task: shown.task.to_owned(),
            ensemble: shown.model.name.clone(),
            code: why.code(),
            why: why.to_string(),
        })
    }

    fn line(&self) -> String {
        format!(
            "`{}` of task `{}` is stale and not used: {}; register it again",
            self.ensemble, self.task, self.why
        )
    }
}
