//! Variants that share an entry in the catalogue of models.

use divisi_modelless::accuracy::MemberSet;
use divisi_modelless::variants::{
    ModelIndex, TaskIndex, Variant, VariantCatalog, VariantIndex, VariantPrecision,
};

/// Variants of the same members in the same precision. They differ only in the kind of device and
/// the batch size, and are one entry in the catalogue of models.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantGroup {
    /// The name of its entry.
    pub name: String,
    /// The task.
    pub task: TaskIndex,
    /// The ensemble, by its number within the task.
    pub model: ModelIndex,
    /// The answering members.
    pub members: MemberSet,
    /// The precision of the members.
    pub precision: VariantPrecision,
    /// Its variants, from the cheapest to the most expensive query.
    pub variants: Vec<VariantIndex>,
}

impl VariantGroup {
    fn has(&self, task: TaskIndex, variant: &Variant) -> bool {
        self.task == task
            && self.model == variant.model
            && self.members == variant.members
            && self.precision == variant.precision
    }
}

/// Returns the groups of all variants of a catalogue; `name` returns the entry name of a variant.
pub(super) fn groups(
    catalog: &VariantCatalog,
    name: impl Fn(TaskIndex, &Variant) -> String,
) -> Vec<VariantGroup> {
    let mut groups: Vec<VariantGroup> = Vec::new();
    for (at, variant) in (0_u32..).zip(catalog.variants()) {
        let index = VariantIndex(at);
        let task = catalog.task_of(index);
        match groups.iter_mut().find(|group| group.has(task, variant)) {
            Some(group) => group.variants.push(index),
            None => groups.push(VariantGroup {
                name: name(task, variant),
                task,
                model: variant.model,
                members: variant.members,
                precision: variant.precision,
                variants: vec![index],
            }),
        }
    }
    groups
}
