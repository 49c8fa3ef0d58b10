//! Groups of variants as entries of the catalogue of models.

use std::collections::BTreeMap;
use std::sync::Arc;

use divisi_model::catalogue::{Interface, NewEntry};
use divisi_model::ensemble::{Ensemble, InterfaceNames};
use divisi_modelless::variants::{
    ModelIndex, TaskIndex, Variant, VariantCatalog, VariantPrecision,
};
use divisi_registry::counts::{set_of, voters};
use divisi_registry::records::RegisteredModel;
use divisi_registry::registration::member_precision;
use divisi_runtime::device::MemberIndex;

use super::group::{VariantGroup, groups};
use super::opened::OpenedTask;
use super::urgency::QueryUrgency;

/// The part of a name for all voting members.
const ALL: &str = "all";

/// Returns the groups of a catalogue's variants, and the entry of each group.
pub(super) fn groups_and_entries(
    catalog: &VariantCatalog,
    opened: &[OpenedTask],
) -> (Vec<VariantGroup>, Vec<NewEntry>) {
    let groups = groups(catalog, |task, variant| name(opened, task, variant));
    let mut computed = BTreeMap::new();
    let levels = QueryUrgency::levels().map(Arc::new);
    let entries = groups.iter().map(|group| {
        let (task, model) = (group.task, group.model);
        let key = (task, model, group.precision);
        let ensemble = computed
            .entry(key)
            .or_insert_with(|| in_precision(&opened_model(opened, task, model).1, group.precision));
        let members: Vec<MemberIndex> = group.members.members().map(MemberIndex::new).collect();
        let mut sub = ensemble.sub_ensemble(group.name.clone(), &members);
        sub.queueing = sub.queueing.or_else(|| levels.clone());
        sub.tensor_names = tensor_names(&opened[usize::from(task.0)]);
        NewEntry::from_ensemble(Arc::new(sub), Interface::default())
    });
    let entries = entries.collect();
    (groups, entries)
}

/// Returns the names of the input and output of a task: those of the ensemble that was registered
/// first, so that a request is valid for all variants.
fn tensor_names(task: &OpenedTask) -> InterfaceNames {
    let first = task
        .models
        .iter()
        .min_by_key(|(model, _)| model.record.registered_at);
    first.map_or_else(InterfaceNames::default, |(_, ensemble)| {
        ensemble.tensor_names.clone()
    })
}

fn opened_model(
    opened: &[OpenedTask],
    task: TaskIndex,
    model: ModelIndex,
) -> &(RegisteredModel, Ensemble) {
    &opened[usize::from(task.0)].models[usize::from(model.0)]
}

/// Returns the ensemble with all members in a precision, which their names include.
fn in_precision(ensemble: &Ensemble, precision: VariantPrecision) -> Ensemble {
    let numbers = member_precision(precision);
    let mut same = ensemble.in_precisions(&vec![numbers; ensemble.members.len()]);
    for member in &mut same.members {
        let name = format!("{}.{precision}", member.name);
        Arc::make_mut(member).name = name;
    }
    same
}

/// Returns the name of a variant's entry: the ensemble, the precision and the members, such as
/// `digits.int8.cnn+mlp`, after the name of the task if it differs.
fn name(opened: &[OpenedTask], task: TaskIndex, variant: &Variant) -> String {
    let task_name = &opened[usize::from(task.0)].name;
    let (model, ensemble) = opened_model(opened, task, variant.model);
    let whole = set_of(&voters(&ensemble.combination()));
    let members = match variant.members == whole {
        true => ALL.to_owned(),
        false => {
            let names = variant.members.members();
            let names = names.filter_map(|at| ensemble.members.get(at).map(|m| m.name.as_str()));
            names.collect::<Vec<_>>().join("+")
        }
    };
    let of_task = match *task_name == model.name {
        true => String::new(),
        false => format!("{task_name}."),
    };
    format!("{of_task}{}.{}.{members}", model.name, variant.precision)
}
