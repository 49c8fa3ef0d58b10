//! GPUs that stop working while they serve: nothing more is started there, what ran there
//! is run by others, and whoever listens is told so that it moves the workers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::compute::ComputeError;
use crate::device::gpu::{Gauges, GpuError, Usage};
use crate::lock::lock;

use super::super::engine::Engine;
use super::super::factory::BuildError;
use super::super::reloader::ReloadError;
use super::super::shared::EngineState;
use super::board::GpuContext;

/// A GPU that stopped working while it served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its number among the devices.
    pub device: usize,
    /// What its driver said.
    pub reason: GpuError,
}

type Listener = Arc<dyn Fn(Loss) + Send + Sync>;

/// Losses that nobody has dealt with yet, and who wants to know.
#[derive(Default)]
pub struct Losses {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    listener: Option<Listener>,
    /// Told, and not evacuated.
    awaited: BTreeMap<usize, GpuError>,
}

impl Losses {
    /// Whether evacuations are still to come, so that members may be without workers.
    pub fn are_awaited(&self) -> bool {
        let state = lock(&self.state);
        state.listener.is_some() && !state.awaited.is_empty()
    }

    /// A device's loss is dealt with now; false where none was told.
    pub fn take(&self, device: usize) -> bool {
        lock(&self.state).awaited.remove(&device).is_some()
    }

    fn add(&self, loss: &Loss) -> Option<Listener> {
        let mut state = lock(&self.state);
        state.awaited.insert(loss.device, loss.reason.clone());
        state.listener.clone()
    }

    fn listen(&self, listener: Listener) -> Vec<Loss> {
        let mut state = lock(&self.state);
        state.listener = Some(listener);
        let awaited = state.awaited.iter();
        let loss = |(device, reason): (&usize, &GpuError)| Loss {
            device: *device,
            reason: reason.clone(),
        };
        awaited.map(loss).collect()
    }

    /// Nobody wants to know any more.
    pub fn silence(&self) {
        lock(&self.state).listener = None;
    }
}

/// Why a GPU is lost, if that is what `error` says.
pub(super) fn reason(error: &ComputeError) -> Option<GpuError> {
    match error {
        ComputeError::Gpu(reason) if reason.is_lost() => Some(reason.clone()),
        _ => None,
    }
}

/// The same of a worker that could not be built.
pub(super) fn reason_to_build(error: &BuildError) -> Option<GpuError> {
    match error {
        BuildError::Compute(error) => reason(error),
        _ => None,
    }
}

/// A GPU stopped working. Known already, nothing happens.
pub(super) fn lose(
    shared: &Arc<EngineState>,
    device: usize,
    opened: &Arc<GpuContext>,
    reason: GpuError,
) {
    if shared.is_stopping() || !opened.lose(reason.clone()) {
        return;
    }
    let loss = Loss { device, reason };
    let listener = shared.losses.add(&loss);
    {
        let mut core = shared.core();
        if listener.is_some() {
            // The door stays open: workers are about to be moved.
            core.set_reloading(true);
        }
        core.lose_device(device);
    }
    clear(shared, opened, &loss.reason);
    match listener {
        Some(tell) => tell(loss),
        None => shared.close_if_orphaned(),
    }
}

/// Takes a GPU that works away from those that use it.
pub(in super::super) fn take_away(shared: &Arc<EngineState>, opened: &Arc<GpuContext>) {
    let reason = GpuError::Lost("it was taken away".into());
    if opened.lose(reason.clone()) {
        shared.core().lose_device(opened.device);
        clear(shared, opened, &reason);
    }
}

fn clear(shared: &Arc<EngineState>, opened: &Arc<GpuContext>, reason: &GpuError) {
    if let Some(board) = &shared.lanes[opened.device].board {
        board.close(opened, reason.clone());
    }
    let name = &shared.devices.get(opened.device).name;
    shared.notice(format!("error: device `{name}` is gone: {reason}"));
    shared.poke(&[opened.device]);
    shared.wake();
}

impl Engine {
    /// Tells `tell` of every GPU that stops working from now on, and at once of those that
    /// did and were not evacuated. It is called in an engine's thread: what it does must be
    /// quick. There is one listener; another replaces it.
    ///
    /// While there is one, the door stays open although members may be without workers,
    /// until [`Engine::lose_device`] was called for the device: it must be, whatever comes
    /// of it.
    pub fn on_loss(&self, tell: impl Fn(Loss) + Send + Sync + 'static) {
        let tell: Listener = Arc::new(tell);
        for loss in self.shared.losses.listen(Arc::clone(&tell)) {
            tell(loss);
        }
    }

    /// Why a GPU is gone, while it is.
    pub fn loss_reason(&self, device: usize) -> Option<GpuError> {
        self.shared.lanes[device].board.as_ref()?.loss()
    }

    /// How a GPU is doing, and its memory as its driver counts it; none for other devices
    /// and for one that is gone. It asks the driver.
    pub fn gauges(&self, device: usize) -> Option<(Gauges, Option<Usage>)> {
        let opened = self.shared.lanes[device].board.as_ref()?.opened()?;
        Some((opened.gpu.gauges(), opened.gpu.usage().ok()))
    }

    /// Opens a GPU again that was lost.
    pub(in super::super) fn reopen(&self, device: usize) -> Result<(), ReloadError> {
        let Some(board) = &self.shared.lanes[device].board else {
            return Ok(());
        };
        let facts = self.shared.devices.get(device);
        let failed =
            |reason: BuildError| ReloadError::Worker(format!("`{}`: {reason}", facts.name));
        board.reopen(open(&self.shared, device).map_err(failed)?);
        self.shared.poke(&[device]);
        Ok(())
    }
}

fn open(shared: &EngineState, device: usize) -> Result<GpuContext, BuildError> {
    let gone = || BuildError::Other("it is no GPU".into());
    let info = shared.devices.get(device).kind.gpu().ok_or_else(gone)?;
    let gpu = shared.factory.gpu(info)?;
    GpuContext::new(device, gpu).map_err(|e| BuildError::Compute(e.into()))
}
