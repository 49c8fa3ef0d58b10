//! The contents of a store at one moment.

use std::collections::BTreeMap;

use divisi_modelless::variants::{
    CatalogError, DeviceKindIndex, ModelIndex, PricedDevice, TaskVariants, Variant, VariantCatalog,
};
use redb::ReadTransaction;

use super::error::StoreError;
use super::schema::{JOBS, MODELS, VARIANTS, decoded};
use crate::records::{JobRecord, OtherClass, RecordedSource, RegisteredModel, TaskInterface};

/// The contents of a store at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreContents {
    /// The ensembles of each task, in the order of their names.
    pub tasks: BTreeMap<String, Vec<RegisteredModel>>,
    /// Jobs by their numbers.
    pub jobs: BTreeMap<u64, JobRecord>,
}

/// The tasks of a catalogue under construction, and their kinds of devices.
#[derive(Clone, Debug, Default)]
pub struct CatalogedTasks {
    /// Each device with the time of the registration that set its price.
    devices: Vec<(PricedDevice, u64)>,
    tasks: Vec<TaskVariants>,
}

impl StoreContents {
    pub(super) fn read(reading: &ReadTransaction) -> Result<Self, StoreError> {
        let mut contents = StoreContents::default();
        let (models, variants) = (reading.open_table(MODELS)?, reading.open_table(VARIANTS)?);
        for entry in models.range::<(&str, &str)>(..)? {
            let (key, record) = entry?;
            let (task, name) = key.value();
            let of_model = variants.range((task, name, 0)..=(task, name, u32::MAX))?;
            let own = of_model.map(|entry| decoded(entry?.1.value()));
            let models = contents.tasks.entry(task.to_owned()).or_default();
            models.push(RegisteredModel {
                name: name.to_owned(),
                record: decoded(record.value())?,
                variants: own.collect::<Result<Vec<Variant>, StoreError>>()?,
            });
        }
        for entry in reading.open_table(JOBS)?.range::<u64>(..)? {
            let (number, job) = entry?;
            contents.jobs.insert(number.value(), decoded(job.value())?);
        }
        Ok(contents)
    }

    /// Returns the ensembles of a task.
    ///
    /// # Errors
    /// The task is not registered.
    pub fn task(&self, name: &str) -> Result<&[RegisteredModel], StoreError> {
        let models = self.tasks.get(name).map(Vec::as_slice);
        models.ok_or_else(|| {
            let known = match self.tasks.is_empty() {
                true => "none".to_owned(),
                false => self.tasks.keys().cloned().collect::<Vec<_>>().join(", "),
            };
            let why = format_args!("task `{name}` is not registered; registered tasks: {known}");
            StoreError::of_task("task_unknown", why)
        })
    }

    /// Checks that an ensemble has the same samples and answers as the task's other ensembles.
    ///
    /// # Errors
    /// An ensemble of another name has other samples or answers.
    pub fn check_interface(
        &self,
        task: &str,
        name: &str,
        found: &TaskInterface,
    ) -> Result<(), StoreError> {
        for other in self.others(task, name) {
            let expected = &other.record.interface;
            if !found.fits(expected) {
                let why = format_args!(
                    "task `{task}`: expected {expected}, as in its other ensembles, found {found}"
                );
                return Err(StoreError::of_task("task_interface", why));
            }
            if let Some(class) = expected.other_class(found) {
                let OtherClass {
                    class,
                    expected,
                    found,
                } = class;
                let why = format_args!(
                    "task `{task}`: expected class {class} to be `{expected}`, as in its other \
                     ensembles, found `{found}`; all ensembles of a task need the same order of \
                     classes"
                );
                return Err(StoreError::of_task("task_classes", why));
            }
        }
        Ok(())
    }

    /// Returns the other ensembles of a task whose accuracies were counted on other rows than those
    /// of an ensemble.
    pub fn counted_on_other_rows(&self, task: &str, model: &RegisteredModel) -> Vec<&str> {
        let rows = &model.record.rows;
        let others = self.others(task, &model.name);
        let others = others.filter(|other| other.record.rows != *rows);
        others.map(|other| other.name.as_str()).collect()
    }

    /// Returns the ensembles of a task with other names.
    fn others(&self, task: &str, name: &str) -> impl Iterator<Item = &RegisteredModel> {
        let all = self.tasks.get(task).into_iter().flatten();
        all.filter(move |other| other.name != name)
    }

    /// Checks that the task has no ensemble of this name from another source.
    ///
    /// # Errors
    /// There is one; the error names both sources.
    pub fn check_source(
        &self,
        task: &str,
        name: &str,
        found: &RecordedSource,
    ) -> Result<(), StoreError> {
        let mut models = self.tasks.get(task).into_iter().flatten();
        let known = models.find(|known| known.name == name && known.record.source != *found);
        match known {
            None => Ok(()),
            Some(known) => {
                let registered = &known.record.source;
                let why = format_args!(
                    "task `{task}` has an ensemble `{name}` from {registered}, found another one \
                     from {found}; replace it with --replace, or keep both with --name NAME"
                );
                Err(StoreError::of_task("task_ensemble_name", why))
            }
        }
    }

    /// Returns the names of some ensembles of a task, each once, or of all of them if none are named.
    pub(super) fn named(&self, task: &str, names: &[String]) -> Result<Vec<String>, StoreError> {
        let known = self.task(task)?.iter().map(|model| model.name.clone());
        let known: Vec<String> = known.collect();
        match names.iter().find(|name| !known.contains(name)) {
            _ if names.is_empty() => Ok(known),
            None => Ok(known
                .into_iter()
                .filter(|name| names.contains(name))
                .collect()),
            Some(asked) => {
                let known = known.join(", ");
                let why =
                    format_args!("task `{task}` has no ensemble `{asked}`; its ensembles: {known}");
                Err(StoreError::of_task("task_ensemble_unknown", why))
            }
        }
    }
}

impl CatalogedTasks {
    /// Adds a task with some of its ensembles. Kinds of devices with the same name are merged: the
    /// latest price and the smallest memory apply.
    pub fn add(&mut self, task: &str, models: &[&RegisteredModel]) {
        let mut added = TaskVariants {
            name: task.to_owned(),
            models: Vec::new(),
            variants: Vec::new(),
        };
        for (number, model) in (0_u16..).zip(models) {
            added.models.push(model.name.clone());
            let devices = model.record.devices.iter();
            let at = model.record.registered_at;
            let places: Vec<DeviceKindIndex> = devices.map(|d| self.place(d, at)).collect();
            let own = model.variants.iter().map(|variant| Variant {
                model: ModelIndex(number),
                // The catalogue refuses a variant without a device.
                device: places
                    .get(usize::from(variant.device.0))
                    .copied()
                    .unwrap_or(DeviceKindIndex(u16::MAX)),
                ..variant.clone()
            });
            added.variants.extend(own);
        }
        self.tasks.push(added);
    }

    /// Returns the position of a kind of device from a registration at a given time.
    fn place(&mut self, device: &PricedDevice, registered_at: u64) -> DeviceKindIndex {
        let mut kinds = self.devices.iter();
        let known = kinds.position(|(known, _)| known.name == device.name);
        let at = known.unwrap_or(self.devices.len());
        match self.devices.get_mut(at) {
            None => self.devices.push((device.clone(), registered_at)),
            Some((known, priced_at)) => {
                known.memory = known.memory.min(device.memory);
                if registered_at >= *priced_at {
                    (known.price, *priced_at) = (device.price, registered_at);
                }
            }
        }
        DeviceKindIndex(u16::try_from(at).unwrap_or(u16::MAX))
    }

    /// Returns the catalogue.
    ///
    /// # Errors
    /// A task has no variants, or a variant refers to an unknown device, model or member.
    pub fn finish(mut self) -> Result<VariantCatalog, CatalogError> {
        let devices: Vec<PricedDevice> = self.devices.into_iter().map(|(kind, _)| kind).collect();
        for variant in self.tasks.iter_mut().flat_map(|task| &mut task.variants) {
            if let Some(kind) = devices.get(usize::from(variant.device.0)) {
                variant.profile.cost = kind.cost(variant.profile.share);
            }
        }
        VariantCatalog::new(devices, self.tasks)
    }
}
