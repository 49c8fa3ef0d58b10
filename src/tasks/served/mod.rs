//! Registered tasks as a catalogue of models: which entry of it each variant is.

mod entries;
mod error;
mod group;
mod matrix;

use std::sync::Arc;

use divisi::catalogue::NewEntry;
use divisi::device::Devices;
use divisi::ensemble::Ensemble;
use divisi_modelless::variants::{TaskIndex, VariantCatalog, VariantIndex};
use divisi_registry::records::{ProfileOrigin, RegisteredModel, StaleProfile};
use divisi_registry::registration::kind_name;
use divisi_registry::store::{CatalogedTasks, StoreContents};

pub use error::ServedTasksError;
pub use group::VariantGroup;

/// A task, with its ensembles as they were registered and as they are.
struct OpenedTask {
    name: String,
    models: Vec<(RegisteredModel, Ensemble)>,
}

/// See the module's text.
pub struct ServedTasks {
    catalog: VariantCatalog,
    groups: Vec<VariantGroup>,
    entries: Vec<NewEntry>,
    /// The group of each variant.
    of_variant: Vec<usize>,
}

impl ServedTasks {
    /// Opens tasks of a store, of whose variants those are served that some of the devices run; `read`
    /// reads the ensemble of a model again.
    ///
    /// # Errors
    /// Nobody registered a task, what was registered is stale, or none of its variants is for such
    /// devices.
    pub fn open(
        contents: &StoreContents,
        names: &[String],
        devices: &Devices,
        read: impl Fn(&RegisteredModel) -> Result<Ensemble, StaleProfile>,
    ) -> Result<Self, ServedTasksError> {
        let kinds: Vec<String> = devices.iter().map(kind_name).collect();
        let opened = names.iter().map(|name| opened(contents, name, &read));
        let opened = opened.collect::<Result<Vec<OpenedTask>, _>>()?;
        let mut cataloged = CatalogedTasks::default();
        for task in &opened {
            let models = task.models.iter().map(|(model, _)| on(model, &kinds));
            let models: Vec<RegisteredModel> = models.collect();
            if models.iter().all(|model| model.variants.is_empty()) {
                return Err(other_devices(task, &kinds));
            }
            cataloged.add(&task.name, &models);
        }
        Ok(ServedTasks::of(cataloged.finish()?, &opened))
    }

    fn of(catalog: VariantCatalog, opened: &[OpenedTask]) -> Self {
        let (groups, entries) = entries::all(&catalog, opened);
        let mut of_variant = vec![0; catalog.variants().len()];
        for (number, group) in groups.iter().enumerate() {
            let variants = group.variants.iter();
            variants.for_each(|variant| of_variant[variant.get()] = number);
        }
        ServedTasks {
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

    /// Returns the groups of variants, each of which is an entry of the catalogue of models.
    pub fn groups(&self) -> &[VariantGroup] {
        &self.groups
    }

    /// Returns the number of a variant's group.
    pub fn group_of(&self, variant: VariantIndex) -> usize {
        self.of_variant[variant.get()]
    }

    /// Returns the entries of the catalogue of models, one a group. Members that groups share are the
    /// same.
    pub fn entries(&self) -> &[NewEntry] {
        &self.entries
    }

    /// Returns the names of the tasks.
    pub fn names(&self) -> impl Iterator<Item = (TaskIndex, &str)> {
        let tasks = self.catalog.tasks();
        tasks.map(|task| (task, self.catalog.name(task)))
    }

    /// Returns the entry of a group of a task whose members are the most.
    pub fn whole(&self, task: TaskIndex) -> Option<(&VariantGroup, &Arc<Ensemble>)> {
        let groups = self.groups.iter().zip(&self.entries);
        let of_task = groups.filter(|(group, _)| group.task == task);
        let whole = of_task.max_by_key(|(group, _)| group.members.len());
        whole.map(|(group, entry)| (group, &entry.ensemble))
    }
}

fn opened(
    contents: &StoreContents,
    name: &str,
    read: impl Fn(&RegisteredModel) -> Result<Ensemble, StaleProfile>,
) -> Result<OpenedTask, ServedTasksError> {
    let here = ProfileOrigin::here();
    let models = contents.task(name)?.iter().map(|model| {
        let stale = model.record.stale_on(&here);
        let ensemble = stale.map_or_else(|| read(model), Err)?;
        match model.record.stale_for(&ensemble) {
            Some(why) => Err(why),
            None => Ok((model.clone(), ensemble)),
        }
        .map_err(|why| (model.name.clone(), why))
    });
    let _ = models;
    todo!()
}
