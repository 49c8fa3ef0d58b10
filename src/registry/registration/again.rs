//! Measures the profiles of a registered ensemble again, without its accuracies.

use std::sync::Arc;

use divisi_engine::search::precisions::PrecisionTrial;
use divisi_engine::search::profiling::ProfileCondition;
use divisi_engine::search::{Cache, Control};
use divisi_engine::serving::PredictorFactory;
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::Samples;
use divisi_modelless::variants::{PricedDevice, Variant, VariantPrecision};

use super::error::RegistrationError;
use super::kinds::KindOfDevice;
use super::measured::{MeasuredProfiles, member_precision};
use crate::records::{ProfileOrigin, RegisteredModel};

/// The input for measuring the profiles of a registered ensemble again.
pub struct ProfilesAgain<'a> {
    /// The ensemble alone.
    pub demand: &'a Demand,
    /// The kinds of devices of this machine.
    pub kinds: &'a [KindOfDevice],
    /// Samples of the ensemble.
    pub samples: &'a Samples,
    /// The factory of workers.
    pub factory: Arc<dyn PredictorFactory>,
    /// The cache of profiles, which decides which of them are measured again.
    pub cache: Option<&'a Cache>,
    /// Handles cancellation.
    pub control: &'a Control,
}

impl ProfilesAgain<'_> {
    /// Returns the ensemble with new profiles of its variants on these kinds of devices. Accuracies,
    /// prices and the choice of variants stay.
    ///
    /// # Errors
    /// A network does not run, or the measurement was cancelled.
    pub fn measure(&self, model: &RegisteredModel) -> Result<RegisteredModel, RegistrationError> {
        let mut again = model.clone();
        let mut condition = ProfileCondition::Quiet;
        for (number, device) in model.record.devices.iter().enumerate() {
            let Some(kind) = self.kinds.iter().find(|k| k.priced.name == device.name) else {
                // A kind that is not there keeps its profiles.
                condition = condition.max(model.record.condition);
                continue;
            };
            let on_kind = |variant: &&mut Variant| usize::from(variant.device.0) == number;
            for precision in VariantPrecision::ALL {
                let own = again.variants.iter_mut().filter(on_kind);
                let own = own.filter(|variant| variant.precision == precision);
                let own: Vec<&mut Variant> = own.collect();
                if !own.is_empty() {
                    condition = condition.max(self.replace(own, kind, device, precision)?);
                }
            }
        }
        again.record.condition = condition;
        again.record.origin = ProfileOrigin::here();
        Ok(again)
    }

    fn replace(
        &self,
        variants: Vec<&mut Variant>,
        kind: &KindOfDevice,
        priced: &PricedDevice,
        precision: VariantPrecision,
    ) -> Result<ProfileCondition, RegistrationError> {
        let trial = PrecisionTrial {
            demand: self.demand,
            devices: &kind.devices,
            factory: Arc::clone(&self.factory),
            samples: self.samples,
            cache: self.cache,
            control: self.control,
        };
        let measured = trial.profile(member_precision(precision))?;
        let profiles = MeasuredProfiles::measure(&trial, kind, precision, &measured)?;
        for variant in variants {
            variant.profile = profiles.composed(variant.members, priced, variant.batch)?;
        }
        Ok(profiles.condition)
    }
}
