//! A worker's body: its predictor and the tensors at both ends of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use candle_core::Tensor;

use crate::compute::{ComputeError, Predictor, host_rows, read_rows, write_rows};
use crate::serving::batch::Batch;
use crate::serving::scheduler::WorkerSpec;
use crate::serving::storage::Storage;

use super::client::RequestData;
use super::factory::BuildError;
use super::gpu;
use super::shared::EngineState;

/// Batcher, predictor and sender of one entry of the matrix.
pub(super) struct CpuWorker {
    predictor: Box<dyn Predictor>,
    input: Tensor,
    output: Tensor,
    inputs: usize,
    classes: usize,
    /// Its member says that it gives probabilities.
    declared: bool,
}

/// When each role was done.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub copied: Instant,
    pub computed: Instant,
    /// Whether its answers were folded, or why not.
    pub folded: Result<(), String>,
}

impl CpuWorker {
    /// Rows for batches of up to `size`.
    pub fn new(
        predictor: Box<dyn Predictor>,
        size: usize,
        inputs: usize,
        classes: usize,
        declared: bool,
    ) -> Result<Self, ComputeError> {
        Ok(CpuWorker {
            predictor,
            input: host_rows(size, inputs)?,
            output: host_rows(size, classes)?,
            inputs,
            classes,
            declared,
        })
    }

    /// Copies the batch in, runs it and folds its answers.
    pub fn run(
        &mut self,
        batch: &Batch<Arc<RequestData>>,
        storage: &Storage,
    ) -> Result<Timing, ComputeError> {
        self.copy_in(batch, storage)?;
        let copied = Instant::now();
        self.predictor
            .predict(batch.rows, &self.input, &self.output)?;
        let computed = Instant::now();
        let folded = self.send(batch)?;
        Ok(Timing {
            copied,
            computed,
            folded,
        })
    }

    fn copy_in(
        &self,
        batch: &Batch<Arc<RequestData>>,
        storage: &Storage,
    ) -> Result<(), ComputeError> {
        write_rows(&self.input, |rows| {
            let mut at = 0;
            for placed in &batch.ranges {
                let end = at + placed.slice.len * self.inputs;
                storage.read(placed.slice, batch.member, &mut rows[at..end]);
                at = end;
            }
        })
    }

    fn send(&self, batch: &Batch<Arc<RequestData>>) -> Result<Result<(), String>, ComputeError> {
        let mut folded = Ok(());
        read_rows(&self.output, |rows| {
            folded = fold(batch, rows, self.classes, self.declared)
        })?;
        Ok(folded)
    }
}

/// Folds a batch's answers, `[samples, classes]` row after row. Where its member is
/// `declared` to give probabilities they are held to it.
///
/// # Errors
/// A combination rule panicked; what it said.
pub(super) fn fold(
    batch: &Batch<Arc<RequestData>>,
    rows: &[f32],
    classes: usize,
    declared: bool,
) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| {
        fold_all(batch, rows, classes, declared)
    }))
    .map_err(|panic| format!("its combination rule {}", panic_text(panic.as_ref())))
}

fn fold_all(batch: &Batch<Arc<RequestData>>, rows: &[f32], classes: usize, declared: bool) {
    let mut at = 0;
    for placed in &batch.ranges {
        let range = placed.range;
        let end = at + range.len * classes;
        let data = &placed.payload;
        let rows = &rows[at..end];
        if let Some(ballot) = &data.ballot {
            ballot.keep(batch.member, &range, rows);
        }
        let part = &data.parts[range.part];
        let (member, first) = (batch.member, range.first);
        let sound = part.fold(data.rule.as_ref(), member, first, rows, classes);
        let kept = !declared || part.check_probabilities(member, first, rows, classes);
        if !sound || !kept {
            data.note_flaw();
        }
        at = end;
    }
}

/// Builds a worker's body; it serves nobody until the core knows it. A panic while
/// it is built is an error like others.
pub(super) fn build(shared: &Arc<EngineState>, spec: WorkerSpec) -> Result<(), BuildError> {
    catch_unwind(AssertUnwindSafe(|| build_body(shared, spec)))
        .unwrap_or_else(|panic| Err(BuildError::Other(panic_text(panic.as_ref()))))
}

fn build_body(shared: &Arc<EngineState>, spec: WorkerSpec) -> Result<(), BuildError> {
    if let Some(board) = &shared.lanes[spec.device].board {
        return gpu::build(shared, board, spec);
    }
    if shared.devices.get(spec.device).kind.profile().is_some() {
        // It computes nothing, so it needs neither weights nor an arena.
        return Ok(());
    }
    let pool = shared.lanes[spec.device].pool.clone();
    let predictor = shared.factory.build(spec.member, spec.size, pool)?;
    let ensemble = &shared.ensemble;
    let inputs = ensemble.members[spec.member].input.shape.elements();
    let declared = ensemble.members[spec.member].outputs.is_declared();
    let (rows, classes) = (spec.size.get(), ensemble.classes);
    let body = CpuWorker::new(predictor, rows, inputs, classes, declared)?;
    shared.keep(spec.id, body);
    Ok(())
}

/// The time of an instant, counted from the engine's start.
pub(super) fn since(start: Instant, at: Instant) -> Duration {
    at.saturating_duration_since(start)
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!(
        "panicked: {}",
        text.unwrap_or_else(|| "no reason given".into())
    )
}
