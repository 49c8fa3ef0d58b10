//! An engine's insides put together, within its bounds.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use crate::device::{DeviceKind, Devices, thread_pool};
use crate::ensemble::{Combination, Ensemble, RuleKind};
use crate::serving::core::{Core, CoreConfig};
use crate::serving::scheduler::Discipline;
use crate::serving::storage::Storage;
use crate::trace::SpanRing;

use super::engine::{EngineError, EngineOptions};
use super::factory::{BuildError, PredictorFactory};
use super::gpu::{Board, Opened};
use super::shared::{DeviceLane, SPAN_BOUND, Shared};

pub(super) fn assemble(
    ensemble: &Arc<Ensemble>,
    devices: Devices,
    factory: Arc<dyn PredictorFactory>,
    options: &EngineOptions,
) -> Result<Shared, EngineError> {
    let slots = ensemble.segment_size;
    let extents = extents(ensemble, options)?;
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
    Ok(Shared::new(
        ensemble, devices, factory, core, storage, lanes,
    ))
}

fn open_gpus(
    devices: &Devices,
    factory: &dyn PredictorFactory,
    options: &EngineOptions,
) -> Result<Vec<Arc<Board>>, EngineError> {
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
        let opened = Opened::new(index, gpu);
        let opened = opened.map_err(|e| failed(BuildError::Compute(e.into())))?;
        Ok(Arc::new(Board::new(index, opened, options.drain_limit)))
    })
    .collect()
}

/// The pool's memory is page-locked by the first GPU that can, for all of them.
fn storage(ordinary: Storage, boards: Vec<Arc<Board>>) -> Storage {
    if boards.is_empty() {
        return ordinary;
    }
    ordinary.pinned(Box::new(move |floats| {
        let mut opened = boards.iter().filter_map(|b| b.opened());
        opened.find_map(|gpu| gpu.pinned(floats))
    }))
}

/// How many times its bound in bytes the pool may take where two segments need it.
///
/// The bound is meant for many small samples; 256 large images in two sizes are no
/// mistake (430 MB for 224×224 and 299×299), a gibibyte of them may well be.
const STRETCH: u64 = 4;

/// Extents of the pool: as many as fit in its bounds, or two where those need more, up
/// to [`STRETCH`] times the bound in bytes.
fn extents(ensemble: &Ensemble, options: &EngineOptions) -> Result<usize, EngineError> {
    // The rule may change while serving: room for whichever takes most.
    let combination = ensemble.combination();
    let rules = RuleKind::ALL.map(|rule| Combination {
        rule,
        ..combination.clone()
    });
    let widths = rules.map(|c| c.build(ensemble.classes).state_width());
    let values = ensemble.transforms().values() + widths.into_iter().max().unwrap_or(0);
    let fitting = |bytes: u64| (bytes / (4 * values as u64)) as usize;
    let segment = ensemble.segment_size;
    let most = options.pool_bytes.saturating_mul(STRETCH);
    if 2 * segment > fitting(most) {
        return Err(EngineError::Segment {
            segment,
            most: fitting(most) / 2,
            bytes: most,
        });
    }
    let samples = options.pool_samples.min(fitting(options.pool_bytes));
    Ok((samples / segment).max(2))
}
