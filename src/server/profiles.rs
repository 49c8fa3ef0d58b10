//! Measures the profiles of registered tasks again.

use std::fmt::Display;
use std::sync::Arc;

use divisi_engine::search::profiling::ProfileCondition;
use divisi_engine::search::{Cache, Control, ProfileRenewal};
use divisi_engine::serving::NetworkFactory;
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::Samples;
use divisi_modelless::variants::PricedDevice;
use divisi_registry::profiles::DevicePrices;
use divisi_registry::records::RegisteredModel;
use divisi_registry::registration::{KindOfDevice, ProfilesAgain, RegistrationError};
use divisi_runtime::device::{Devices, Host};
use divisi_tasks::profiles::{KeptModel, ProfileKeeper};

use crate::TaskStore;

/// The profiles of a store's tasks, on the devices of a server.
pub(crate) struct StoredProfiles {
    store: TaskStore,
    devices: Devices,
    cache: Option<Cache>,
}

impl StoredProfiles {
    /// Creates a keeper of the profiles in a store.
    pub(crate) fn in_store(store: &TaskStore, devices: Devices, cache: Option<Cache>) -> Self {
        StoredProfiles {
            store: store.clone(),
            devices,
            cache: cache.map(|cache| cache.renewing(ProfileRenewal::Disturbed)),
        }
    }

    /// Returns the kinds of devices, with any prices: those of the registration stay.
    fn kinds(&self) -> Result<Vec<KindOfDevice>, String> {
        let prices = DevicePrices::default();
        let kinds = KindOfDevice::from_devices(&self.devices, &Host::discover(), &prices);
        kinds.map_err(in_words)
    }

    fn registered(&self, model: &KeptModel) -> Result<RegisteredModel, String> {
        let contents = self.store.read().map_err(in_words)?;
        let models = contents.task(&model.task).map_err(in_words)?;
        let found = models.iter().find(|found| found.name == model.ensemble);
        let gone = || format!("`{}` is not registered any longer", model.ensemble);
        found.cloned().ok_or_else(gone)
    }

    /// Replaces the registration of an ensemble. Fails if it was registered again since it was read.
    fn replace(
        &self,
        task: &str,
        read: &RegisteredModel,
        again: &RegisteredModel,
    ) -> Result<(), String> {
        let store = self.store.open().map_err(in_words)?;
        let contents = store.contents().map_err(in_words)?;
        match contents
            .tasks
            .get(task)
            .is_some_and(|all| all.contains(read))
        {
            true => store.register(task, again).map_err(in_words),
            false => Err(format!("`{}` was registered again meanwhile", read.name)),
        }
    }

    /// Returns the ensemble with new profiles, or `None` if the measurement was cancelled.
    fn measured(
        &self,
        model: &RegisteredModel,
        control: &Control,
    ) -> Result<Option<RegisteredModel>, String> {
        let ensemble = TaskStore::read_again(&model.record.source).map_err(in_words)?;
        let ensemble = Arc::new(ensemble);
        let samples = match &ensemble.calibration {
            Some(samples) => Arc::clone(samples),
            None => {
                let width = ensemble.input.shape.elements();
                Arc::new(Samples::synthetic(1, width).map_err(in_words)?)
            }
        };
        let again = ProfilesAgain {
            demand: &Demand::from_ensemble(Arc::clone(&ensemble)),
            kinds: &self.kinds()?,
            samples: &samples,
            factory: Arc::new(NetworkFactory::new(ensemble)),
            cache: self.cache.as_ref(),
            control,
        };
        match again.measure(model) {
            Ok(model) => Ok(Some(model)),
            Err(RegistrationError::Interrupted) => Ok(None),
            Err(why) => Err(why.to_string()),
        }
    }
}

fn in_words(why: impl Display) -> String {
    why.to_string()
}

impl ProfileKeeper for StoredProfiles {
    fn models(&self) -> Result<Vec<KeptModel>, String> {
        let contents = self.store.read().map_err(in_words)?;
        let kinds = self.kinds()?;
        let has = |device: &PricedDevice| kinds.iter().any(|kind| kind.priced.name == device.name);
        let tasks = contents.tasks.iter();
        let models = tasks.flat_map(|(task, models)| {
            let here = models
                .iter()
                .filter(|model| model.record.devices.iter().all(has));
            here.map(|model| KeptModel {
                task: task.clone(),
                ensemble: model.name.clone(),
                condition: model.record.condition,
            })
        });
        Ok(models.collect())
    }

    fn doubt(&self, model: &KeptModel) -> Result<(), String> {
        let read = self.registered(model)?;
        let mut doubted = read.clone();
        doubted.record.condition = ProfileCondition::Doubtful;
        let members = read.record.members.iter().map(|member| &member.name);
        let members: Vec<&String> = members.collect();
        if let Some(cache) = &self.cache {
            cache.doubt_profiles(|about| members.contains(&&about.member));
        }
        self.replace(&model.task, &read, &doubted)
    }

    fn measure_again(
        &self,
        model: &KeptModel,
        control: &Control,
    ) -> Result<Option<ProfileCondition>, String> {
        let read = self.registered(model)?;
        let Some(again) = self.measured(&read, control)? else {
            return Ok(None);
        };
        self.replace(&model.task, &read, &again)?;
        Ok(Some(again.record.condition))
    }
}
