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

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use crate::allocation::Matrix;
use crate::catalogue::{Catalogue, NewEntry};
use crate::device::Devices;
use crate::lock::Ranked;
use crate::serving::{DeploymentRank, EngineOptions, Leaf, NetworkFactory, SharedLeaf};

pub use error::DeploymentError;
pub use generation::Generation;
use generation::{Retiring, retire, start_beside};
pub use source::{ModelSource, ModelsRead};
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

impl Deployment {
    /// Serves the models that were read from `source`; without one nothing is loaded or unloaded later.
    /// There may be none yet, where some can be loaded.
    ///
    /// # Errors
    /// None of them can be read, they are no catalogue, do not fit, or a worker does not start.
    pub fn start(
        source: Option<Arc<dyn ModelSource>>,
        read: ModelsRead,
        start: DeploymentStart,
    ) -> Result<Self, DeploymentError> {
        let waits = source.is_some() && read.failures.is_empty();
        if read.entries.is_empty() && !waits {
            return Err(DeploymentError::nothing(&read.failures));
        }
        let names = read.entries.iter().map(|entry| entry.name.clone());
        let wanted = WantedNames {
            names: names.chain(read.failures.keys().cloned()).collect(),
            failures: read.failures,
            retiring: None,
        };
        let options = EngineOptions {
            epoch: start.options.epoch.or_else(|| Some(Instant::now())),
            ..start.options
        };
        let catalogue = Arc::new(Catalogue::new(&start.name, read.entries)?);
        let factory = Arc::new(NetworkFactory::new(Arc::clone(catalogue.models())));
        let matrix = match start.matrix {
            Some(matrix) => matrix,
            None => place::first(&catalogue, &start.devices, options)?,
        };
        let first = Generation::start(0, catalogue, &start.devices, &matrix, factory, options)?;
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
        let source = self.source()?;
        if !source.names().iter().any(|known| known == name) {
            return Err(DeploymentError::Unknown(name.to_owned()));
        }
        let mut wanted = self.changing.lock();
        let mut names = wanted.names.clone();
        names.insert(name.to_owned());
        self.change_to(&mut wanted, names)?;
        match wanted.failures.get(name) {
            Some(reason) => Err(DeploymentError::failed(name, reason)),
            None => Ok(()),
        }
    }

    /// Unloads a model; with `dependents` also the pipelines that use it, which are refused otherwise.
    ///
    /// # Errors
    /// It is not served, or a pipeline uses it.
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
        read.keep_served(&names, &before);
        self.keep_notices(&mut read.notices);
        if !read.is_same(&before) {
            self.switch(wanted, &running, read.entries)?;
        }
        (wanted.names, wanted.failures) = (names, read.failures);
        self.tell(wanted);
        Ok(())
    }

    /// Starts the next generation and lets the running one end.
    fn switch(
        &self,
        wanted: &mut WantedNames,
        running: &Arc<Generation>,
        entries: Vec<NewEntry>,
    ) -> Result<(), DeploymentError> {
        // Two generations beside each other, never three.
        drop(wanted.retiring.take());
        let catalogue = Arc::new(Catalogue::new(&self.name, entries)?);
        let next = start_beside(running, catalogue, &self.devices, self.options)?;
        *self.running.write() = Arc::new(next);
        wanted.retiring = Some(retire(Arc::clone(running)));
        Ok(())
    }

    fn tell(&self, wanted: &WantedNames) {
        let names = self.source.as_ref().map(|source| source.names());
        let catalogue = &self.running().catalogue;
        *self.known.write() = status::all(catalogue, names.unwrap_or_default(), &wanted.failures);
    }
}
