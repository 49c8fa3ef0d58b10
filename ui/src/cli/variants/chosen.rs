//! The variant that the fast loop would choose for a query on an idle server, and the reasons
//! against the others.

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

/// The fate of a query with goals on a server without loaded variants.
#[derive(Serialize)]
pub(super) struct ChosenReport {
    /// started: the variant would be loaded and answer in time; next: it would be loaded for later
    /// queries; nearest: no variant meets the goals; none: there is no usable variant.
    fate: ChoiceFate,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<ListedVariant>,
    /// The missed goals in words, or empty if all goals are met.
    misses: Vec<String>,
    /// The reasons against the other variants, in words.
    others: Vec<String>,
    /// The time of the earliest possible answer in milliseconds, if it is too late.
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
    /// Asks the fast loop for its choice among ensembles that are not stale.
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
            variant: Some(ListedVariant::from_variant(
                task,
                model,
                &own(model, variant),
                None,
            )),
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
                format!("chosen: {variant}, the cheapest within the goals")
            }
            (ChoiceFate::Next, soonest) => format!(
                "chosen: {variant}, the cheapest within the goals; while no variant is loaded, a query \
                 is refused, since the earliest answer takes {} ms, including loading",
                significant(soonest.unwrap_or_default())
            ),
            (ChoiceFate::Nearest, _) => {
                format!("no variant meets the goals; the nearest is {variant}: {misses}")
            }
            (ChoiceFate::None, _) => "no usable variant: register the task again".to_owned(),
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
