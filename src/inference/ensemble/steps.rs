//! The steps of an entry, and the entries that run them.

use std::collections::HashMap;

use divisi_model::catalogue::{Catalogue, CatalogueEntry, ComposingStep};
use divisi_model::dataflow::StepIndex;
use divisi_model::pipeline::StepRole;
use divisi_runtime::device::MemberIndex;

use crate::protocol::ModelId;
use crate::service::{DescribedStep, InnerEnsemble};

/// Returns the steps of an entry, with the entry of each step's model if it is a single model.
pub(super) fn described(catalogue: &Catalogue, entry: &CatalogueEntry) -> Vec<DescribedStep> {
    let (ensemble, columns) = (entry.ensemble(), entry.columns());
    let alone = |member: MemberIndex| {
        let column = columns.get(member.get())?;
        let mut entries = catalogue.entries().iter();
        entries.find(|other| other.columns()[..] == [*column] && is_alone(other))
    };
    if let Some(pipeline) = &ensemble.pipeline {
        let steps = pipeline.steps().iter().map(|step| {
            let doer = match step.role {
                StepRole::Model(member) => alone(member),
                StepRole::Host(_) | StepRole::Gate(_) => None,
            };
            step_of(&step.name, doer)
        });
        return steps.collect();
    }
    let members = MemberIndex::enumerate(&ensemble.members);
    let steps = members.map(|(index, member)| step_of(&member.name, alone(index)));
    steps.collect()
}

/// Returns a step with its entry, if a single one runs it.
fn step_of(name: &str, doer: Option<&CatalogueEntry>) -> DescribedStep {
    DescribedStep {
        name: name.to_owned(),
        model: doer.map(model_id),
        one_sample: doer.is_some_and(|doer| doer.interface().one_sample),
    }
}

fn model_id(entry: &CatalogueEntry) -> ModelId {
    ModelId::new(entry.name(), &*entry.version().to_string())
}

/// Returns whether an entry is a single model.
fn is_alone(entry: &CatalogueEntry) -> bool {
    let pipeline = entry.ensemble().pipeline.as_ref();
    pipeline.is_none_or(|pipeline| pipeline.steps().len() == 1)
}

/// Returns the ensembles nested in an entry: those that run several of its steps, and those nested
/// in them.
pub(super) fn inner(catalogue: &Catalogue, entry: &CatalogueEntry) -> Vec<InnerEnsemble> {
    let mut all = Vec::new();
    let pipeline = entry.ensemble().pipeline.iter();
    let names = pipeline.flat_map(|p| p.steps()).map(|step| &*step.name);
    let numbers = (0..).map(StepIndex::new);
    let steps: Vec<PathStep<'_>> = numbers.zip(names).collect();
    add_inner(catalogue, &entry.interface().composing, &steps, &mut all);
    all
}

/// The index of a step, and the rest of its name within an ensemble.
type PathStep<'p> = (StepIndex, &'p str);

fn add_inner(
    catalogue: &Catalogue,
    composing: &[ComposingStep],
    steps: &[PathStep<'_>],
    all: &mut Vec<InnerEnsemble>,
) {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for part in composing {
        // The repository names the steps of an ensemble this way.
        let count = uses.entry(&part.model).or_default();
        *count += 1;
        let name = match *count {
            1 => part.model.clone(),
            count => format!("{}-{count}", part.model),
        };
        let is_only = composing.len() == 1;
        let own = steps
            .iter()
            .filter_map(|(number, path)| Some((*number, within(path, &name, is_only)?)));
        let own: Vec<PathStep<'_>> = own.collect();
        let found = catalogue.find(&part.model, part.version);
        let Some(entry) = found.map(|number| &catalogue.entries()[number]) else {
            continue;
        };
        let next = &entry.interface().composing;
        if !next.is_empty() && !own.is_empty() {
            all.push(InnerEnsemble {
                model: model_id(entry),
                steps: own.iter().map(|(number, _)| *number).collect(),
                one_sample: entry.interface().one_sample,
            });
            add_inner(catalogue, next, &own, all);
        }
    }
}

/// Returns the rest of a step's path within the part `name`, or `None` if it belongs to another
/// part. The only step of the only part has the name of its ensemble.
fn within<'p>(path: &'p str, name: &str, is_only: bool) -> Option<&'p str> {
    if path == name || path.is_empty() && is_only {
        return Some("");
    }
    path.strip_prefix(name)?.strip_prefix('/')
}
