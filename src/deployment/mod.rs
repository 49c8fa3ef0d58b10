//! Which models are served: loaded, unloaded and replaced by newer versions while requests flow.
//!
//! They are a [`Catalogue`]. A change of it starts an engine for the new one beside the
//! engine that runs; networks that both serve are there once. Requests that come from one moment on go
//! to the new engine, those under way end on the version that they began with, and then the old engine
//! stops. Models that stay keep their places and batch sizes in the matrix, and so does a new version of
//! one that was there.

mod error;
mod generation;
mod place;
mod source;
mod status;
mod warmup;
mod wish;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use crate::allocation::Matrix;
use crate::catalogue::{Catalogue, NewEntry};
use crate::device::Devices;
use crate::ensemble::Ensemble;
use crate::lock::Ranked;
use crate::serving::{DeploymentRank, EngineOptions, Leaf, NetworkFactory, SharedLeaf};

pub use error::DeploymentError;
pub use generation::Generation;
use generation::{Retiring, retire, start_beside};
pub use source::{ModelOverride, ModelSource, ModelsRead};
pub use status::{LoadState, ModelStatus};

/// The most remarks that are kept for whoever takes them.
const MOST_NOTICES: usize = 256;

/// See the module's text.
pub struct Deployment {
    name: String,
    source: Option<Arc<dyn ModelSource>>,
    devices: Devices,
    options: EngineOptions,
    running: SharedLeaf<Arc<Generation>>,
    /// One change at a time.
    changing: Ranked<DeploymentRank, WantedNames>,
    /// How each model stands, also while a change is under way.
    known: SharedLeaf<Vec<ModelStatus>>,
    /// Remarks of the source that nobody has taken yet.
    notices: Leaf<Vec<String>>,
}

/// The models that are to be served.
#[derive(Default)]
struct WantedNames {
    names: BTreeSet<String>,
    /// Why models that were wanted are not served.
    failures: BTreeMap<String, String>,
    retiring: Option<Retiring>,
    /// Models that did not answer what they were asked first, with the reason: they are not started
    /// again until somebody asks for that.
    cold: Vec<ColdModel>,
}

/// A model that did not answer what it was asked first.
struct ColdModel {
    name: String,
    ensemble: Arc<Ensemble>,
    reason: String,
}

impl WantedNames {
    /// Returns the entries that are known not to answer, with the reason.
    fn cold_of(&self, entries: &[NewEntry]) -> BTreeMap<String, String> {
        let known = |entry: &NewEntry| {
            let mut cold = self.cold.iter();
            let same = cold.find(|cold| Arc::ptr_eq(&cold.ensemble, &entry.ensemble))?;
            Some((entry.name.clone(), same.reason.clone()))
        };
        entries.iter().filter_map(known).collect()
    }

    /// Notes entries that do not answer.
    fn note_cold(&mut self, entries: &[NewEntry], failed: &BTreeMap<String, String>) {
        self.cold.retain(|cold| !failed.contains_key(&cold.name));
        let cold = entries.iter().filter_map(|entry| {
            Some(ColdModel {
                name: entry.name.clone(),
                ensemble: Arc::clone(&entry.ensemble),
                reason: failed.get(&entry.name)?.clone(),
            })
        });
        self.cold.extend(cold);
    }
}

/// The way in which a deployment begins.
pub struct DeploymentStart {
    /// The name of what is served as a whole.
    pub name: String,
    /// The devices.
    pub devices: Devices,
    /// How engines are set up.
    pub options: EngineOptions,
    /// The first matrix; worst-fit decreasing finds one where there is none.
    pub matrix: Option<Matrix>,
}

/// Starts the first generation, without the models that do not answer what they are asked first.
fn first(start: &DeploymentStart, read: &mut ModelsRead) -> Result<Generation, DeploymentError> {
    let mut matrix = start.matrix.clone();
    loop {
        if read.entries.is_empty() {
            return Err(DeploymentError::nothing(&read.failures));
        }
        let catalogue = Arc::new(Catalogue::new(&start.name, read.entries.clone())?);
        let factory = Arc::new(NetworkFactory::new(Arc::clone(catalogue.models())));
        let (devices, options) = (&start.devices, start.options);
        let matrix = match matrix.take() {
            Some(matrix) => matrix,
            None => place::first(&catalogue, devices, options)?,
        };
        let first = Generation::start(0, catalogue, devices, &matrix, factory, options)?;
        let cold = warmup::warm_up(&first, &[]);
        if cold.is_empty() {
            let entries = first.catalogue.entries().iter();
            let remarks = entries.flat_map(|entry| wish::remarks(entry, devices));
            read.notices.extend(remarks);
            return Ok(first);
        }
        first.engine.shutdown();
        warmup::refuse(read, cold);
    }
}

impl Deployment {
    /// Serves `entries`, which were read from `source`; without one nothing is loaded or unloaded later.
    ///
    /// # Errors
    /// They are no catalogue, do not fit, or a worker does not start.
    pub fn start(
        source: Option<Arc<dyn ModelSource>>,
        read: ModelsRead,
        start: DeploymentStart,
    ) -> Result<Self, DeploymentError> {
        let names = read.entries.iter().map(|entry| entry.name.clone());
        let names = names.chain(read.failures.keys().cloned()).collect();
        let options = EngineOptions {
            epoch: start.options.epoch.or_else(|| Some(Instant::now())),
            ..start.options
        };
        let (start, mut read) = (DeploymentStart { options, ..start }, read);
        let first = first(&start, &mut read)?;
        let wanted = WantedNames {
            names,
            failures: read.failures,
            ..WantedNames::default()
        };
        let deployment = Deployment {
            name: start.name,
            source,
            devices: start.devices,
            options,
            running: SharedLeaf::new(Arc::new(first)),
            known: SharedLeaf::new(Vec::new()),
            notices: Leaf::new(read.notices),
            changing: Ranked::new(wanted),
        };
        deployment.tell(&deployment.changing.lock());
        Ok(deployment)
    }

    /// Returns what runs.
    pub fn running(&self) -> Arc<Generation> {
        Arc::clone(&self.running.read())
    }

    /// Returns how each model of the source stands, loaded or not.
    pub fn models(&self) -> Vec<ModelStatus> {
        self.known.read().clone()
    }

    /// Takes the remarks of the source since the last call, such as settings that mean nothing here.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock())
    }

    /// Whether models can be loaded and unloaded.
    pub fn can_change(&self) -> bool {
        self.source.is_some()
    }

    /// Loads a model, or the versions of it that are there now.
    ///
    /// # Errors
    /// It is unknown, cannot be read, or does not fit beside what runs: that goes on.
    pub fn load(&self, name: &str) -> Result<(), DeploymentError> {
        self.load_as(name, &ModelOverride::default())
    }

    /// Loads a model as somebody wants it: until it is loaded again it is that.
    ///
    /// # Errors
    /// As for [`Deployment::load`]; the model is then as its files say.
    pub fn load_as(&self, name: &str, by: &ModelOverride) -> Result<(), DeploymentError> {
        let source = self.source()?;
        let mut wanted = self.changing.lock();
        let over = (!by.is_none()).then_some(by);
        if over.is_some() && !source.takes_overrides() {
            return Err(DeploymentError::Overridden(name.to_owned()));
        }
        let put = source.override_model(name, over);
        put.map_err(|why| DeploymentError::failed(name, &why))?;
        let loaded = self.load_named(&mut wanted, name);
        if loaded.is_err() && over.is_some() {
            // What is served goes on; the next one to look finds the files.
            let _ = source.override_model(name, None);
        }
        loaded
    }

    fn load_named(&self, wanted: &mut WantedNames, name: &str) -> Result<(), DeploymentError> {
        let source = self.source()?;
        if !source.names().iter().any(|known| known == name) {
            return Err(DeploymentError::Unknown(name.to_owned()));
        }
        let mut names = wanted.names.clone();
        names.insert(name.to_owned());
        wanted.cold.retain(|cold| cold.name != name);
        self.change_to(wanted, names)?;
        match wanted.failures.get(name) {
            Some(reason) => Err(DeploymentError::failed(name, reason)),
            None => Ok(()),
        }
    }

    /// Unloads a model; with `dependents` also the pipelines that use it, which are refused otherwise.
    ///
    /// # Errors
    /// It is not served, a pipeline uses it, or nothing would be left.
    pub fn unload(&self, name: &str, dependents: bool) -> Result<(), DeploymentError> {
        self.source()?;
        let mut wanted = self.changing.lock();
        let running = self.running();
        if !wanted.names.contains(name) && running.catalogue.find(name, None).is_none() {
            return Err(DeploymentError::Unknown(name.to_owned()));
        }
        let users = status::users_of(&running.catalogue, name);
        if let (false, Some(by)) = (dependents, users.first()) {
            return Err(DeploymentError::used(name, by));
        }
        let mut names = wanted.names.clone();
        names.remove(name);
        names.retain(|other| !users.contains(other));
        self.change_to(&mut wanted, names)
    }

    /// Reads the source again and serves what is there now: models that came, went or changed.
    ///
    /// # Errors
    /// The models do not fit beside those that run: these go on.
    pub fn refresh(&self) -> Result<(), DeploymentError> {
        let names = self.source()?.names().into_iter().collect();
        self.change_to(&mut self.changing.lock(), names)
    }

    /// Keeps a remark for whoever takes them.
    pub fn note(&self, text: String) {
        self.keep_notices(&mut vec![text]);
    }

    fn keep_notices(&self, new: &mut Vec<String>) {
        let mut notices = self.notices.lock();
        notices.append(new);
        let over = notices.len().saturating_sub(MOST_NOTICES);
        notices.drain(..over);
    }

    fn source(&self) -> Result<&Arc<dyn ModelSource>, DeploymentError> {
        self.source.as_ref().ok_or(DeploymentError::Fixed)
    }

    fn change_to(
        &self,
        wanted: &mut WantedNames,
        names: BTreeSet<String>,
    ) -> Result<(), DeploymentError> {
        let running = self.running();
        let before: Vec<NewEntry> = running.catalogue.entries().iter().map(Into::into).collect();
        let mut read = self.source()?.read(&names, &before);
        let cold = wanted.cold_of(&read.entries);
        warmup::refuse(&mut read, cold);
        self.keep_notices(&mut read.notices);
        loop {
            read.keep_served(&names, &before);
            if read.entries.is_empty() {
                return Err(DeploymentError::nothing(&read.failures));
            }
            if read.is_same(&before) {
                break;
            }
            let cold = self.switch(wanted, &running, &read.entries)?;
            if cold.is_empty() {
                break;
            }
            wanted.note_cold(&read.entries, &cold);
            warmup::refuse(&mut read, cold);
        }
        (wanted.names, wanted.failures) = (names, read.failures);
        self.tell(wanted);
        Ok(())
    }

    /// Starts the next generation and lets the running one end. Returns the models that did not
    /// answer what they were asked first: then the running one goes on.
    fn switch(
        &self,
        wanted: &mut WantedNames,
        running: &Arc<Generation>,
        entries: &[NewEntry],
    ) -> Result<BTreeMap<String, String>, DeploymentError> {
        // Two generations beside each other, never three.
        drop(wanted.retiring.take());
        let catalogue = Arc::new(Catalogue::new(&self.name, entries.to_vec())?);
        let next = start_beside(running, catalogue, &self.devices, self.options)?;
        let before: Vec<NewEntry> = running.catalogue.entries().iter().map(Into::into).collect();
        let cold = warmup::warm_up(&next, &before);
        if !cold.is_empty() {
            next.engine.shutdown();
            return Ok(cold);
        }
        let new = next.catalogue.entries().iter().filter(|entry| {
            let same = |old: &NewEntry| Arc::ptr_eq(&old.ensemble, entry.ensemble());
            !before.iter().any(same)
        });
        let remarks = new.flat_map(|entry| wish::remarks(entry, &self.devices));
        self.keep_notices(&mut remarks.collect());
        *self.running.write() = Arc::new(next);
        wanted.retiring = Some(retire(Arc::clone(running)));
        Ok(cold)
    }

    fn tell(&self, wanted: &WantedNames) {
        let names = self.source.as_ref().map(|source| source.names());
        let catalogue = &self.running().catalogue;
        *self.known.write() = status::all(catalogue, names.unwrap_or_default(), &wanted.failures);
    }
}
