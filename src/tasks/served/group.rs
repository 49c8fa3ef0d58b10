//! Variants that are one entry of the catalogue of models.

use divisi_modelless::accuracy::MemberSet;
use divisi_modelless::variants::{
    ModelIndex, TaskIndex, Variant, VariantCatalog, VariantIndex, VariantPrecision,
};

/// Variants of the same members in the same precision: they differ in the kind of device and in the
/// batch size alone, and are one entry of the catalogue of models.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantGroup {
    /// The name of its entry.
    pub name: String,
    /// The task.
    pub task: TaskIndex,
    /// The ensemble, by its number among those of the task.
    pub model: ModelIndex,
    /// The members that answer.
    pub members: MemberSet,
    /// The numbers that they compute in.
    pub precision: VariantPrecision,
    /// Its variants, from the cheapest query to the dearest.
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

/// Returns the groups of all variants of a catalogue; `name` names the entry of a variant.
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
