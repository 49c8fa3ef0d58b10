//! The times and accuracies of all members in one precision on one kind of device.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::precisions::{PrecisionTrial, ProfiledMembers};
use divisi_engine::search::profiling::{ProfileCondition, WorkerProfile};
use divisi_model::allocation::Cell;
use divisi_model::ensemble::{BatchSize, Ensemble, MemberPrecision};
use divisi_modelless::accuracy::{MemberSet, ReferenceRows};
use divisi_modelless::variants::{PricedDevice, VariantPrecision, VariantProfile};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::Registration;
use super::error::RegistrationError;
use super::kinds::KindOfDevice;
use crate::counts::{CountedEnsemble, count_sub_ensembles};
use crate::profiles::{BatchPoint, MemberProfile, composed};

/// The profiles of every member in one precision on one kind of device.
pub(super) struct MeasuredProfiles {
    /// The batch sizes measured for every member, ascending.
    pub(super) sizes: Vec<u32>,
    pub(super) members: Vec<MemberProfile>,
    /// The worst condition of the measurements.
    pub(super) condition: ProfileCondition,
}

/// The profiles of every member in one precision on one kind of device, and the accuracies of the
/// sub-ensembles.
pub(super) struct MeasuredPrecision {
    pub(super) precision: VariantPrecision,
    pub(super) profiles: MeasuredProfiles,
    pub(super) counts: CountedEnsemble,
}

/// The device that stands for its kind in lookups of costs.
const FIRST: DeviceIndex = DeviceIndex::new(0);

impl MeasuredProfiles {
    /// Profiles the workers of all members, whose batches are measured.
    pub(super) fn measure(
        trial: &PrecisionTrial<'_>,
        kind: &KindOfDevice,
        precision: VariantPrecision,
        measured: &ProfiledMembers,
    ) -> Result<Self, RegistrationError> {
        let workers = trial.workers(member_precision(precision), FIRST)?;
        let sizes = fitting(trial.demand.models(), measured, kind);
        let conditions = workers.iter().map(|(_, condition)| *condition);
        Ok(MeasuredProfiles {
            condition: conditions.fold(measured.condition, ProfileCondition::max),
            members: profiles(measured, &workers, &sizes),
            sizes: sizes.iter().map(|size| size.get() as u32).collect(),
        })
    }

    /// Composes the profile of a variant of some members.
    pub(super) fn composed(
        &self,
        members: MemberSet,
        device: &PricedDevice,
        batch: NonZeroU32,
    ) -> Result<VariantProfile, RegistrationError> {
        let of_set = members.members().filter_map(|at| self.members.get(at));
        Ok(composed(&of_set.collect::<Vec<_>>(), device, batch)?)
    }
}

impl MeasuredPrecision {
    /// Runs, measures and counts all members. `reference` holds the correct rows of the whole
    /// ensemble in the first precision, or is `None` if this is the first precision.
    pub(super) fn measure(
        registration: &Registration<'_>,
        ensemble: &Arc<Ensemble>,
        kind: &KindOfDevice,
        precision: VariantPrecision,
        reference: Option<&ReferenceRows>,
    ) -> Result<Self, RegistrationError> {
        let trial = PrecisionTrial {
            demand: registration.demand,
            devices: &kind.devices,
            factory: Arc::clone(&registration.factory),
            samples: registration.samples,
            cache: registration.cache,
            control: registration.control,
        };
        let measured = trial.measure(member_precision(precision))?;
        let labels = trial.labels()?;
        let counts = count_sub_ensembles(ensemble, &measured.rows, &labels, reference);
        Ok(MeasuredPrecision {
            precision,
            profiles: MeasuredProfiles::measure(&trial, kind, precision, &measured.profiles)?,
            counts: counts.map_err(|why| RegistrationError::Counting {
                precision: precision.to_string(),
                device: kind.priced.name.clone(),
                why,
            })?,
        })
    }
}

/// Returns the member precision of a variant precision.
pub fn member_precision(precision: VariantPrecision) -> MemberPrecision {
    let named = precision.to_string().parse::<MemberPrecision>();
    named.unwrap_or_default()
}

/// Returns the manifest's batch sizes for which a worker of every member fits by itself.
fn fitting(ensemble: &Ensemble, measured: &ProfiledMembers, kind: &KindOfDevice) -> Vec<BatchSize> {
    let members = ensemble.members.len();
    let fits = |size: &BatchSize| {
        let mut cells = MemberIndex::all(members).map(cell);
        cells.all(|cell| measured.footprints.bytes(cell, *size) <= kind.priced.memory)
    };
    ensemble.batch_sizes.iter().filter(fits).collect()
}

fn cell(member: MemberIndex) -> Cell {
    Cell {
        device: FIRST,
        member,
    }
}

/// Returns the profile of each member.
fn profiles(
    measured: &ProfiledMembers,
    workers: &[(WorkerProfile, ProfileCondition)],
    sizes: &[BatchSize],
) -> Vec<MemberProfile> {
    let each = MemberIndex::enumerate(workers).map(|(member, (worker, _))| {
        let points = sizes.iter().map(|size| BatchPoint {
            batch: size.get() as u32,
            time: seconds(measured.costs.alone(member, FIRST, size.get()).latency),
            tail: worker.tail(size.get()),
            memory: measured.footprints.bytes(cell(member), *size),
        });
        MemberProfile {
            points: points.collect(),
            loading: seconds(worker.loading),
        }
    });
    each.collect()
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
