//! Which models are served: loaded, unloaded and replaced by newer versions while requests flow.
//!
//! They are a [`Catalogue`]. A change of it starts an engine for the new one beside the
//! engine that runs; networks that both serve are there once. Requests that come from one moment on go
//! to the new engine, those under way end on the version that they began with, and then the old engine
//! stops: it waits for them as long as they go on ([`DrainLimits`](crate::serving::DrainLimits)), and so
//! does the next change. Where both do not fit beside each other, the old one may end first: requests wait meanwhile.
//! A change can be planned before it is applied, and undone. Models that stay keep their places and
//! batch sizes in the matrix, and so does a new version of one that was there.

mod change;
mod cold;
mod error;
mod gap;
mod generation;
mod observer;
mod place;
mod plan;
mod preview;
mod scale;
mod source;
mod status;
mod switch;
mod taken_back;
mod wanted;
mod warmup;
mod wish;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Instant;

use crate::serving::{DeploymentRank, EngineOptions, Leaf, NetworkFactory, SharedLeaf};
use divisi_model::allocation::{Matrix, UndoHistory};
use divisi_model::catalogue::Catalogue;
use divisi_runtime::device::Devices;
use divisi_runtime::lock::Ranked;

pub use change::{Applied, CatalogueChange, Handover};
use cold::ColdModels;
pub use error::DeploymentError;
use gap::HandoverGap;
pub use generation::Generation;
use generation::Retiring;
pub use observer::HandoverObserver;
use observer::Observers;
pub use plan::CataloguePlan;
use plan::PastCatalogue;
pub use preview::{CataloguePreview, MemoryChange};
pub use source::{
    ModelOverride, ModelSource, ModelsRead, ModelsToRead, ReadAgain, ReadState, TakeBack,
};
pub use status::{LoadState, ModelStatus};
use taken_back::TakenBack;
pub use wish::instance_remarks;

/// The most changes that can be undone: each keeps the models that served before it.
const MOST_PAST: usize = 8;

/// The most remarks that are kept for whoever takes them.
const MOST_NOTICES: usize = 256;

/// See the module's text.
pub struct Deployment {
    name: String,
    source: Option<Arc<dyn ModelSource>>,
    devices: Devices,
    options: EngineOptions,
    running: SharedLeaf<Arc<Generation>>,
    gap: HandoverGap,
    /// One change at a time.
    changing: Ranked<DeploymentRank, WantedNames>,
    /// How each model stands, also while a change is under way.
    known: SharedLeaf<Vec<ModelStatus>>,
    /// Remarks of the source that nobody has taken yet.
    notices: Leaf<Vec<String>>,
    /// Whether there is something to undo, and to redo.
    undoable: AtomicU8,
    /// Whether engines that end what they began are to hurry.
    leaving: Arc<AtomicBool>,
    observers: Observers,
}

/// The bits of what can be undone and redone.
const UNDO: u8 = 1;
const REDO: u8 = 2;

/// The models that are to be served.
#[derive(Default)]
struct WantedNames {
    names: BTreeSet<String>,
    /// Why models that were wanted are not served.
    failures: BTreeMap<String, String>,
    retiring: Option<Retiring>,
    past: UndoHistory<PastCatalogue>,
    /// Models that did not answer what they were asked first.
    cold: ColdModels,
    taken_back: TakenBack,
}

impl WantedNames {
    /// Lets the model that a change asks for by its name be started, whatever became of it before.
    fn ask_again(&mut self, change: &CatalogueChange) {
        self.cold.ask_again(change.model());
        self.taken_back.ask_again(change.model());
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
fn first(
    start: &DeploymentStart,
    read: &mut ModelsRead,
    source: Option<&dyn ModelSource>,
) -> Result<Generation, DeploymentError> {
    let mut matrix = start.matrix.clone();
    loop {
        // Models may come, and a source that is polled is read again.
        let waits = source.is_some_and(|s| read.failures.is_empty() || s.is_polled());
        if read.entries.is_empty() && !waits {
            return Err(DeploymentError::nothing(&read.failures));
        }
        let catalogue = Arc::new(Catalogue::new(&start.name, read.entries.clone())?);
        let factory = Arc::new(NetworkFactory::new(Arc::clone(catalogue.models())));
        let (devices, options) = (&start.devices, start.options);
        let matrix = match matrix.take() {
            Some(matrix) => matrix,
            None => place::first(&catalogue, devices, options)?,
        };
        let precisions = catalogue.models().precisions();
        let columns = (&matrix, &precisions[..]);
        let first = Generation::start(0, catalogue, devices, columns, factory, options)?;
        let cold = warmup::warm_up(&first, &[]);
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
        let names = read.entries.iter().map(|entry| &entry.name);
        let names = names.chain(read.failures.keys()).cloned();
        let names = read.asked.clone().unwrap_or_else(|| names.collect());
        let options = EngineOptions {
            epoch: start.options.epoch.or_else(|| Some(Instant::now())),
            ..start.options
        };
        let (start, mut read) = (DeploymentStart { options, ..start }, read);
        let first = first(&start, &mut read, source.as_deref())?;
        if let (Some(source), Some(state)) = (&source, &read.state) {
            source.serves(state);
        }
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
            gap: HandoverGap::default(),
            known: SharedLeaf::new(Vec::new()),
            notices: Leaf::new(read.notices),
            undoable: AtomicU8::new(0),
            leaving: Arc::default(),
            observers: Observers::default(),
            changing: Ranked::new(wanted),
        };
        deployment.tell(&deployment.changing.lock());
        Ok(deployment)
    }

    /// Returns the name of what is served as a whole, whichever models that are.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what runs.
    pub fn running(&self) -> Arc<Generation> {
        Arc::clone(&self.running.read())
    }

    /// Returns how each model of the source stands, loaded or not.
    pub fn models(&self) -> Vec<ModelStatus> {
        self.known.read().clone()
    }

    /// The same, with those that came to the source since it was last read.
    pub fn models_there(&self) -> Vec<ModelStatus> {
        let mut all = self.models();
        let names = self.source.iter().flat_map(|source| source.names());
        let new = names.filter(|name| all.iter().all(|known| known.name != *name));
        let new: Vec<ModelStatus> = new.map(status::not_loaded).collect();
        all.extend(new);
        all
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
    /// As for [`Deployment::load`]; the model is then as it was wanted before.
    pub fn load_as(&self, name: &str, by: &ModelOverride) -> Result<(), DeploymentError> {
        let source = self.source()?;
        let mut wanted = self.changing.lock();
        let over = (!by.is_none()).then_some(by);
        if over.is_some() && !source.takes_overrides() {
            return Err(DeploymentError::Overridden(name.to_owned()));
        }
        let put = source.override_model(name, over);
        let take_back = match put {
            Ok(take_back) => take_back,
            Err(why) => {
                self.check_source()?;
                return Err(DeploymentError::failed(name, &why));
            }
        };
        let loaded = self.change_to(&mut wanted, CatalogueChange::Load(name.to_owned()));
        if loaded.is_err() {
            // What is served goes on, and the next one to look finds that.
            take_back();
        }
        loaded
    }

    /// Unloads a model; with `dependents` also the pipelines that use it, which are refused otherwise.
    ///
    /// # Errors
    /// It is not served, or a pipeline uses it.
    pub fn unload(&self, name: &str, dependents: bool) -> Result<(), DeploymentError> {
        let name = name.to_owned();
        self.change(CatalogueChange::Unload { name, dependents })
    }

    /// Reads the source again and serves what is there now: models that came, went or changed. Versions
    /// that were taken back stay away.
    ///
    /// # Errors
    /// The models do not fit beside those that run: these go on.
    pub fn refresh(&self) -> Result<(), DeploymentError> {
        self.change(CatalogueChange::Refresh)
    }

    fn change(&self, change: CatalogueChange) -> Result<(), DeploymentError> {
        self.change_to(&mut self.changing.lock(), change)
    }

    fn change_to(
        &self,
        wanted: &mut WantedNames,
        change: CatalogueChange,
    ) -> Result<(), DeploymentError> {
        wanted.ask_again(&change);
        let plan = self.plan_for(wanted, change, None)?;
        self.apply_to(wanted, plan, Handover::Beside).map(drop)
    }

    /// Works out what a change would make of models, columns and memory; nothing changes yet.
    ///
    /// # Errors
    /// It cannot be made, not even if the running engine ends first.
    pub fn plan(&self, change: CatalogueChange) -> Result<CataloguePlan, DeploymentError> {
        let mut wanted = self.changing.lock();
        wanted.ask_again(&change);
        self.plan_for(&wanted, change, None)
    }

    /// Makes a change that was worked out.
    ///
    /// # Errors
    /// Something else has changed since, both engines do not fit beside each other, or the new one does
    /// not start: what ran before runs.
    pub fn apply(
        &self,
        plan: CataloguePlan,
        handover: Handover,
    ) -> Result<Applied, DeploymentError> {
        self.apply_to(&mut self.changing.lock(), plan, handover)
    }

    /// Tells `observer` of engines that are followed by others, from now on.
    pub fn observe(&self, observer: Arc<dyn HandoverObserver>) {
        self.observers.add(observer);
    }

    /// Whether a change can be undone.
    pub fn can_undo(&self) -> bool {
        self.undoable.load(Ordering::Relaxed) & UNDO != 0
    }

    /// Whether the last undo can be redone.
    pub fn can_redo(&self) -> bool {
        self.undoable.load(Ordering::Relaxed) & REDO != 0
    }

    /// Lets engines that end what they began take no longer from now on than one that is shut down: its
    /// operator leaves.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    /// Tells `waiter` once the next engine takes requests, or none ever will. Returns `false` if there
    /// is nothing to wait for: an engine runs.
    pub fn wait_for_engine(&self, waiter: Box<dyn FnOnce() + Send>) -> bool {
        self.gap.wait(waiter)
    }

    /// Whether no engine takes requests just now: the old one ends before the new one starts.
    pub fn is_between(&self) -> bool {
        self.gap.is_open()
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

    /// Lets whoever asks see how each model stands.
    fn tell(&self, wanted: &WantedNames) {
        let names = self.source.as_ref().map(|source| source.names());
        let catalogue = &self.running().catalogue;
        let names = names.unwrap_or_default();
        let mut known = self.known.write();
        *known = status::all(catalogue, names, &wanted.failures, &known);
    }
}
