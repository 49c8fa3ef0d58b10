//! See [`IdleTime`].

use std::sync::Arc;

use divisi_engine::deployment::Generation;
use divisi_engine::serving::{Engine, EngineError, EngineOptions};
use divisi_model::allocation::{Cell, Frame, Matrix, PoolBounds};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::BatchSize;
use divisi_modelless::variants::VariantIndex;
use divisi_runtime::device::{Devices, Ledger, ThreadPriority};

use crate::served::ServedTasks;

/// The samples that wait for the engine at most: it is never asked for more than a few batches.
const POOL: usize = 4096;

/// The time of cores that nobody else wants: an engine of a job's variant, whose threads leave their
/// cores at once to whoever comes. It takes none of the queries' places and stands in none of their
/// queues.
///
/// It begins where there is memory for it beside what serves, and ends once there is none any more. What
/// serves does not know of it: for the moment until it has ended, both have their memory.
#[derive(Default)]
pub(super) struct IdleTime {
    engine: Option<IdleEngine>,
    /// The matrix that ran when it was last looked whether there is memory.
    seen: Option<(VariantIndex, u64, Matrix)>,
}

/// An engine that runs in idle time.
struct IdleEngine {
    engine: Arc<Engine>,
    variant: VariantIndex,
}

impl IdleTime {
    /// Returns the engine, its variant and the partitions that it runs on, if it runs.
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

    /// Whether what serves is still what it was when it was last looked whether there is memory.
    pub(super) fn is_beside(&self, serving: &Generation) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|(_, number, matrix)| {
            *number == serving.number && *matrix == serving.engine.matrix()
        })
    }

    /// Lets the engine of a variant run where there is memory beside what serves now. Returns `false`
    /// where another one ended for it: what that one was asked is not answered.
    pub(super) fn follow(
        &mut self,
        serving: &Generation,
        tasks: &ServedTasks,
        variant: VariantIndex,
    ) -> bool {
        let now = (variant, serving.number, serving.engine.matrix());
        if self.seen.as_ref() == Some(&now) {
            return true;
        }
        let free = match ThreadPriority::Idle.is_preempted_at_once() {
            true => free(serving),
            // Threads that do not leave their cores would cost queries as much as batches in their queues.
            false => return true,
        };
        let goes_on = |idle: &IdleEngine| idle.variant == variant && idle.fits(&free);
        if self.engine.as_ref().is_some_and(goes_on) {
            self.seen = Some(now);
            return true;
        }
        let ended = self.end();
        self.seen = Some(now);
        let started = started(serving, &free, (tasks, variant));
        let engine = started.unwrap_or_else(|why| {
            tracing::warn!(%why, "a job does not run in idle time");
            None
        });
        self.engine = engine.map(|engine| IdleEngine {
            engine: Arc::new(engine),
            variant,
        });
        !ended
    }

    /// Ends the engine. Returns whether there was one.
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

/// Returns the partitions with the memory that what serves leaves of them.
fn free(serving: &Generation) -> Devices {
    let engine = &serving.engine;
    let there = engine.devices().without(&engine.faults().lost());
    match engine.ledger(&engine.matrix()) {
        Ok(booked) => there.beside(&booked).partitions(),
        Err(_) => there.within(&Ledger::new(&there)).partitions(),
    }
}

/// Starts the engine of a variant on as many partitions as have room for all its members, or returns
/// `None` where none has.
fn started(
    serving: &Generation,
    free: &Devices,
    (tasks, variant): (&ServedTasks, VariantIndex),
) -> Result<Option<Engine>, EngineError> {
    let entry = tasks.entries()[tasks.group_of(variant)].clone();
    let catalogue = Arc::new(Catalogue::alone(entry));
    let models = catalogue.models();
    let options = options(models.segment_size);
    let batch = tasks.catalog().variant(variant).batch.get() as usize;
    let frame = Frame::of(models, free);
    let size = frame.batch_sizes.iter().find(|size| size.get() == batch);
    let Some((size, mut partitions)) = size.map(|size| (size, free.count())) else {
        return Ok(None);
    };
    while partitions > 0 {
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
        partitions -= 1;
    }
    Ok(None)
}

/// Returns the matrix that has all members on the first partitions.
fn on_first(frame: &Arc<Frame>, partitions: usize, size: BatchSize) -> Option<Matrix> {
    let cells = Cell::all(frame.devices.len(), frame.members.len());
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
