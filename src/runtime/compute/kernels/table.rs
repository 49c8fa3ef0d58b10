//! Tables: the answers of a function for each byte.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::pass::written;
use super::reduced::{StepOutputs, reduce_run};
use super::task::{Call, PlacedStep};
use crate::compute::fuse::StepKernel;
use crate::compute::reduced::ReducedNumbers;
use crate::compute::tables::ANSWERS;

/// The floats of a table: an answer for each byte, and the bytes of these.
pub(in crate::compute) const TABLE_FLOATS: usize = ANSWERS + ANSWERS / 4;

/// The most values that are looked up at a time.
const RUN: usize = 2 * 1024;

/// Returns the pixels whose values are looked up at a time.
fn run_of(channels: usize) -> usize {
    (RUN / channels.max(1)).max(1)
}

/// Returns the floats of scratch that a thread needs: bytes of floats, and floats of answers.
pub(super) fn scratch(step: &PlacedStep) -> usize {
    let run = run_of(step.output.channels) * step.output.channels;
    run + run.div_ceil(4)
}

/// Looks up the values of pixels.
///
/// # Safety
/// As for [`PlannedStep::run`](super::step::PlannedStep::run); the task alone writes these pixels.
pub(super) unsafe fn run(call: &Call<'_>, pixels: Range<usize>) {
    let step = call.step;
    let is_dense = step
        .reduced
        .inputs
        .iter()
        .flatten()
        .all(|of| of.view.is_dense())
        && step.reduced.output.is_none_or(|of| of.view.is_dense())
        && (!step.has_floats() || step.output.is_dense());
    let each = match is_dense {
        true => run_of(step.output.channels),
        false => 1,
    };
    for first in pixels.clone().step_by(each) {
        let pixels = first..pixels.end.min(first + each);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let own = call.memory.floats_mut(call.memory.own_scratch(call.thread));
            let channels = step.output.channels;
            let (bytes, floats) = own.split_at_mut((run_of(channels) * channels).div_ceil(4));
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(bytes);
            let from = read(call, pixels.clone(), bytes);
            answer(call, pixels, from, floats);
        }
    }
}

/// Returns the bytes of neighbouring pixels. If there are only floats, the bytes are made in
/// `bytes`.
///
/// # Safety
/// As for [`run`].
unsafe fn read<'a>(call: &Call<'a>, pixels: Range<usize>, bytes: &'a mut [u8]) -> &'a [u8] {
    let step = call.step;
    let count = pixels.len() * step.output.channels;
    if let Some(Some(view)) = step.reduced.inputs.first() {
        let from = call.memory.reduced(*view);
        // Panics unless the last pixel lies in the slot.
        from.ptr(pixels.end - 1, 0);
        // SAFETY: nothing writes these bytes meanwhile; they are contiguous.
        return unsafe { std::slice::from_raw_parts(from.ptr(pixels.start, 0), count) };
    }
    let StepKernel::Table(numbers) = step.fused.kernel else {
        return &[];
    };
    let bytes = &mut bytes[..count];
    let channels = step.output.channels.max(1);
    let each = step.inputs[0].pixels().max(1);
    for (pixel, to) in pixels.zip(bytes.chunks_exact_mut(channels)) {
        // SAFETY: a step never reads the slot that it writes; the family is available.
        let has_nan = unsafe {
            let from = call.memory.source(step.inputs[0]).pixel(pixel);
            reduce_run(call.family, from, to, ReducedNumbers::Bytes(numbers))
        };
        if let Some(missed) = call.misses.get(pixel / each).filter(|_| has_nan) {
            missed.store(true, Ordering::Relaxed);
        }
    }
    bytes
}

/// Writes the answers for the bytes of pixels.
///
/// # Safety
/// As for [`run`].
unsafe fn answer(call: &Call<'_>, pixels: Range<usize>, from: &[u8], scratch: &mut [f32]) {
    let (step, table) = (call.step, call.weights.packed.values());
    let (answers, bytes) = table.split_at(ANSWERS);
    let bytes: &[u8] = bytemuck::cast_slice(bytes);
    // SAFETY: guaranteed by the caller.
    unsafe {
        let outputs = StepOutputs::for_task(call, pixels.clone());
        if let (false, Some(out), Ok(bytes)) =
            (step.has_floats(), outputs.reduced(), bytes.try_into())
        {
            let to = out.ptr(pixels.start, 0);
            // SAFETY: the last pixel lies in the slot, as checked; only this task writes these.
            let to = std::slice::from_raw_parts_mut(to, from.len());
            return lookup(bytes, from, to);
        }
        let (mut out, rows) = written(call, scratch, pixels.clone());
        for (pixel, from) in pixels.clone().zip(from.chunks_exact(rows.columns.max(1))) {
            for (to, &byte) in out.row(pixel).iter_mut().zip(from) {
                *to = answers[usize::from(byte)];
            }
        }
        outputs.reduce(pixels.start, 0, rows);
    }
}

/// Looks bytes up.
fn lookup(table: &[u8; ANSWERS], from: &[u8], to: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512vbmi") && is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::lookup(table, from, to) };
    }
    plain(table, from, to);
}

fn plain(table: &[u8; ANSWERS], from: &[u8], to: &mut [u8]) {
    for (to, &byte) in to.iter_mut().zip(from) {
        *to = table[usize::from(byte)];
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{ANSWERS, plain};

    /// Looks up 64 bytes at a time, in both halves of the table.
    ///
    /// # Safety
    /// The processor has AVX-512 with VBMI and BW.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn lookup(table: &[u8; ANSWERS], from: &[u8], to: &mut [u8]) {
        // SAFETY: the table has four vectors, and each chunk one.
        unsafe {
            let part = |at: usize| _mm512_loadu_si512(table[64 * at..].as_ptr().cast());
            let (low, high) = ([part(0), part(1)], [part(2), part(3)]);
            let (from, last) = from.as_chunks::<64>();
            let (to, rest) = to.as_chunks_mut::<64>();
            for (from, to) in from.iter().zip(to) {
                let bytes = _mm512_loadu_si512(from.as_ptr().cast());
                let lower = _mm512_permutex2var_epi8(low[0], bytes, low[1]);
                let upper = _mm512_permutex2var_epi8(high[0], bytes, high[1]);
                let is_upper = _mm512_movepi8_mask(bytes);
                let answers = _mm512_mask_blend_epi8(is_upper, lower, upper);
                _mm512_storeu_si512(to.as_mut_ptr().cast(), answers);
            }
            plain(table, last, rest);
        }
    }
}

/// Returns the answers as the bytes of a view's numbers, or `None` if it has no such numbers or an
/// answer is NaN.
pub(in crate::compute) fn bytes_of(answers: &[f32], numbers: ReducedNumbers) -> Option<Vec<u8>> {
    let ReducedNumbers::Bytes(numbers) = numbers else {
        return None;
    };
    let byte = |&answer: &f32| {
        let steps = (answer / numbers.scale).round_ties_even() + numbers.zero_point;
        (!answer.is_nan()).then(|| steps.clamp(0.0, numbers.most) as u8)
    };
    answers.iter().map(byte).collect()
}
