//! Converts instances to a catalogue of models and a matrix.

use std::sync::Arc;

use divisi_model::allocation::{Cell, Frame, InvalidMatrix, Matrix};
use divisi_model::catalogue::{Catalogue, CatalogueError, NewEntry};
use divisi_model::ensemble::{BatchSize, Member};
use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::variants::VariantIndex;
use divisi_runtime::device::{DeviceIndex, Devices};
use thiserror::Error;

use crate::served::ServedTasks;

/// The models that a deployment serves to run some instances.
#[derive(Clone, Debug)]
pub struct HostedModels {
    /// The groups of variants that can answer.
    pub groups: Vec<usize>,
    /// Their entries in the catalogue of models.
    pub entries: Vec<NewEntry>,
    /// The placement of their members.
    pub matrix: Matrix,
}

/// The reasons why instances cannot be served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HostedModelsError {
    /// The entries do not form a catalogue.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// No member runs, or a batch size is not one of the ensembles'.
    #[error(transparent)]
    Matrix(#[from] InvalidMatrix),
}

impl HostedModels {
    /// Places instances; slots are device indices. A group whose members all run for other groups
    /// can answer too at no cost. A member runs with the largest batch size of its variants on the
    /// device.
    ///
    /// # Errors
    /// Returns an error if there are no instances or the entries cannot be served together.
    pub fn new(
        tasks: &ServedTasks,
        name: &str,
        hosted: &HostedInstances,
        devices: &Devices,
    ) -> Result<Self, HostedModelsError> {
        let groups = groups(tasks, hosted);
        let entries: Vec<NewEntry> = groups
            .iter()
            .map(|at| tasks.entries()[*at].clone())
            .collect();
        let catalogue = Catalogue::new(name, entries.clone())?;
        let frame = Frame::from_ensemble(catalogue.models(), devices);
        let width = frame.members.len();
        let mut cells: Vec<Option<BatchSize>> = vec![None; devices.iter().len() * width];
        for slot in hosted.devices() {
            for (variant, _) in hosted.hosted_on(slot) {
                let group = tasks.group_of(variant);
                let Some(entry) = groups.iter().position(|at| *at == group) else {
                    continue;
                };
                let size = size_of(tasks, variant, &frame);
                for member in catalogue.entries()[entry].columns().iter() {
                    let device = device(slot);
                    let cell = Cell {
                        device,
                        member: *member,
                    };
                    let known = &mut cells[cell.index_in(width)];
                    *known = size.max(*known);
                }
            }
        }
        Ok(HostedModels {
            matrix: Matrix::new(frame, cells)?,
            groups,
            entries,
        })
    }
}

/// Returns the device with the index of a slot.
pub(super) fn device(slot: DeviceSlot) -> DeviceIndex {
    DeviceIndex::new(usize::from(slot.0))
}

fn size_of(tasks: &ServedTasks, variant: VariantIndex, frame: &Frame) -> Option<BatchSize> {
    let batch = tasks.catalog().variant(variant).batch.get() as usize;
    frame.batch_sizes.iter().find(|size| size.get() == batch)
}

/// Returns the groups with instances, and those whose members all belong to such groups.
fn groups(tasks: &ServedTasks, hosted: &HostedInstances) -> Vec<usize> {
    let of = |at: usize| tasks.entries()[at].ensemble.members.iter();
    let hosted = hosted.running().map(|(variant, _)| tasks.group_of(variant));
    let members: Vec<&Arc<Member>> = hosted.flat_map(of).collect();
    let is_there = |member: &Arc<Member>| members.iter().any(|known| Arc::ptr_eq(known, member));
    let all = 0..tasks.groups().len();
    all.filter(|at| of(*at).all(is_there)).collect()
}
