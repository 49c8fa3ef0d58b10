//! Registration: counts and profiles the variants of an ensemble.

mod again;
mod error;
mod kinds;
mod measured;
mod remarks;

use std::num::NonZeroU32;
use std::sync::Arc;

use divisi_engine::search::precisions::{AccuracyLossError, PrecisionTrial};
use divisi_engine::search::profiling::ProfileCondition;
use divisi_engine::search::{Cache, Control};
use divisi_engine::serving::PredictorFactory;
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::{Ensemble, Samples};
use divisi_model::wall_clock::unix_seconds;
use divisi_modelless::variants::{
    DeviceKindIndex, ModelIndex, PricedDevice, Variant, VariantPrecision,
};

use crate::counts::{set_of, voters};
use crate::profiles::undominated;
use crate::records::{
    LabelledRows, MemberRecord, ModelRecord, ProfileOrigin, RecordedSource, RegisteredModel,
    TaskInterface,
};

pub use again::ProfilesAgain;
pub use error::RegistrationError;
pub use kinds::{KindOfDevice, kind_name};

pub use measured::member_precision;
pub use remarks::{ENOUGH_ROWS, RegistrationRemark};

use measured::MeasuredPrecision;

/// The input of a registration.
pub struct Registration<'a> {
    /// The ensemble alone.
    pub demand: &'a Demand,
    /// The kinds of devices of its variants.
    pub kinds: &'a [KindOfDevice],
    /// The precisions. The whole ensemble is kept in the first one.
    pub precisions: &'a [VariantPrecision],
    /// Samples with their classes.
    pub samples: &'a Samples,
    /// The factory of workers.
    pub factory: Arc<dyn PredictorFactory>,
    /// The cache of profiles.
    pub cache: Option<&'a Cache>,
    /// Shows progress and handles cancellation.
    pub control: &'a Control,
}

impl Registration<'_> {
    /// Checks that accuracies of the ensemble can be counted on these devices.
    ///
    /// # Errors
    /// The ensemble does not classify, has synthetic weights, or a device is simulated or supports
    /// none of the precisions.
    pub fn check(&self) -> Result<&Arc<Ensemble>, RegistrationError> {
        let one = self.demand.catalogue().single_ensemble();
        let one = one.ok_or(AccuracyLossError::NoEnsemble("several models"))?;
        for kind in self.kinds {
            PrecisionTrial::check(self.demand, &kind.devices)?;
            if kind.precisions(self.precisions).next().is_none() {
                return Err(RegistrationError::NoPrecision(kind.priced.name.clone()));
            }
        }
        if self.samples.targets().is_none() {
            return Err(AccuracyLossError::NoLabels.into());
        }
        Ok(one)
    }

    /// Measures and counts everything, and returns the ensemble with its useful variants. `source`
    /// is the place that the ensemble was read from.
    ///
    /// # Errors
    /// As [`Registration::check`]. Also if a network does not run, a row cannot be counted, or the
    /// registration was cancelled.
    pub fn measure(&self, source: RecordedSource) -> Result<RegisteredModel, RegistrationError> {
        let ensemble = self.check()?;
        let (mut candidates, mut condition) = (Vec::new(), ProfileCondition::Quiet);
        for (number, kind) in (0_u16..).zip(self.kinds) {
            let mut whole = None;
            for precision in kind.precisions(self.precisions) {
                let reference = whole.as_ref();
                let measured =
                    MeasuredPrecision::measure(self, ensemble, kind, precision, reference)?;
                let device = DeviceKindIndex(number);
                candidates.extend(candidates_of(&measured, device, &kind.priced)?);
                condition = condition.max(measured.profiles.condition);
                whole.get_or_insert(measured.counts.whole);
            }
        }
        let considered = candidates.len() as u32;
        let (whole, first) = (set_of(&voters(&ensemble.combination())), self.firsts());
        let is_whole = |v: &Variant| v.members == whole && first.contains(&(v.device, v.precision));
        Ok(RegisteredModel {
            name: ensemble.name.clone(),
            record: self.record(ensemble, source, considered, condition),
            variants: undominated(candidates, is_whole),
        })
    }

    /// Returns the first precision that each kind of device supports.
    fn firsts(&self) -> Vec<(DeviceKindIndex, VariantPrecision)> {
        let kinds = (0_u16..).zip(self.kinds);
        let firsts = kinds.filter_map(|(number, kind)| {
            let precision = kind.precisions(self.precisions).next()?;
            Some((DeviceKindIndex(number), precision))
        });
        firsts.collect()
    }

    fn record(
        &self,
        ensemble: &Ensemble,
        source: RecordedSource,
        considered: u32,
        condition: ProfileCondition,
    ) -> ModelRecord {
        ModelRecord {
            source,
            members: ensemble
                .members
                .iter()
                .map(|m| MemberRecord::from_member(m))
                .collect(),
            combination: ensemble.combination(),
            interface: TaskInterface::from_ensemble(ensemble),
            rows: LabelledRows::from_samples(self.samples),
            devices: self.kinds.iter().map(|kind| kind.priced.clone()).collect(),
            origin: ProfileOrigin::here(),
            condition,
            considered,
            registered_at: unix_seconds(),
        }
    }
}

/// Returns a variant for each sub-ensemble and batch size.
fn candidates_of(
    measured: &MeasuredPrecision,
    device: DeviceKindIndex,
    priced: &PricedDevice,
) -> Result<Vec<Variant>, RegistrationError> {
    let profiles = &measured.profiles;
    let sizes = profiles.sizes.iter();
    let sizes: Vec<NonZeroU32> = sizes.filter_map(|size| NonZeroU32::new(*size)).collect();
    let mut candidates = Vec::new();
    for (members, accuracy) in &measured.counts.members {
        for batch in &sizes {
            candidates.push(Variant {
                model: ModelIndex(0),
                members: *members,
                precision: measured.precision,
                device,
                batch: *batch,
                profile: profiles.composed(*members, priced, *batch)?,
                accuracy: *accuracy,
            });
        }
    }
    Ok(candidates)
}
