//! Values as bytes by their range in a sample, in rows that products read.
//!
//! As in ONNX's `DynamicQuantizeLinear`, bytes from 0 to 255 cover a range that includes 0, by
//! quotients with the scale. A sample with a value that is not finite has the scale NaN.

use std::ops::Range;

use super::super::memory::{InputPixels, OutputPixels};
use super::super::task::{Call, MAX_PHASES, Scratch, Split};
use super::super::vector::{Vector, Vectorised, dispatch};
use super::GRAIN;
use super::values::{LineRanges, joined};
use crate::compute::buffers::TensorView;
use crate::compute::dynamic::RangedRow;

/// The largest byte.
pub(super) const MOST: f32 = 255.0;

/// The most lanes of a vector.
const MOST_LANES: usize = 16;

/// The rounding of a value to bytes by the range of a sample.
#[derive(Clone, Debug)]
pub(in crate::compute) struct RangedBytes {
    input: TensorView,
    /// The rows of bytes, as floats.
    output: TensorView,
}

impl RangedBytes {
    pub(crate) fn new(input: TensorView, output: TensorView) -> Self {
        RangedBytes { input, output }
    }

    /// Divides the rows of all samples into tasks.
    fn rows(&self, samples: usize, threads: usize) -> Split {
        let rows = samples * self.input.pixels();
        Split::new(rows, GRAIN / self.input.channels.max(1), threads)
    }

    pub(crate) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        let tasks = self.rows(samples, threads).tasks();
        [tasks, tasks, 0, 0]
    }

    pub(crate) fn scratch(&self, samples: usize) -> Scratch {
        Scratch {
            shared: 2 * samples * self.input.pixels(),
            ..Scratch::default()
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(crate) unsafe fn run(&self, call: &Call<'_>, phase: usize, task: usize) {
        let rows = self.rows(call.samples, call.threads).range(task);
        // SAFETY: guaranteed by the caller.
        unsafe {
            match phase {
                0 => self.find_ranges(call, rows),
                _ => self.round(call, rows),
            }
        }
    }

    /// Finds the range of each row.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    unsafe fn find_ranges(&self, call: &Call<'_>, rows: Range<usize>) {
        let line = TensorView {
            width: 1,
            ..self.input
        };
        // SAFETY: tasks have disjoint rows, and nothing reads their ranges in this phase; a step never
        // reads the slot that it writes; the family is available.
        unsafe {
            let from = call.memory.source(self.input);
            let work = LineRanges {
                from: InputPixels { view: line, ..from },
                first: rows.start,
                ranges: bytemuck::cast_slice_mut(call.memory.floats_mut(ranges(call, rows))),
            };
            dispatch(call.family, work);
        }
    }

    /// Rounds rows by the range of all rows of their sample.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    unsafe fn round(&self, call: &Call<'_>, rows: Range<usize>) {
        let all = 0..call.samples * self.input.pixels();
        // SAFETY: tasks write disjoint rows; ranges are only read in this phase; the rest as for these.
        unsafe {
            let work = RoundRows {
                from: call.memory.source(self.input),
                ranges: bytemuck::cast_slice(call.memory.floats(ranges(call, all))),
                to: call.memory.part(self.output, rows),
            };
            dispatch(call.family, work);
        }
    }
}

/// Returns the place of some rows' ranges in scratch.
fn ranges(call: &Call<'_>, rows: Range<usize>) -> Range<usize> {
    let shared = call.memory.shared();
    assert!(
        2 * rows.end <= shared.len(),
        "ranges outside of their scratch"
    );
    shared.start + 2 * rows.start..shared.start + 2 * rows.end
}

/// The scale of the bytes of a sample, and the byte of 0.
#[derive(Clone, Copy, Debug)]
struct RangedScale {
    scale: f32,
    zero_point: f32,
}

impl RangedScale {
    /// Returns the scale for values from `low` (at most 0) to `high` (at least 0), or NaN if the
    /// range is not finite.
    fn from_range([low, high]: [f32; 2]) -> Self {
        let scale = (high - low) / MOST;
        if !scale.is_finite() {
            return RangedScale {
                scale: f32::NAN,
                zero_point: 0.0,
            };
        }
        // Only zeros have no range; they are 0 with any scale.
        let scale = scale.max(f32::MIN_POSITIVE);
        RangedScale {
            scale,
            zero_point: (-low / scale).round_ties_even().clamp(0.0, MOST),
        }
    }
}

/// Writes rows of values as bytes by the range of their sample.
struct RoundRows<'a> {
    from: InputPixels<'a>,
    /// The ranges of the rows of all samples.
    ranges: &'a [[f32; 2]],
    to: OutputPixels<'a>,
}

impl Vectorised for RoundRows<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) {
        let each = self.from.view.pixels();
        let mut known = (usize::MAX, RangedScale::from_range([0.0; 2]));
        for row in self.to.pixels.clone() {
            let sample = row / each;
            if known.0 != sample {
                let rows = &self.ranges[sample * each..][..each];
                known = (sample, RangedScale::from_range(joined(rows)));
            }
            // SAFETY: the family's instructions are enabled here.
            unsafe { round_row::<V>(self.from.pixel(row), known.1, self.to.row(row)) };
        }
    }
}

/// Writes a row of bytes, followed by the scale, the zero point, and the sum of the bytes minus the
/// zero point of each.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn round_row<V: Vector>(values: &[f32], by: RangedScale, row: &mut [f32]) {
    let (bytes, behind) = row.split_at_mut(RangedRow::for_values(values.len()).bytes);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(bytes);
    let zero_point = by.zero_point as i32;
    let whole = values.len() / V::LANES * V::LANES;
    // SAFETY: loads and stores lie inside the slices.
    unsafe {
        let scale = V::splat(by.scale);
        for at in (0..whole).step_by(V::LANES) {
            let steps = V::load(values[at..].as_ptr()).div(scale);
            steps.store_bytes(zero_point, MOST as i32, bytes[at..].as_mut_ptr());
        }
        let rest = values.len() - whole;
        if rest > 0 {
            let mut last = [0; MOST_LANES];
            let steps = V::load_part(values[whole..].as_ptr(), rest).div(scale);
            steps.store_bytes(zero_point, MOST as i32, last.as_mut_ptr());
            bytes[whole..values.len()].copy_from_slice(&last[..rest]);
        }
    }
    bytes[values.len()..].fill(0);
    let sum: i32 = bytes.iter().map(|byte| i32::from(*byte)).sum();
    let centred = sum - zero_point * values.len() as i32;
    behind.copy_from_slice(&[by.scale, by.zero_point, 0.0, 0.0]);
    bytemuck::cast_slice_mut::<f32, i32>(behind)[2] = centred;
}
