//! All variants of all tasks, in the order of choices.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::answering::AnsweringMembers;
use super::device_kind::{DeviceKindIndex, PricedDevice};
use super::indices::{ModelIndex, TaskIndex, VariantIndex};
use super::profile::DeviceSharing;
use super::variant::Variant;
use crate::quantities::{CostRate, DeviceShare};

/// A task with its registered variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskVariants {
    /// The name used by queries.
    pub name: String,
    /// The names of its ensembles and models, by index.
    pub models: Vec<String>,
    /// The ways to answer it, in any order.
    pub variants: Vec<Variant>,
}

/// All variants of all tasks. The variants of a task are adjacent, from the cheapest query to the
/// most expensive; equally expensive ones are ordered by accuracy, then by speed.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantCatalog {
    devices: Vec<PricedDevice>,
    names: Vec<String>,
    models: Vec<Vec<String>>,
    /// The end of the variants of each task.
    ends: Vec<u32>,
    variants: Vec<Variant>,
    /// The kinds of devices that are cores of the host.
    of_host: Vec<DeviceKindIndex>,
    /// The whole ensembles of each task in their highest precision, the most accurate first.
    wholes: Vec<Vec<AnsweringMembers>>,
}

/// The reasons why tasks do not form a catalogue.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatalogError {
    /// A task has no variants.
    #[error("task `{0}`: expected at least one variant, found none")]
    NoVariants(String),
    /// Two tasks have the same name.
    #[error("task `{0}`: expected each name once, found it twice")]
    Twice(String),
    /// A variant has an unlisted kind of device.
    #[error("task `{task}`: expected a kind of device from 0 to {last}, found {found}")]
    Device {
        /// The task.
        task: String,
        /// The last kind.
        last: usize,
        /// The kind.
        found: u16,
    },
    /// A variant has a model that its task does not have.
    #[error("task `{task}`: expected one of {models} models, found number {found}")]
    Model {
        /// The task.
        task: String,
        /// The number of models.
        models: usize,
        /// The model.
        found: u16,
    },
    /// A variant has no members.
    #[error("task `{0}`: expected variants of at least one member, found one of none")]
    NoMembers(String),
    /// There are more tasks or variants than indices.
    #[error("expected at most 65535 tasks and 4294967295 variants, found more")]
    TooMany,
}

impl VariantCatalog {
    /// Creates a catalogue of tasks and variants for kinds of devices.
    ///
    /// # Errors
    /// Returns an error if a task has no variants or the name of another task, or if a variant has
    /// an unknown kind of device or model, or no members.
    pub fn new(devices: Vec<PricedDevice>, tasks: Vec<TaskVariants>) -> Result<Self, CatalogError> {
        let count: usize = tasks.iter().map(|task| task.variants.len()).sum();
        if u16::try_from(tasks.len()).is_err() || u32::try_from(count).is_err() {
            return Err(CatalogError::TooMany);
        }
        let mut catalog = VariantCatalog {
            devices,
            names: Vec::new(),
            models: Vec::new(),
            ends: Vec::new(),
            variants: Vec::new(),
            of_host: Vec::new(),
            wholes: Vec::new(),
        };
        for task in tasks {
            catalog.check(&task)?;
            catalog.push(task);
        }
        Ok(catalog)
    }

    fn check(&self, task: &TaskVariants) -> Result<(), CatalogError> {
        let name = || task.name.clone();
        if task.variants.is_empty() {
            return Err(CatalogError::NoVariants(name()));
        }
        if self.names.contains(&task.name) {
            return Err(CatalogError::Twice(name()));
        }
        for variant in &task.variants {
            if usize::from(variant.device.0) >= self.devices.len() {
                return Err(CatalogError::Device {
                    task: name(),
                    last: self.devices.len().saturating_sub(1),
                    found: variant.device.0,
                });
            }
            if usize::from(variant.model.0) >= task.models.len() {
                return Err(CatalogError::Model {
                    task: name(),
                    models: task.models.len(),
                    found: variant.model.0,
                });
            }
            if variant.members.is_empty() {
                return Err(CatalogError::NoMembers(name()));
            }
        }
        Ok(())
    }

    fn push(&mut self, mut task: TaskVariants) {
        task.variants.sort_by(cheaper_first);
        self.wholes.push(wholes(&task));
        self.names.push(task.name);
        self.models.push(task.models);
        self.variants.append(&mut task.variants);
        self.ends.push(self.variants.len() as u32);
    }

    /// Returns the same variants with the kinds of devices marked that are cores of the host.
    #[must_use]
    pub fn with_host(&self, is_of_host: impl Fn(&PricedDevice) -> bool) -> Self {
        let kinds = (0..).map(DeviceKindIndex).zip(&self.devices);
        let of_host = kinds.filter(|(_, device)| is_of_host(device));
        VariantCatalog {
            of_host: of_host.map(|(kind, _)| kind).collect(),
            ..self.clone()
        }
    }

    /// Returns whether the devices of a kind are known to be cores of the host.
    pub fn is_of_host(&self, kind: DeviceKindIndex) -> bool {
        self.of_host.contains(&kind)
    }

    /// Returns the same variants in the same order with a minimum loading time.
    #[must_use]
    pub fn loading_in(&self, least: Duration) -> Self {
        let mut later = self.clone();
        for variant in &mut later.variants {
            variant.profile.loading = variant.profile.loading.max(least);
        }
        later
    }

    /// Returns the same variants in the same order, with instances that have a share of their
    /// device's time and a minimum loading time.
    #[must_use]
    pub fn sharing_time(&self, share: DeviceShare, loading: Duration) -> Self {
        let mut shared = self.loading_in(loading);
        for variant in &mut shared.variants {
            let device = &self.devices[usize::from(variant.device.0)];
            variant.profile.sharing = DeviceSharing::Time;
            variant.profile.share = share;
            variant.profile.cost = device.cost(share);
        }
        shared
    }

    /// Returns the same variants in the same order with all prices multiplied by `scale`.
    #[must_use]
    pub fn in_money(&self, scale: f64) -> Self {
        let mut scaled = self.clone();
        let times = |cost: CostRate| CostRate::new(scale * cost.get()).unwrap_or(cost);
        let devices = scaled.devices.iter_mut();
        devices.for_each(|device| device.price = times(device.price));
        let variants = scaled.variants.iter_mut();
        variants.for_each(|variant| variant.profile.cost = times(variant.profile.cost));
        scaled
    }

    /// Returns the kinds of devices.
    pub fn devices(&self) -> &[PricedDevice] {
        &self.devices
    }

    /// Returns all variants; those of a task are adjacent.
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// Returns a variant of this catalogue.
    pub fn variant(&self, index: VariantIndex) -> &Variant {
        &self.variants[index.get()]
    }

    /// Returns the tasks.
    pub fn tasks(&self) -> impl Iterator<Item = TaskIndex> + use<> {
        (0..self.names.len() as u16).map(TaskIndex)
    }

    /// Returns the task with this name.
    pub fn task(&self, name: &str) -> Option<TaskIndex> {
        let at = self.names.iter().position(|n| n == name);
        at.map(|at| TaskIndex(at as u16))
    }

    /// Returns the name of a task of this catalogue.
    pub fn name(&self, task: TaskIndex) -> &str {
        &self.names[usize::from(task.0)]
    }

    /// Returns the names of a task's ensembles and models.
    pub fn models(&self, task: TaskIndex) -> &[String] {
        &self.models[usize::from(task.0)]
    }

    /// Returns the indices of a task's variants.
    pub fn range(&self, task: TaskIndex) -> Range<usize> {
        let at = usize::from(task.0);
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[at] as usize
    }

    /// Returns the most accurate of the whole ensembles of a task, or the whole ensemble of this
    /// number, in its highest precision. Returns `None` if the task has no such ensemble.
    pub fn whole(&self, task: TaskIndex, model: Option<ModelIndex>) -> Option<AnsweringMembers> {
        let mut wholes = self.wholes[usize::from(task.0)].iter();
        let is_asked = |whole: &&AnsweringMembers| model.is_none_or(|model| model == whole.model);
        wholes.find(is_asked).copied()
    }

    /// Returns the task of a variant of this catalogue.
    pub fn task_of(&self, index: VariantIndex) -> TaskIndex {
        TaskIndex(self.ends.partition_point(|end| *end <= index.0) as u16)
    }
}

/// Returns the whole ensembles of a task in their highest precision, the most accurate first.
fn wholes(task: &TaskVariants) -> Vec<AnsweringMembers> {
    let models = (0..task.models.len() as u16).map(ModelIndex);
    let mut wholes: Vec<&Variant> = models.filter_map(|model| whole(task, model)).collect();
    let accuracy = |variant: &Variant| variant.accuracy.value().get();
    wholes.sort_by(|a, b| accuracy(b).total_cmp(&accuracy(a)));
    let members = wholes.into_iter().map(AnsweringMembers::from_variant);
    members.collect()
}

/// Returns a variant of an ensemble with the most members in the highest precision.
fn whole(task: &TaskVariants, model: ModelIndex) -> Option<&Variant> {
    let own = task
        .variants
        .iter()
        .filter(|variant| variant.model == model);
    own.min_by_key(|variant| (Reverse(variant.members.len()), variant.precision))
}

fn cheaper_first(a: &Variant, b: &Variant) -> Ordering {
    let cost = a.query_cost().get().total_cmp(&b.query_cost().get());
    let accuracy = |v: &Variant| v.accuracy.value().get();
    cost.then(accuracy(b).total_cmp(&accuracy(a)))
        .then(a.p99().cmp(&b.p99()))
}
