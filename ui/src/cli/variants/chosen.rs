//! The variant that the fast loop would choose for a query while nothing runs, and why no other.

use anyhow::Result;
use divisi_modelless::choice::{ChoiceRefusal, TaskChoices};
use divisi_modelless::goals::{MissedGoals, QueryGoals};
use divisi_modelless::quantities::{COST_QUERIES, significant};
use divisi_modelless::variants::{Variant, VariantIndex};
use divisi_registry::records::RegisteredModel;
use divisi_registry::store::CatalogedTasks;
use serde::Serialize;

use super::missed;
use super::table::ListedVariant;

/// The fate of a query with goals while nothing runs.
#[derive(Serialize)]
pub(super) struct ChosenReport {
    /// started: it would be loaded and answer in time; next: it would be loaded for later queries;
    /// nearest: none meets the goals; none: nothing can be chosen.
    fate: ChoiceFate,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<ListedVariant>,
    /// The goals that it misses, in words; empty where it meets all.
    misses: Vec<String>,
    /// Why the others were not chosen, in words.
    others: Vec<String>,
    /// The time after which a query now would be answered at the soonest, where that is too late.
    #[serde(skip_serializing_if = "Option::is_none")]
    soonest_ms: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ChoiceFate {
    Started,
    Next,
    Nearest,
    None,
}

impl ChosenReport {
    /// Asks the fast loop, of ensembles that are not stale.
    pub(super) fn of(task: &str, models: &[&RegisteredModel], goals: &QueryGoals) -> Result<Self> {
        let mut tasks = CatalogedTasks::default();
        if models.iter().all(|model| model.variants.is_empty()) {
            return Ok(ChosenReport::none());
        }
        tasks.add(task, models);
        let choices = TaskChoices::new(tasks.finish()?);
        let (fate, index, soonest) = match choices.choose_by_name(task, goals) {
            Ok(chosen) => (ChoiceFate::Started, chosen.variant, None),
            Err(ChoiceRefusal::TooLate {
                start: Some(start),
                soonest,
                ..
            }) => (ChoiceFate::Next, start, Some(soonest)),
            Err(ChoiceRefusal::Unreachable { nearest, .. }) => (ChoiceFate::Nearest, nearest, None),
            Err(_) => return Ok(ChosenReport::none()),
        };
        let variant = choices.catalog().variant(index);
        let model = models[usize::from(variant.model.0)];
        Ok(ChosenReport {
            fate,
            variant: Some(ListedVariant::of(task, model, &own(model, variant), None)),
            misses: missed(variant, goals).in_words(),
            others: others(choices.catalog().variants(), index, goals),
            soonest_ms: soonest.map(|time| 1e3 * time.as_secs_f64()),
        })
    }

    fn none() -> Self {
        ChosenReport {
            fate: ChoiceFate::None,
            variant: None,
            misses: Vec::new(),
            others: Vec::new(),
            soonest_ms: None,
        }
    }

    /// Returns the report as lines.
    pub(super) fn text(&self) -> String {
        let variant = self
            .variant
            .as_ref()
            .map_or_else(String::new, ListedVariant::words);
        let misses = self.misses.join(", ");
        let first = match (self.fate, self.soonest_ms) {
            (ChoiceFate::Started, _) => {
                format!("the fast loop would start {variant}: the cheapest that meets the goals")
            }
            (ChoiceFate::Next, soonest) => format!(
                "the fast loop would start {variant}: the cheapest that meets the goals; a query now \
                 would be refused, since nothing runs and the soonest answers after {} ms, loading \
                 included",
                significant(soonest.unwrap_or_default())
            ),
            (ChoiceFate::Nearest, _) => {
                format!("no variant meets the goals; the nearest is {variant}: {misses}")
            }
            (ChoiceFate::None, _) => "nothing can be chosen: register the task again".to_owned(),
        };
        let lines = std::iter::once(first).chain(self.others.iter().cloned());
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Returns the variant with the device's place in the record of its ensemble.
fn own(model: &RegisteredModel, variant: &Variant) -> Variant {
    let alike = |own: &&Variant| {
        own.members == variant.members
            && own.precision == variant.precision
            && own.batch == variant.batch
            && own.profile == variant.profile
    };
    let found = model.variants.iter().find(alike);
    found.unwrap_or(variant).clone()
}

/// Says why the other variants were not chosen: how many miss which goal, and what the cheapest of
/// those that meet all costs.
fn others(variants: &[Variant], chosen: VariantIndex, goals: &QueryGoals) -> Vec<String> {
    let others = variants
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != chosen.get());
    let others: Vec<(&Variant, MissedGoals)> = others.map(|(_, v)| (v, missed(v, goals))).collect();
    let count = |is: fn(&MissedGoals) -> bool| others.iter().filter(|(_, m)| is(m)).count();
    let kinds = [
        ("accuracy", count(|m| m.accuracy.is_some())),
        ("latency", count(|m| m.latency.is_some())),
        ("cost", count(|m| m.cost.is_some())),
    ];
    let kinds = kinds.into_iter().filter(|(_, count)| *count > 0);
    let misses: Vec<String> = kinds
        .map(|(goal, count)| format!("{goal} {count}"))
        .collect();
    let mut lines = Vec::new();
    if !misses.is_empty() {
        let others = others.len();
        lines.push(format!(
            "misses among the {others} others: {}",
            misses.join(", ")
        ));
    }
    let mut meeting = others
        .iter()
        .filter(|(_, missed)| missed.is_none())
        .peekable();
    if let Some((next, _)) = meeting.peek() {
        let cost = significant(COST_QUERIES * next.query_cost().get());
        let meeting = meeting.count();
        lines.push(format!(
            "others that meet the goals: {meeting}, the cheapest at {cost} a million queries"
        ));
    }
    lines
}
