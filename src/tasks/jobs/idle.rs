//! Runs jobs on idle cores: see [`IdleTime`].

use std::sync::Arc;

use divisi_engine::deployment::{Generation, ServingNumber};
use divisi_engine::serving::{Engine, EngineError, EngineOptions};
use divisi_model::allocation::{Cell, Frame, Matrix, PoolBounds};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::BatchSize;
use divisi_modelless::variants::VariantIndex;
use divisi_runtime::device::{Devices, Ledger, ThreadPriority};

use crate::served::ServedTasks;

/// The maximum number of samples in the engine's pool: requests never exceed a few batches.
const POOL: usize = 4096;

/// The idle time of cores: an engine with a job's variant whose threads yield their cores to all
/// other threads. It does not use the queues of queries.
///
/// It starts if the running setup leaves enough memory, and ends when it no longer does. The
/// running setup does not account for it: until it has ended, both hold their memory.
#[derive(Default)]
pub(super) struct IdleTime {
    engine: Option<IdleEngine>,
    /// The generation and matrix at the last check of free memory.
    seen: Option<(Arc<ServedTasks>, VariantIndex, ServingNumber)>,
}

/// An engine that runs in idle time.
struct IdleEngine {
    engine: Arc<Engine>,
    /// The registrations to which the variant belongs.
    tasks: Arc<ServedTasks>,
    variant: VariantIndex,
}

impl IdleTime {
    /// Returns the engine, its variant and the number of its partitions, if it runs.
    pub(super) fn engine(&self) -> Option<(&Arc<Engine>, VariantIndex, usize)> {
        let running = self.engine.as_ref()?;
        let mut on: Vec<_> = running
            .engine
            .matrix()
            .workers()
            .map(|w| w.0.device)
            .collect();
        on.dedup();
        Some((&running.engine, running.variant, on.len()))
    }

    /// Returns whether the running setup is unchanged since the last check of free memory.
    pub(super) fn is_beside(&self, serving: &Generation) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|(_, _, number)| *number == serving.serving())
    }

    /// Starts the engine of a variant if the running setup leaves enough memory. Returns `false` if
    /// another engine ended for it, whose requests are then not answered.
    pub(super) fn follow(
        &mut self,
        serving: &Generation,
        tasks: &Arc<ServedTasks>,
        variant: VariantIndex,
    ) -> bool {
        let is_same = self.seen.as_ref().is_some_and(|(of, seen, ..)| {
            Arc::ptr_eq(of, tasks) && *seen == variant && self.is_beside(serving)
        });
        if is_same {
            return true;
        }
        let now = (Arc::clone(tasks), variant, serving.serving());
        let free = match ThreadPriority::Idle.is_preempted_at_once() {
            true => free(serving),
            // Threads that do not yield their cores would delay queries like batches in their
            // queues.
            false => return true,
        };
        let goes_on = |idle: &IdleEngine| {
            Arc::ptr_eq(&idle.tasks, tasks) && idle.variant == variant && idle.fits(&free)
        };
        if self.engine.as_ref().is_some_and(goes_on) {
            self.seen = Some(now);
            return true;
        }
        let ended = self.end();
        self.seen = Some(now);
        let started = started(serving, &free, tasks, variant);
        let engine = started.unwrap_or_else(|why| {
            tracing::warn!(%why, "cannot run a job in idle time");
            None
        });
        self.engine = engine.map(|engine| IdleEngine {
            engine: Arc::new(engine),
            tasks: Arc::clone(tasks),
            variant,
        });
        !ended
    }

    pub(super) fn end(&mut self) -> bool {
        self.seen = None;
        let ended = self.engine.take();
        ended.map(|idle| idle.engine.shutdown()).is_some()
    }
}

impl IdleEngine {
    fn fits(&self, free: &Devices) -> bool {
        let matrix = self.engine.matrix();
        free.count() == self.engine.devices().count()
            && self.engine.footprints().book(&matrix, free).is_ok()
    }
}

/// Returns the partitions with the memory that the running setup leaves free.
fn free(serving: &Generation) -> Devices {
    let engine = &serving.engine;
    let there = engine.devices().without_memory_of(&engine.faults().lost());
    match engine.ledger(&engine.matrix()) {
        Ok(booked) => there.minus_booked(&booked).partitions(),
        Err(_) => there.limited_to_booked(&Ledger::new(&there)).partitions(),
    }
}

/// Starts the engine of a variant on all partitions with room for all its members, or returns
/// `None` if there are none.
fn started(
    serving: &Generation,
    free: &Devices,
    tasks: &ServedTasks,
    variant: VariantIndex,
) -> Result<Option<Engine>, EngineError> {
    let entry = tasks.entries()[tasks.group_of(variant)].clone();
    let catalogue = Arc::new(Catalogue::from_entry(entry));
    let models = catalogue.models();
    let options = options(models.segment_size);
    let batch = tasks.catalog().variant(variant).batch.get() as usize;
    let frame = Frame::from_ensemble(models, free);
    let size = frame.batch_sizes.iter().find(|size| size.get() == batch);
    let Some(size) = size else {
        return Ok(None);
    };
    for partitions in (1..=free.count()).rev() {
        if let Some(matrix) = on_first(&frame, partitions, size) {
            let factory = serving.networks_for(Arc::clone(models));
            let started = Engine::start_catalogue(
                Arc::clone(&catalogue),
                free.clone(),
                &matrix,
                factory,
                options,
            );
            match started {
                Err(EngineError::DoesNotFit(_)) => {}
                other => return other.map(Some),
            }
        }
    }
    Ok(None)
}

/// Returns the matrix with all members on the first partitions.
fn on_first(frame: &Arc<Frame>, partitions: usize, size: BatchSize) -> Option<Matrix> {
    let cells = Cell::all_cells(frame.devices.len(), frame.members.len());
    let cells = cells.map(|cell| (cell.device.get() < partitions).then_some(size));
    Matrix::new(Arc::clone(frame), cells.collect()).ok()
}

fn options(segment: usize) -> EngineOptions {
    EngineOptions {
        pool: PoolBounds {
            samples: POOL.max(2 * segment),
            ..PoolBounds::default()
        },
        priority: Some(ThreadPriority::Idle),
        ..EngineOptions::default()
    }
}
