//! The variant that the fast loop would choose for a query on an idle server, and the reasons
//! against the others.

use std::time::Duration;

use anyhow::Result;
use divisi_modelless::choice::{ChoiceRefusal, TaskChoices};
use divisi_modelless::goals::{ChoicePreference, MissedGoals, QueryGoals};
use divisi_modelless::quantities::{COST_QUERIES, significant};
use divisi_modelless::variants::{Variant, VariantCatalog, VariantIndex};
use divisi_registry::records::RegisteredModel;
use divisi_registry::store::CatalogedTasks;
use serde::Serialize;

use super::table::ListedVariant;
use super::{alone, missed};

/// The fate of a query with goals on an idle server of all variants.
#[derive(Serialize)]
pub(super) struct ChosenReport {
    /// chosen: the variant answers; nearest: no variant meets the goals; none: there is no usable
    /// variant.
    fate: ChoiceFate,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<ListedVariant>,
    /// The missed goals in words, or empty if all goals are met.
    misses: Vec<String>,
    /// The reasons against the other variants, in words.
    others: Vec<String>,
    #[serde(skip)]
    prefer: ChoicePreference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ChoiceFate {
    Chosen,
    Nearest,
    None,
}

impl ChosenReport {
    /// Asks the fast loop for its choice among ensembles that are not stale. Loading does not
    /// count: a server chooses among loaded variants.
    pub(super) fn choose(
        task: &str,
        models: &[&RegisteredModel],
        goals: &QueryGoals,
    ) -> Result<Self> {
        let mut tasks = CatalogedTasks::default();
        if models.iter().all(|model| model.variants.is_empty()) {
            return Ok(ChosenReport::none());
        }
        tasks.add(task, models);
        let choices = idle(tasks.finish()?);
        let (fate, index) = match choices.choose_by_name(task, goals) {
            Ok(chosen) => (ChoiceFate::Chosen, chosen.variant),
            Err(ChoiceRefusal::Unreachable { nearest, .. }) => (ChoiceFate::Nearest, nearest),
            Err(_) => return Ok(ChosenReport::none()),
        };
        let variant = choices.catalog().variant(index);
        let model = models[usize::from(variant.model.0)];
        let own = own(model, variant);
        Ok(ChosenReport {
            fate,
            variant: Some(ListedVariant::from_variant(task, model, &own, None)),
            misses: missed(variant, goals).in_words(),
            others: others(choices.catalog().variants(), index, goals),
            prefer: goals.prefer,
        })
    }

    fn none() -> Self {
        ChosenReport {
            fate: ChoiceFate::None,
            variant: None,
            misses: Vec::new(),
            others: Vec::new(),
            prefer: ChoicePreference::Cheapest,
        }
    }

    /// Returns the report as lines.
    pub(super) fn text(&self) -> String {
        let variant = self
            .variant
            .as_ref()
            .map_or_else(String::new, ListedVariant::words);
        let misses = self.misses.join(", ");
        let which = match self.prefer {
            ChoicePreference::Cheapest => "the cheapest",
            ChoicePreference::MostAccurate => "the most accurate",
        };
        let first = match self.fate {
            ChoiceFate::Chosen => format!("chosen: {variant}, {which} within the goals"),
            ChoiceFate::Nearest => {
                format!("no variant meets the goals; the nearest is {variant}: {misses}")
            }
            ChoiceFate::None => "no usable variant: register the task again".to_owned(),
        };
        let lines = std::iter::once(first).chain(self.others.iter().cloned());
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Returns the choices of an idle server of all variants.
fn idle(catalog: VariantCatalog) -> TaskChoices {
    let alone = catalog.variants().iter().map(alone);
    let alone: Vec<Duration> = alone.collect();
    let mut choices = TaskChoices::new(catalog);
    for (at, finish) in (0_u32..).map(VariantIndex).zip(alone) {
        choices.set_finish(at, Some(finish));
    }
    choices
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

/// Returns the reasons against the other variants: how many miss which goal, and the lowest cost
/// among those that meet all goals.
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
            "goals missed by the {others} others: {}",
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
            "others within the goals: {meeting}, the cheapest at {cost} per million queries"
        ));
    }
    lines
}
