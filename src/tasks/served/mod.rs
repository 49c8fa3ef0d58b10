//! Registered tasks as a catalogue of models, with the entry of each variant.

mod entries;
mod error;
mod group;
mod matrix;
mod opened;
mod running;
mod urgency;

use std::sync::Arc;

use divisi_model::catalogue::NewEntry;
use divisi_model::ensemble::Ensemble;
use divisi_modelless::variants::{TaskIndex, VariantCatalog, VariantIndex};
use divisi_registry::records::{RecordedSource, RegisteredModel, StaleProfile};
use divisi_registry::store::{CatalogedTasks, StoreContents};
use divisi_runtime::device::Devices;

pub use error::ServedTasksError;
pub use group::VariantGroup;
pub(crate) use matrix::FULL_BATCH;
pub use opened::{LeftOutEnsemble, ReadEnsemble};
pub use running::RunningVariant;
pub use urgency::{QueryUrgency, TaskQuery};

use opened::OpenedTask;

/// The version of every task and of its ensembles.
pub(crate) const VERSION: &str = "1";

/// The variants of registered tasks and their entries in the catalogue of models.
pub struct ServedTasks {
    /// The names of the tasks to serve.
    names: Vec<String>,
    opened: Vec<OpenedTask>,
    dropped: Vec<DroppedTask>,
    catalog: VariantCatalog,
    groups: Vec<VariantGroup>,
    entries: Vec<NewEntry>,
    /// The group of each variant.
    of_variant: Vec<usize>,
    /// Whether the requests of each group are ordered by the urgency of queries.
    by_urgency: Vec<bool>,
}

/// A task that was served and no longer is.
#[derive(Debug)]
pub struct DroppedTask {
    /// Its name.
    pub task: String,
    /// Its registered ensembles, or `None` if it is not registered.
    registered: Option<Vec<RegisteredModel>>,
    /// The reason, with the remedy.
    pub why: ServedTasksError,
}

impl ServedTasks {
    /// Opens the tasks of a store with the variants that the devices can run; `read` reads an
    /// ensemble again. An ensemble that cannot be served is [left out](ServedTasks::left_out).
    ///
    /// # Errors
    /// Returns an error if a task is not registered, or none of its ensembles can be served: each
    /// registration is out of date or for other devices.
    pub fn open(
        contents: &StoreContents,
        names: &[String],
        devices: &Devices,
        read: impl Fn(&RecordedSource) -> Result<Ensemble, StaleProfile>,
    ) -> Result<Self, ServedTasksError> {
        let opened = names
            .iter()
            .map(|name| OpenedTask::open(contents, name, devices, &read, None));
        ServedTasks::from_opened(opened.collect::<Result<_, _>>()?, names, Vec::new())
    }

    /// Opens the tasks again after a change of the store, or returns `None` if their registrations
    /// are unchanged. Unchanged ensembles are not read again, and members that did not change keep
    /// their networks. A task that can no longer be served is [dropped](ServedTasks::dropped).
    ///
    /// # Errors
    /// Returns an error if the variants do not form a catalogue.
    pub fn reopened(
        &self,
        contents: &StoreContents,
        devices: &Devices,
        read: ReadEnsemble<'_>,
    ) -> Result<Option<Self>, ServedTasksError> {
        if self.is_current(contents) {
            return Ok(None);
        }
        let (mut opened, mut dropped) = (Vec::new(), Vec::new());
        for name in &self.names {
            let before = self.opened.iter().find(|task| task.name == *name);
            match OpenedTask::open(contents, name, devices, read, before) {
                Ok(task) => opened.push(task),
                Err(why) => dropped.push(DroppedTask {
                    task: name.clone(),
                    registered: contents.tasks.get(name).cloned(),
                    why,
                }),
            }
        }
        ServedTasks::from_opened(opened, &self.names, dropped).map(Some)
    }

    fn is_current(&self, contents: &StoreContents) -> bool {
        let is_same = |dropped: &DroppedTask| {
            contents.tasks.get(&dropped.task) == dropped.registered.as_ref()
        };
        self.opened.iter().all(|task| task.is_current(contents)) && self.dropped.iter().all(is_same)
    }

    fn from_opened(
        opened: Vec<OpenedTask>,
        names: &[String],
        dropped: Vec<DroppedTask>,
    ) -> Result<Self, ServedTasksError> {
        let mut cataloged = CatalogedTasks::default();
        for task in &opened {
            let models = task.models.iter().map(|(model, _)| model);
            cataloged.add(&task.name, &models.collect::<Vec<_>>());
        }
        let catalog = cataloged.finish()?;
        let (groups, entries) = entries::groups_and_entries(&catalog, &opened);
        let mut of_variant = vec![0; catalog.variants().len()];
        for (number, group) in groups.iter().enumerate() {
            let variants = group.variants.iter();
            variants.for_each(|variant| of_variant[variant.get()] = number);
        }
        let levels = QueryUrgency::levels();
        let queueing = entries.iter().map(|entry| &entry.ensemble.queueing);
        Ok(ServedTasks {
            by_urgency: queueing.map(|q| q.as_deref() == levels.as_ref()).collect(),
            names: names.to_vec(),
            opened,
            dropped,
            catalog,
            groups,
            entries,
            of_variant,
        })
    }

    /// Returns whether a task has the same registrations in other served tasks.
    pub(crate) fn has_same(&self, other: &ServedTasks, task: &str) -> bool {
        let of = |tasks: &'_ Self| tasks.opened.iter().position(|opened| opened.name == task);
        let (own, others) = (of(self), of(other));
        own.zip(others).is_some_and(|(own, others)| {
            self.opened[own].has_same_registrations(&other.opened[others])
        })
    }

    /// Returns the ensembles of served tasks that are not served.
    pub fn left_out(&self) -> impl Iterator<Item = &LeftOutEnsemble> {
        self.opened.iter().flat_map(|task| &task.left_out)
    }

    /// Returns the tasks that were served before and no longer are.
    pub fn dropped(&self) -> &[DroppedTask] {
        &self.dropped
    }

    /// Returns a line for each ensemble and task that is not served, with the reason and the remedy.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        let ensembles = self
            .left_out()
            .map(|left| format!("not served: {}", left.why));
        let tasks = self.dropped.iter();
        let tasks = tasks.map(|d| format!("task `{}` is no longer served: {}", d.task, d.why));
        ensembles.chain(tasks)
    }

    /// Returns the variants of all tasks.
    pub fn catalog(&self) -> &VariantCatalog {
        &self.catalog
    }

    /// Returns the groups of variants, each an entry in the catalogue of models.
    pub fn groups(&self) -> &[VariantGroup] {
        &self.groups
    }

    /// Returns the number of a variant's group.
    pub fn group_of(&self, variant: VariantIndex) -> usize {
        self.of_variant[variant.get()]
    }

    /// Returns the entries of the catalogue of models, one per group. Groups share equal members.
    pub fn entries(&self) -> &[NewEntry] {
        &self.entries
    }

    /// Returns the names of the tasks.
    pub fn names(&self) -> impl Iterator<Item = (TaskIndex, &str)> {
        let tasks = self.catalog.tasks();
        tasks.map(|task| (task, self.catalog.name(task)))
    }

    /// Returns a variant in words: `digits.int8.all in batches of 16 on 1 core`.
    pub fn words(&self, variant: VariantIndex) -> String {
        let group = &self.groups[self.group_of(variant)];
        let variant = self.catalog.variant(variant);
        let device = self.catalog.devices().get(usize::from(variant.device.0));
        let device = device.map_or("", |device| device.name.as_str());
        format!("{} in batches of {} on {device}", group.name, variant.batch)
    }

    /// Returns the entry of a task's group with the most members.
    pub fn whole(&self, task: TaskIndex) -> Option<(&VariantGroup, &Arc<Ensemble>)> {
        let groups = self.groups.iter().zip(&self.entries);
        let of_task = groups.filter(|(group, _)| group.task == task);
        let whole = of_task.max_by_key(|(group, _)| group.members.len());
        whole.map(|(group, entry)| (group, &entry.ensemble))
    }
}
