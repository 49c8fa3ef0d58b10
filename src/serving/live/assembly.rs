//! An engine's insides put together, within its bounds.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use crate::device::{DeviceKind, Devices, thread_pool};
use crate::ensemble::Ensemble;
use crate::serving::core::{Core, CoreConfig};
use crate::serving::scheduler::Discipline;
use crate::serving::storage::Storage;
use crate::trace::SpanRing;

use super::engine::{EngineError, EngineOptions};
use super::factory::PredictorFactory;
use super::shared::{DeviceLane, SPAN_BOUND, Shared};

pub(super) fn assemble(
    ensemble: &Arc<Ensemble>,
    devices: Devices,
    factory: Arc<dyn PredictorFactory>,
    options: &EngineOptions,
) -> Result<Shared, EngineError> {
    let width = ensemble.input.shape.elements();
    let slots = ensemble.segment_size;
    let extents = extents(ensemble, options)?;
    let core = Core::new(CoreConfig {
        devices: devices.iter().map(|d| Discipline::of(&d.kind)).collect(),
        transforms: ensemble.transforms(),
        extents,
        segment: slots,
        policy: ensemble.policy,
    });
    let lanes = devices
        .iter()
        .map(|device| {
            let cores: &[usize] = match &device.kind {
                DeviceKind::Cpu { cores } => cores,
                DeviceKind::Simulated { .. } => &[],
            };
            Ok(DeviceLane {
                thread: OnceLock::new(),
                poked: AtomicBool::new(false),
                pool: thread_pool(cores).map_err(|e| EngineError::Thread(e.to_string()))?,
                spans: SpanRing::new(SPAN_BOUND),
                fates: Mutex::default(),
            })
        })
        .collect::<Result<_, EngineError>>()?;
    let storage = Storage::new(extents, slots, width);
    let ensemble = Arc::clone(ensemble);
    Ok(Shared::new(
        ensemble, devices, factory, core, storage, lanes,
    ))
}

/// Extents of the pool within its bounds: at least two segments have to fit.
fn extents(ensemble: &Ensemble, options: &EngineOptions) -> Result<usize, EngineError> {
    let values = ensemble.input.shape.elements() + ensemble.combination().state_width();
    let by_bytes = (options.pool_bytes / (4 * values as u64)) as usize;
    let segment = ensemble.segment_size;
    if 2 * segment > by_bytes {
        return Err(EngineError::Segment {
            segment,
            most: by_bytes / 2,
            bytes: options.pool_bytes,
        });
    }
    Ok((options.pool_samples.min(by_bytes) / segment).max(2))
}
