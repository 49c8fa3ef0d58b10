//! An engine's insides put together, within its bounds.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use crate::allocation::PoolSize;
use crate::device::{DeviceKind, Devices, thread_pool};
use crate::ensemble::Ensemble;
use crate::serving::core::{Core, CoreConfig};
use crate::serving::scheduler::Discipline;
use crate::serving::storage::Storage;
use crate::trace::SpanRing;

use super::engine::{EngineError, EngineOptions};
use super::factory::{BuildError, PredictorFactory};
use super::gpu::{GpuContext, GpuSlot};
use super::shared::{DeviceLane, EngineState, SPAN_BOUND};

pub(super) fn assemble(
    ensemble: &Arc<Ensemble>,
    devices: Devices,
    factory: Arc<dyn PredictorFactory>,
    options: &EngineOptions,
) -> Result<EngineState, EngineError> {
    let slots = ensemble.segment_size;
    let extents = PoolSize::of(ensemble, options.pool)?.extents();
    let boards = open_gpus(&devices, factory.as_ref(), options)?;
    let mut core = Core::new(CoreConfig {
        devices: devices.iter().map(|d| Discipline::of(&d.kind)).collect(),
        transforms: ensemble.transforms().by_member().to_vec(),
        extents,
        segment: slots,
        policy: ensemble.policy,
    });
    let lanes = devices
        .iter()
        .enumerate()
        .map(|(index, device)| {
            let cores: &[usize] = match &device.kind {
                DeviceKind::Cpu { cores } => cores,
                _ => &[],
            };
            Ok(DeviceLane {
                thread: OnceLock::new(),
                poked: AtomicBool::new(false),
                pool: thread_pool(cores).map_err(|e| EngineError::Thread(e.to_string()))?,
                spans: SpanRing::new(SPAN_BOUND),
                fates: Mutex::default(),
                board: boards.iter().find(|b| b.device() == index).cloned(),
            })
        })
        .collect::<Result<_, EngineError>>()?;
    boards
        .iter()
        .for_each(|b| core.record_departures(b.device()));
    let storage = storage(Storage::new(extents, slots, ensemble.transforms()), boards);
    let ensemble = Arc::clone(ensemble);
    Ok(EngineState::new(
        ensemble, devices, factory, core, storage, lanes,
    ))
}

fn open_gpus(
    devices: &Devices,
    factory: &dyn PredictorFactory,
    options: &EngineOptions,
) -> Result<Vec<Arc<GpuSlot>>, EngineError> {
    let gpus = devices.iter().enumerate();
    // One without memory is gone, as those that search say: nobody is placed there.
    let gpus = gpus.filter(|(index, _)| devices.memory_bytes(*index) > 0);
    let gpus = gpus.filter_map(|(index, d)| Some((index, d, d.kind.gpu()?)));
    gpus.map(|(index, device, info)| {
        let failed = |reason: BuildError| EngineError::Gpu {
            device: device.name.clone(),
            reason: Box::new(reason),
        };
        let gpu = factory.gpu(info).map_err(failed)?;
        let opened = GpuContext::new(index, gpu);
        let opened = opened.map_err(|e| failed(BuildError::Compute(e.into())))?;
        Ok(Arc::new(GpuSlot::new(index, opened, options.drain_limit)))
    })
    .collect()
}

/// The pool's memory is page-locked by the first GPU that can, for all of them.
fn storage(ordinary: Storage, boards: Vec<Arc<GpuSlot>>) -> Storage {
    if boards.is_empty() {
        return ordinary;
    }
    ordinary.pinned(Box::new(move |floats| {
        let mut opened = boards.iter().filter_map(|b| b.opened());
        opened.find_map(|gpu| gpu.pinned(floats))
    }))
}
