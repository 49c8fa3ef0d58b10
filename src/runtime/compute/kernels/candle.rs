//! Steps without a kernel, which Candle runs.

use super::task::Call;

/// A step that Candle runs, for all samples together. If that fails, for example because an index
/// is outside of its table, the answers are NaN, which fails the requests.
///
/// # Safety
/// As for [`PlannedStep::run`](super::step::PlannedStep::run).
pub(super) unsafe fn run(call: &Call<'_>) {
    let step = call.step;
    let Some(node) = &call.weights.candle else {
        return;
    };
    let inputs = step.inputs.iter().map(|&view| {
        // SAFETY: a step never reads the slot that it writes.
        let source = unsafe { call.memory.source(view) };
        source.dense(call.samples)
    });
    let answer = node.run(call.samples, inputs.collect()).ok();
    let pixels = 0..call.samples * step.output.pixels();
    // SAFETY: the step has a single task.
    let mut out = unsafe { call.memory.part(step.output, pixels) };
    for pixel in out.pixels.clone() {
        let row = out.row(pixel);
        let values = answer
            .as_ref()
            .and_then(|a| a.chunks_exact(row.len()).nth(pixel));
        match values {
            Some(values) => row.copy_from_slice(values),
            None => row.fill(f32::NAN),
        }
    }
}
