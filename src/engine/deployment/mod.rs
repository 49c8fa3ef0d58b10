//! The served models: loads, unloads and replaces them while requests flow.
//!
//! The models form a [`Catalogue`]. A change starts an engine for the new catalogue next to the
//! running engine; both share the networks that they have in common. From one moment on, requests
//! go to the new engine. Earlier requests finish with the model version that they began with, and
//! then the old engine stops. It waits for them while they progress
//! ([`DrainLimits`](crate::serving::DrainLimits)), and so does the next change.
//!
//! If both engines do not fit side by side, the old one can end first while requests wait. A change
//! is planned before it is applied. Models that stay keep their places and batch sizes in the
//! matrix. A new version of a model takes those of the old version.
//!
//! A deployment reads, places, warms up and hands over. [`Changes`](crate::changes::Changes) decides
//! which change is made, and undoes it.

mod archive;
mod asked;
mod change;
mod cold;
mod error;
mod gap;
mod generation;
mod observer;
mod place;
mod plan;
mod preview;
mod source;
mod status;
mod switch;
mod wanted;
mod warmup;
mod wish;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::serving::{
    DeploymentRank, Engine, EngineOptions, Leaf, NetworkFactory, PredictorFactory, SharedLeaf,
};
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Catalogue;
use divisi_runtime::device::Devices;
use divisi_runtime::lock::Ranked;

use archive::Archive;
pub use change::{Applied, CatalogueChange, Handover};
use cold::ColdModels;
pub use error::DeploymentError;
use gap::HandoverGap;
use generation::Retiring;
pub use generation::{Generation, ServingNumber};
pub use observer::HandoverObserver;
use observer::Observers;
pub use plan::ChangePlan;
pub use preview::{CataloguePreview, MemoryChange};
pub use source::{
    ModelOverride, ModelSource, ModelsRead, ModelsToRead, ReadAgain, ReadState, TakeBack,
};
pub use status::{LoadState, ModelStatus};
pub use wish::instance_remarks;

/// The most remarks kept until they are taken.
const MOST_NOTICES: usize = 256;

/// The served models, with the engine that runs them.
pub struct Deployment {
    name: String,
    source: Option<Arc<dyn ModelSource>>,
    devices: Devices,
    options: EngineOptions,
    running: SharedLeaf<Arc<Generation>>,
    gap: HandoverGap,
    /// Locked during a change, so only one runs at a time.
    changing: Ranked<DeploymentRank, WantedNames>,
    /// The models that can serve again.
    archive: Leaf<Archive>,
    /// The status of each model, readable during a change.
    known: SharedLeaf<Vec<ModelStatus>>,
    /// Remarks of the source that have not been taken yet.
    notices: Leaf<Vec<String>>,
    /// Whether retiring engines have to hurry, and warm-ups end.
    leaving: Arc<AtomicBool>,
    observers: Observers,
}

/// The names of the models to serve.
#[derive(Default)]
struct WantedNames {
    names: BTreeSet<String>,
    /// The reasons why requested models are not served.
    failures: BTreeMap<String, String>,
    retiring: Option<Retiring>,
    /// Models that failed their warm-up.
    cold: ColdModels,
}

/// The initial state of a deployment.
pub struct DeploymentStart {
    /// The name of the whole deployment.
    pub name: String,
    /// The devices.
    pub devices: Devices,
    /// The options of engines.
    pub options: EngineOptions,
    /// The first matrix, or `None` to find one by worst-fit decreasing.
    pub matrix: Option<Matrix>,
}

/// Starts the first generation, without the models that fail their warm-up.
fn first(
    start: &DeploymentStart,
    read: &mut ModelsRead,
    archive: &mut Archive,
    source: Option<&dyn ModelSource>,
) -> Result<Generation, DeploymentError> {
    let mut matrix = start.matrix.clone();
    loop {
        // More models may come, and a polled source is read again.
        let waits = source.is_some_and(|s| read.failures.is_empty() || s.is_polled());
        if read.entries.is_empty() && !waits {
            return Err(DeploymentError::nothing(&read.failures));
        }
        let numbers = archive.numbers(&read.entries);
        let catalogue = Catalogue::new(&start.name, read.entries.clone())?.with_copies(&numbers);
        let catalogue = Arc::new(catalogue);
        let factory = Arc::new(NetworkFactory::new(Arc::clone(catalogue.models())));
        let (devices, options) = (&start.devices, start.options);
        let matrix = match matrix.take() {
            Some(matrix) => matrix,
            None => place::first(&catalogue, devices, options)?,
        };
        let precisions = catalogue.models().precisions();
        let first = Generation::start(catalogue, devices, &matrix, &precisions, factory, options)?;
        let cold = warmup::warm_up(&first, &[], &AtomicBool::new(false))?;
        if cold.is_empty() {
            let entries = first.catalogue.entries().iter();
            let remarks = entries
                .flat_map(|entry| instance_remarks(entry.name(), entry.instances(), devices));
            read.notices.extend(remarks);
            return Ok(first);
        }
        first.engine.shutdown();
        read.notices.extend(warmup::remarks(&cold));
        warmup::refuse(read, cold);
    }
}

impl Deployment {
    /// Serves the models that were read from `source`. Without a source, nothing can be loaded or
    /// unloaded later. The deployment may start empty if models can be loaded.
    ///
    /// # Errors
    /// No model can be read, the models do not form a catalogue or do not fit, or a worker does not
    /// start.
    pub fn start(
        source: Option<Arc<dyn ModelSource>>,
        read: ModelsRead,
        start: DeploymentStart,
    ) -> Result<Self, DeploymentError> {
        let names = read.entries.iter().map(|entry| &entry.name);
        let names = names.chain(read.failures.keys()).cloned();
        let names = read.asked.clone().unwrap_or_else(|| names.collect());
        let options = EngineOptions {
            epoch: start.options.epoch.or_else(|| Some(Instant::now())),
            ..start.options
        };
        let (start, mut read) = (DeploymentStart { options, ..start }, read);
        let mut archive = Archive::default();
        let first = first(&start, &mut read, &mut archive, source.as_deref())?;
        if let (Some(source), Some(state)) = (&source, &read.state) {
            source.serves(state);
        }
        let wanted = WantedNames {
            names,
            failures: read.failures,
            ..WantedNames::default()
        };
        let (name, devices) = (start.name, start.devices);
        let deployment = Deployment {
            archive: Leaf::new(archive),
            ..Deployment::serving(first, name, devices, options, source, wanted)
        };
        deployment.keep_notices(&mut read.notices);
        deployment.tell(&deployment.changing.lock());
        Ok(deployment)
    }

    /// Deploys the fixed models of an engine whose workers come from `factory`.
    pub fn of_engine(engine: Arc<Engine>, factory: Arc<dyn PredictorFactory>) -> Self {
        let (name, devices) = (engine.ensemble().name.clone(), engine.devices().clone());
        let (options, wanted) = (EngineOptions::default(), WantedNames::default());
        let first = Generation::of_engine(engine, factory);
        Deployment::serving(first, name, devices, options, None, wanted)
    }

    fn serving(
        first: Generation,
        name: String,
        devices: Devices,
        options: EngineOptions,
        source: Option<Arc<dyn ModelSource>>,
        wanted: WantedNames,
    ) -> Self {
        Deployment {
            name,
            source,
            devices,
            options,
            running: SharedLeaf::new(Arc::new(first)),
            gap: HandoverGap::default(),
            archive: Leaf::default(),
            known: SharedLeaf::new(Vec::new()),
            notices: Leaf::new(Vec::new()),
            leaving: Arc::default(),
            observers: Observers::default(),
            changing: Ranked::new(wanted),
        }
    }

    /// Returns the name of the whole deployment, which does not depend on its models.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the running generation.
    pub fn running(&self) -> Arc<Generation> {
        Arc::clone(&self.running.read())
    }

    /// Returns the status of each model of the source, loaded or not.
    pub fn models(&self) -> Vec<ModelStatus> {
        self.known.read().clone()
    }

    /// Returns the status of each model, including models that appeared in the source since it was
    /// last read.
    pub fn models_there(&self) -> Vec<ModelStatus> {
        let mut all = self.models();
        let names = self.source.iter().flat_map(|source| source.names());
        let new = names.filter(|name| all.iter().all(|known| known.name != *name));
        let new: Vec<ModelStatus> = new.map(status::not_loaded).collect();
        all.extend(new);
        all
    }

    /// Takes the remarks of the source since the last call, for instance about unsupported
    /// settings.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock())
    }

    /// Returns whether models can be loaded and unloaded.
    pub fn can_change(&self) -> bool {
        self.source.is_some()
    }

    /// Reads a model with an overridden configuration or files from now on, until it is loaded
    /// again. Returns the function that restores the previous way.
    ///
    /// # Errors
    /// The source does not support overrides, or the override cannot be read.
    pub(crate) fn override_model(
        &self,
        name: &str,
        by: &ModelOverride,
    ) -> Result<TakeBack<'_>, DeploymentError> {
        let source = self.source()?;
        let over = (!by.is_none()).then_some(by);
        if over.is_some() && !source.takes_overrides() {
            return Err(DeploymentError::Overridden(name.to_owned()));
        }
        source.override_model(name, over).or_else(|why| {
            self.check_source()?;
            Err(DeploymentError::failed(name, &why))
        })
    }

    /// Notifies `observer` of all later handovers between engines.
    pub fn observe(&self, observer: Arc<dyn HandoverObserver>) {
        self.observers.add(observer);
    }

    /// Limits the time of retiring engines to that of a shutdown and ends warm-ups, because the operator
    /// is leaving.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    /// Calls `waiter` when the next engine takes requests, or when none ever will. Returns `false`
    /// if an engine is running and there is nothing to wait for.
    pub fn wait_for_engine(&self, waiter: Box<dyn FnOnce() + Send>) -> bool {
        self.gap.wait(waiter)
    }

    /// Returns whether no engine takes requests, because the old one ends before the new one
    /// starts.
    pub fn is_between(&self) -> bool {
        self.gap.is_open()
    }

    /// Keeps a remark until it is taken.
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

    /// Publishes the status of each model.
    fn tell(&self, wanted: &WantedNames) {
        let names = self.source.as_ref().map(|source| source.names());
        let catalogue = &self.running().catalogue;
        let names = names.unwrap_or_default();
        let mut known = self.known.write();
        *known = status::model_statuses(catalogue, names, &wanted.failures, &known);
    }
}
