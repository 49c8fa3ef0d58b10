//! The variants that a matrix runs.

use std::sync::Arc;

use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::Ensemble;
use divisi_modelless::variants::VariantIndex;
use divisi_registry::registration::kind_name;
use divisi_runtime::device::{Device, DeviceIndex, Devices, MemberIndex};

use super::{ServedTasks, VariantGroup};

/// A running variant.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningVariant {
    /// The variant.
    pub variant: VariantIndex,
    /// The number of its entry in the catalogue of models.
    pub entry: usize,
    /// The devices of its members, each with its share of the work for a sample; the shares add up
    /// to 1.
    pub devices: Vec<(DeviceIndex, f64)>,
}

impl ServedTasks {
    /// Returns whether a catalogue of models has entries of these tasks as they were opened here,
    /// or there are no entries to serve.
    pub(crate) fn is_served_by(&self, catalogue: &Catalogue) -> bool {
        let is_own = |served: &Arc<Ensemble>| {
            let mut own = self.entries.iter();
            own.any(|entry| Arc::ptr_eq(&entry.ensemble, served))
        };
        let mut served = catalogue.entries().iter();
        self.entries.is_empty() || served.any(|entry| is_own(entry.ensemble()))
    }

    /// Returns the variants that a matrix runs for a catalogue of models, at most one for each
    /// group and kind of device. The batch size of a variant is the registered size at or below the
    /// smallest of its members' workers.
    pub fn running(
        &self,
        catalogue: &Catalogue,
        matrix: &Matrix,
        devices: &Devices,
    ) -> Vec<RunningVariant> {
        let mut running = Vec::new();
        for group in &self.groups {
            let Some(entry) = catalogue.find(&group.name, None) else {
                continue;
            };
            let columns = catalogue.entries()[entry].columns();
            for kind in 0..self.catalog.devices().len() {
                let workers = Workers::for_columns(columns, matrix, |at| {
                    self.is_of_kind(devices.get(at), kind)
                });
                let variant = workers
                    .as_ref()
                    .and_then(|w| self.of_size(group, kind, w.size));
                running.extend(
                    workers
                        .zip(variant)
                        .map(|(workers, variant)| RunningVariant {
                            variant,
                            entry,
                            devices: workers.devices,
                        }),
                );
            }
        }
        running
    }

    /// Returns the variants of a group for a device.
    pub(crate) fn on_device(
        &self,
        group: &VariantGroup,
        device: &Device,
    ) -> impl Iterator<Item = VariantIndex> {
        let variants = group.variants.iter().copied();
        variants.filter(|at| {
            let kind = self.catalog.variant(*at).device;
            self.is_of_kind(device, usize::from(kind.0))
        })
    }

    /// Returns whether a variant was measured on the kind of one of these devices.
    pub(crate) fn runs_on(&self, variant: VariantIndex, devices: &Devices) -> bool {
        let kind = usize::from(self.catalog.variant(variant).device.0);
        devices.iter().any(|device| self.is_of_kind(device, kind))
    }

    fn is_of_kind(&self, device: &Device, kind: usize) -> bool {
        let kind = self.catalog.devices().get(kind);
        kind.is_some_and(|kind| kind.name == kind_name(device))
    }

    /// Returns the variant of a group on a kind of device with the largest batches of up to `size`
    /// samples, or with the smallest batches of all.
    fn of_size(&self, group: &VariantGroup, kind: usize, size: usize) -> Option<VariantIndex> {
        let variants = group.variants.iter().copied();
        let batch = |at: &VariantIndex| self.catalog.variant(*at).batch.get() as usize;
        let of_kind = variants.filter(|at| usize::from(self.catalog.variant(*at).device.0) == kind);
        let of_kind: Vec<VariantIndex> = of_kind.collect();
        let within = of_kind.iter().filter(|at| batch(at) <= size);
        let found = within.max_by_key(|at| batch(at));
        found.or(of_kind.iter().min_by_key(|at| batch(at))).copied()
    }
}

/// The workers of some members on devices of one kind.
struct Workers {
    /// The smallest of the members' largest batch sizes.
    size: usize,
    devices: Vec<(DeviceIndex, f64)>,
}

impl Workers {
    /// Returns the workers of columns, or `None` if a column has none.
    fn for_columns(
        columns: &[MemberIndex],
        matrix: &Matrix,
        is_of_kind: impl Fn(DeviceIndex) -> bool,
    ) -> Option<Self> {
        let mut workers = Workers {
            size: usize::MAX,
            devices: Vec::new(),
        };
        for column in columns {
            let cells = matrix.column(*column).filter(|(at, _)| is_of_kind(*at));
            let sizes: Vec<(DeviceIndex, usize)> = cells
                .filter_map(|(at, size)| Some((at, size?.get())))
                .collect();
            workers.size = workers.size.min(sizes.iter().map(|(_, size)| *size).max()?);
            let part = 1.0 / (columns.len() * sizes.len()) as f64;
            sizes.iter().for_each(|(at, _)| workers.add(*at, part));
        }
        Some(workers)
    }

    fn add(&mut self, device: DeviceIndex, part: f64) {
        match self.devices.iter_mut().find(|(known, _)| *known == device) {
            Some((_, sum)) => *sum += part,
            None => self.devices.push((device, part)),
        }
    }
}
