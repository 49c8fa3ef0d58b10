//! Reads the ensembles of registered tasks, and leaves out ensembles that cannot be served.

use std::collections::BTreeSet;
use std::sync::Arc;

use divisi_model::ensemble::Ensemble;
use divisi_modelless::variants::Variant;
use divisi_registry::records::{ModelRecord, RecordedSource, RegisteredModel, StaleProfile};
use divisi_registry::registration::kind_name;
use divisi_registry::store::StoreContents;
use divisi_runtime::device::Devices;

use super::ServedTasksError;

/// Reads an ensemble again from its recorded place.
pub type ReadEnsemble<'r> = &'r dyn Fn(&RecordedSource) -> Result<Ensemble, StaleProfile>;

/// A task, with its ensembles as registered and as read now.
#[derive(Debug)]
pub(super) struct OpenedTask {
    pub(super) name: String,
    /// All ensembles as registered, also those that are not served.
    registered: Vec<RegisteredModel>,
    /// The ensembles that are served, with their variants for the devices.
    pub(super) models: Vec<(RegisteredModel, Ensemble)>,
    pub(super) left_out: Vec<LeftOutEnsemble>,
}

/// An ensemble of a task that is not served, while other ensembles of the task are.
#[derive(Debug)]
pub struct LeftOutEnsemble {
    /// The name of the task.
    pub task: String,
    /// The name of the ensemble.
    pub ensemble: String,
    /// The reason, with the remedy.
    pub why: ServedTasksError,
}

impl OpenedTask {
    /// Reads the ensembles of a task again, and leaves out those whose registration is not valid or
    /// was for other devices. Takes unchanged ensembles from `before`, the task as it is served.
    ///
    /// # Errors
    /// The task is not registered, or none of its ensembles can be served.
    pub(super) fn open(
        contents: &StoreContents,
        name: &str,
        devices: &Devices,
        read: ReadEnsemble<'_>,
        before: Option<&OpenedTask>,
    ) -> Result<Self, ServedTasksError> {
        let registered = contents.task(name)?;
        let kinds: Vec<String> = devices.iter().map(kind_name).collect();
        let mut task = OpenedTask {
            name: name.to_owned(),
            registered: registered.to_vec(),
            models: Vec::new(),
            left_out: Vec::new(),
        };
        for model in registered {
            match served(name, model, &kinds, read, before) {
                Ok(served) => task.models.push(served),
                Err(why) => task.left_out.push(LeftOutEnsemble {
                    task: name.to_owned(),
                    ensemble: model.name.clone(),
                    why,
                }),
            }
        }
        match (task.models.is_empty(), task.left_out.pop()) {
            (true, Some(last)) => Err(last.why),
            (_, last) => {
                task.left_out.extend(last);
                Ok(task)
            }
        }
    }

    /// Returns whether the registrations of the task are the same as when it was read.
    pub(super) fn is_current(&self, contents: &StoreContents) -> bool {
        let now = contents.tasks.get(&self.name);
        now.is_some_and(|now| are_served_alike(&self.registered, now))
    }

    /// Returns whether another reading of the task was of the same registrations.
    pub(super) fn has_same_registrations(&self, other: &OpenedTask) -> bool {
        are_served_alike(&self.registered, &other.registered)
    }

    /// Returns the ensemble of a registration, as it is served.
    fn served(&self, model: &RegisteredModel) -> Option<(&RegisteredModel, &Ensemble)> {
        let mut models = self.models.iter();
        let known = models.find(|(known, _)| known.name == model.name)?;
        let registered = self.registered.iter().find(|r| r.name == model.name)?;
        Some((registered, &known.1))
    }
}

/// Returns whether registrations differ at most in the condition of their profiles, which is marked
/// while they are served.
fn are_served_alike(some: &[RegisteredModel], others: &[RegisteredModel]) -> bool {
    let is_alike = |(one, other): (&RegisteredModel, &RegisteredModel)| {
        let record = ModelRecord {
            condition: other.record.condition,
            ..one.record.clone()
        };
        one.name == other.name && one.variants == other.variants && record == other.record
    };
    some.len() == others.len() && some.iter().zip(others).all(is_alike)
}

/// Returns an ensemble with its variants for kinds of devices.
fn served(
    task: &str,
    model: &RegisteredModel,
    kinds: &[String],
    read: ReadEnsemble<'_>,
    before: Option<&OpenedTask>,
) -> Result<(RegisteredModel, Ensemble), ServedTasksError> {
    let on_devices = variants_on(model, kinds);
    if on_devices.variants.is_empty() {
        return Err(other_devices(task, model, kinds));
    }
    let known = before.and_then(|before| before.served(model));
    if let Some((_, ensemble)) = known.filter(|(registered, _)| *registered == model) {
        return Ok((on_devices, ensemble.clone()));
    }
    let ensemble = model.record.read_again(read);
    let mut ensemble = ensemble.map_err(|why| ServedTasksError::Stale {
        task: task.to_owned(),
        ensemble: model.name.clone(),
        why,
    })?;
    if let Some((registered, known)) = known {
        share_networks(&mut ensemble, model, registered, known);
    }
    Ok((on_devices, ensemble))
}

/// Takes the networks of members that did not change from the ensemble as it is served, so that the
/// next engine shares them.
fn share_networks(
    ensemble: &mut Ensemble,
    model: &RegisteredModel,
    registered: &RegisteredModel,
    known: &Ensemble,
) {
    let records = model.record.members.iter().zip(&registered.record.members);
    let members = ensemble.members.iter_mut().zip(&known.members);
    for ((now, then), (member, known)) in records.zip(members) {
        if now == then {
            let member = Arc::make_mut(member);
            (member.graph, member.weights) = (Arc::clone(&known.graph), Arc::clone(&known.weights));
        }
    }
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

fn other_devices(task: &str, model: &RegisteredModel, kinds: &[String]) -> ServedTasksError {
    let devices = model.record.devices.iter();
    ServedTasksError::Devices {
        task: task.to_owned(),
        ensemble: model.name.clone(),
        registered: listed(devices.map(|device| device.name.clone())),
        found: listed(kinds.iter().cloned()),
    }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let distinct: BTreeSet<String> = names.collect();
    distinct.into_iter().collect::<Vec<_>>().join(", ")
}
