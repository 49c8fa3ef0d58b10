//! Registered tasks as a catalogue of models, with the entry of each variant.

mod entries;
mod error;
mod group;
mod matrix;
mod running;
mod urgency;

use std::collections::BTreeSet;
use std::sync::Arc;

use divisi_model::catalogue::NewEntry;
use divisi_model::ensemble::Ensemble;
use divisi_modelless::variants::{TaskIndex, Variant, VariantCatalog, VariantIndex};
use divisi_registry::records::{RecordedSource, RegisteredModel, StaleProfile};
use divisi_registry::registration::kind_name;
use divisi_registry::store::{CatalogedTasks, StoreContents};
use divisi_runtime::device::Devices;

pub use error::ServedTasksError;
pub use group::VariantGroup;
pub(crate) use matrix::FULL_BATCH;
pub use running::RunningVariant;
pub use urgency::{QueryUrgency, TaskQuery};

/// A task, with its ensembles as registered and as read now.
struct OpenedTask {
    name: String,
    models: Vec<(RegisteredModel, Ensemble)>,
}

/// The variants of registered tasks and their entries in the catalogue of models.
pub struct ServedTasks {
    catalog: VariantCatalog,
    groups: Vec<VariantGroup>,
    entries: Vec<NewEntry>,
    /// The group of each variant.
    of_variant: Vec<usize>,
    /// Whether the requests of each group are ordered by the urgency of queries.
    by_urgency: Vec<bool>,
}

impl ServedTasks {
    /// Opens the tasks of a store with the variants that the devices can run; `read` reads an
    /// ensemble again.
    ///
    /// # Errors
    /// Returns an error if a task is not registered, its registration is out of date, or none of
    /// its variants fits the devices.
    pub fn open(
        contents: &StoreContents,
        names: &[String],
        devices: &Devices,
        read: impl Fn(&RecordedSource) -> Result<Ensemble, StaleProfile>,
    ) -> Result<Self, ServedTasksError> {
        let kinds: Vec<String> = devices.iter().map(kind_name).collect();
        let opened = names.iter().map(|name| opened(contents, name, &read));
        let opened = opened.collect::<Result<Vec<OpenedTask>, _>>()?;
        let mut cataloged = CatalogedTasks::default();
        for task in &opened {
            let models = task
                .models
                .iter()
                .map(|(model, _)| variants_on(model, &kinds));
            let models: Vec<RegisteredModel> = models.collect();
            if models.iter().all(|model| model.variants.is_empty()) {
                return Err(other_devices(task, &kinds));
            }
            cataloged.add(&task.name, &models.iter().collect::<Vec<_>>());
        }
        Ok(ServedTasks::from_opened(cataloged.finish()?, &opened))
    }

    fn from_opened(catalog: VariantCatalog, opened: &[OpenedTask]) -> Self {
        let (groups, entries) = entries::groups_and_entries(&catalog, opened);
        let mut of_variant = vec![0; catalog.variants().len()];
        for (number, group) in groups.iter().enumerate() {
            let variants = group.variants.iter();
            variants.for_each(|variant| of_variant[variant.get()] = number);
        }
        let levels = QueryUrgency::levels();
        let queueing = entries.iter().map(|entry| &entry.ensemble.queueing);
        ServedTasks {
            by_urgency: queueing.map(|q| q.as_deref() == levels.as_ref()).collect(),
            catalog,
            groups,
            entries,
            of_variant,
        }
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

/// Reads the ensembles of a task again, and checks that their registrations are still valid.
fn opened(
    contents: &StoreContents,
    name: &str,
    read: impl Fn(&RecordedSource) -> Result<Ensemble, StaleProfile>,
) -> Result<OpenedTask, ServedTasksError> {
    let models = contents.task(name)?.iter().map(|model| {
        let ensemble = model.record.read_again(&read);
        let ensemble = ensemble.map_err(|why| ServedTasksError::Stale {
            task: name.to_owned(),
            ensemble: model.name.clone(),
            why,
        })?;
        Ok((model.clone(), ensemble))
    });
    Ok(OpenedTask {
        name: name.to_owned(),
        models: models.collect::<Result<_, ServedTasksError>>()?,
    })
}

/// Returns a model with only its variants on some kinds of devices.
fn variants_on(model: &RegisteredModel, kinds: &[String]) -> RegisteredModel {
    let devices = &model.record.devices;
    let is_there = |variant: &&Variant| {
        let device = devices.get(usize::from(variant.device.0));
        device.is_some_and(|device| kinds.contains(&device.name))
    };
    RegisteredModel {
        variants: model.variants.iter().filter(is_there).cloned().collect(),
        ..model.clone()
    }
}

fn other_devices(task: &OpenedTask, kinds: &[String]) -> ServedTasksError {
    let devices = task
        .models
        .iter()
        .flat_map(|(model, _)| &model.record.devices);
    let registered = devices.map(|device| device.name.clone());
    ServedTasksError::Devices {
        task: task.name.clone(),
        registered: listed(registered),
        found: listed(kinds.iter().cloned()),
    }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let distinct: BTreeSet<String> = names.collect();
    distinct.into_iter().collect::<Vec<_>>().join(", ")
}
