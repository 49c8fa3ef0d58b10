//! The initial matrix of tasks: every entry on every device that it was profiled on.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::worst_fit;
use divisi_engine::serving::EngineOptions;
use divisi_model::allocation::{Cell, Footprints, Frame, Matrix, PoolSize};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{Device, DeviceIndex, Devices};

use super::{ServedTasks, ServedTasksError, VariantGroup};

/// The bound on the 99th percentile of full batches in the initial matrix, if the smallest batches
/// meet it: queries wait for running batches, whatever their goals.
pub(crate) const FULL_BATCH: Duration = Duration::from_millis(20);

impl ServedTasks {
    /// Returns the initial matrix. Every member is on a device, and on more devices while half of
    /// each device's memory stays free.
    ///
    /// # Errors
    /// Returns an error if not even the smallest batches fit.
    pub fn first_matrix(
        &self,
        devices: &Devices,
        options: EngineOptions,
    ) -> Result<Matrix, ServedTasksError> {
        let catalogue = Catalogue::new("tasks", self.entries.clone())?;
        let pools = PoolSize::for_catalogue(&catalogue, options.pool)?;
        let models = catalogue.models();
        let footprints = Footprints::plan(models, devices).with_pools(&pools);
        let frame = Frame::from_ensemble(models, devices);
        let mut matrix = worst_fit(&frame, devices, &footprints)?;
        for (cell, size) in self.wished(&catalogue, &frame, devices) {
            let Ok(larger) = matrix.with_entry(cell, Some(size)) else {
                continue;
            };
            let booked = footprints.book(&larger, devices);
            let fits = booked.is_ok_and(|ledger| {
                ledger.booked(cell.device) <= devices.memory_bytes(cell.device) / 2
            });
            if fits {
                matrix = larger;
            }
        }
        Ok(matrix)
    }

    /// Returns the cells for all groups with the largest batch size of their members, the cheapest
    /// groups first.
    fn wished(
        &self,
        catalogue: &Catalogue,
        frame: &Arc<Frame>,
        devices: &Devices,
    ) -> Vec<(Cell, BatchSize)> {
        let mut wished: Vec<(Cell, BatchSize)> = Vec::new();
        for (group, entry) in self.groups.iter().zip(catalogue.entries()) {
            for (at, device) in DeviceIndex::enumerate(devices.iter()) {
                let Some(size) = self.size_on(group, device, frame) else {
                    continue;
                };
                for member in entry.columns().iter() {
                    let cell = Cell {
                        device: at,
                        member: *member,
                    };
                    match wished.iter_mut().find(|(known, _)| *known == cell) {
                        Some((_, known)) => *known = size.max(*known),
                        None => wished.push((cell, size)),
                    }
                }
            }
        }
        wished
    }

    /// Returns the batch size of a group on a device, or `None` if it was not profiled there.
    fn size_on(&self, group: &VariantGroup, device: &Device, frame: &Frame) -> Option<BatchSize> {
        let sizes = self.on_device(group, device).map(|index| {
            let variant = self.catalog.variant(index);
            (variant.batch.get() as usize, variant.p99())
        });
        let mut sizes: Vec<(usize, Duration)> = sizes.collect();
        sizes.sort_unstable();
        let soon = sizes.iter().rev().find(|(_, p99)| *p99 <= FULL_BATCH);
        let (size, _) = soon.or(sizes.first())?;
        frame.batch_sizes.iter().find(|known| known.get() == *size)
    }
}
