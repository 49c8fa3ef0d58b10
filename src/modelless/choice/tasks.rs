//! The choice tables of all tasks of a catalogue.

use std::time::Duration;

use super::chosen::{ChoiceRefusal, ChosenVariant};
use super::load::VariantLoad;
use super::table::ChoiceTable;
use crate::goals::QueryGoals;
use crate::variants::{TaskIndex, VariantCatalog, VariantIndex};

/// The variants of every task, with their load.
#[derive(Clone, Debug)]
pub struct TaskChoices {
    catalog: VariantCatalog,
    tables: Vec<ChoiceTable>,
}

impl TaskChoices {
    /// Creates the tables of a catalogue without running variants.
    pub fn new(catalog: VariantCatalog) -> Self {
        let tables = catalog.tasks().map(|task| ChoiceTable::new(&catalog, task));
        let tables = tables.collect();
        TaskChoices { catalog, tables }
    }

    /// Returns the catalogue.
    pub fn catalog(&self) -> &VariantCatalog {
        &self.catalog
    }

    /// Sets the load of a variant.
    pub fn set_load(&mut self, variant: VariantIndex, load: VariantLoad) {
        let task = self.catalog.task_of(variant);
        if let Some(table) = self.tables.get_mut(usize::from(task.0)) {
            table.set_load(&self.catalog, variant, load);
        }
    }

    /// Sets the expected answer time of a variant, or `None` if it does not run.
    pub fn set_finish(&mut self, variant: VariantIndex, finish: Option<Duration>) {
        let task = self.catalog.task_of(variant);
        if let Some(table) = self.tables.get_mut(usize::from(task.0)) {
            table.set_finish(variant, finish);
        }
    }

    /// Chooses the variant that answers a query of a task.
    ///
    /// # Errors
    /// Returns the errors of [`ChoiceTable::choose`].
    pub fn choose(
        &self,
        task: TaskIndex,
        goals: &QueryGoals,
    ) -> Result<ChosenVariant, ChoiceRefusal> {
        self.tables[usize::from(task.0)].choose(goals)
    }

    /// Returns the running variant of a task that is nearest to the goals, however late.
    pub fn nearest(&self, task: TaskIndex, goals: &QueryGoals) -> Option<ChosenVariant> {
        self.tables[usize::from(task.0)].nearest(goals)
    }

    /// Chooses the variant that answers a query of the task with this name.
    ///
    /// # Errors
    /// Returns an error if the task is not registered, and the errors of [`ChoiceTable::choose`].
    pub fn choose_by_name(
        &self,
        task: &str,
        goals: &QueryGoals,
    ) -> Result<ChosenVariant, ChoiceRefusal> {
        match self.catalog.task(task) {
            Some(task) => self.choose(task, goals),
            None => Err(self.unknown(task)),
        }
    }

    fn unknown(&self, asked: &str) -> ChoiceRefusal {
        let names = self.catalog.tasks().map(|task| self.catalog.name(task));
        let names: Vec<&str> = names.collect();
        ChoiceRefusal::UnknownTask {
            asked: asked.to_owned(),
            known: names.join(", "),
        }
    }
}
