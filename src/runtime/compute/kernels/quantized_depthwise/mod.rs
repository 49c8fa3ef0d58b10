//! Depthwise convolutions of bytes by weights of bytes, summed in whole numbers.
//!
//! A vector holds the same pixel's bytes of many channels. The bytes of four lines of the image are
//! interleaved, so that an instruction multiplies a column of the kernel. Neighbouring outputs of a
//! line share the interleaved bytes.

mod ends;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod tile;
mod weights;

use std::ops::Range;
use std::sync::Arc;

use super::activations::{RowActivation, TileRows};
use super::dots::DotKernel;
use super::panels::Filters;
use super::reduced::StepOutputs;
use super::task::{Call, MAX_PHASES, Scratch, Split};
use crate::compute::buffers::{ReducedView, TensorView, ValuePlace};
use crate::compute::family::Family;
use crate::compute::reduced::{ByteNumbers, ReducedNumbers};
use crate::network::Conv2d;
use ends::BlockEnds;
use tile::{ReducedLine, line_fn};
use weights::WeightBlocks;

/// Bytes of a vector, which holds a block of channels.
const VECTOR: usize = 64;

/// Lines that are multiplied at a time.
const GROUP: usize = 4;

/// The most lines of a kernel.
const MOST_LINES: usize = 8;

/// The least bytes that a task reads.
const GRAIN: usize = 32 * 1024;

/// The most bytes of lines that are read for one block of channels after another: a quarter of a
/// common second-level cache.
const CACHED: usize = 256 * 1024;

/// A depthwise convolution of bytes with its operands.
#[derive(Clone, Debug)]
pub(in crate::compute) struct QuantizedDepthwise {
    pub conv: Conv2d,
    input: ReducedView,
    numbers: ByteNumbers,
    output: TensorView,
    /// Numbers that are added to the bias of each output channel, before a norm is folded into it.
    correction: Option<Arc<[f32]>>,
}

/// Returns whether [`QuantizedDepthwise`] can compute a convolution of bytes.
pub(super) fn suits(conv: Conv2d, input: TensorView, family: Family) -> bool {
    let whole = |count: usize| count.is_multiple_of(GROUP);
    DotKernel::for_family(family) == DotKernel::Vnni
        && conv.groups > 1
        && conv.groups == input.channels
        && conv.channels == input.channels
        && matches!(conv.kernel.width, 3 | 5 | 7)
        && conv.kernel.height <= MOST_LINES
        && whole(input.channels)
        && whole(input.pitch)
        && input.place != ValuePlace::Input
}

impl QuantizedDepthwise {
    /// Plans a convolution that [`suits`], of an input of these bytes.
    pub(crate) fn new(
        conv: Conv2d,
        input: ReducedView,
        numbers: ByteNumbers,
        output: TensorView,
        correction: Option<Arc<[f32]>>,
    ) -> Self {
        QuantizedDepthwise {
            conv,
            input,
            numbers,
            output,
            correction,
        }
    }

    /// Returns the numbers that are added to the bias of each output channel, before a norm is folded
    /// into it.
    pub(crate) fn correction(&self) -> Option<&[f32]> {
        self.correction.as_deref()
    }

    fn blocks(&self) -> WeightBlocks {
        WeightBlocks::new(self.conv, self.numbers)
    }

    pub(crate) fn weight_floats(&self) -> usize {
        self.blocks().floats()
    }

    /// Returns whether weights have the layout of another convolution's, with equally corrected
    /// biases.
    pub(crate) fn packs_as(&self, other: &QuantizedDepthwise) -> bool {
        let of = |d: &QuantizedDepthwise| (d.conv, d.input.numbers);
        of(self) == of(other) && self.correction == other.correction
    }

    /// Lays weights out; `packed` has [`QuantizedDepthwise::weight_floats`] zeros.
    pub(crate) fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        self.blocks().pack(filters, packed);
    }

    /// Returns the byte of 0, and how many floats of it replace a pixel outside of the image.
    pub(crate) fn border(&self) -> (u8, usize) {
        (self.input.numbers.zero_point(), VECTOR / 4)
    }

    /// Returns the bytes between the input lines of neighbouring output lines, for pixels of
    /// `channels` channels.
    fn line_bytes(&self, channels: usize) -> usize {
        self.conv.stride * self.input.view.width * channels
    }

    fn lines(&self, samples: usize, threads: usize) -> Split {
        let line = self.line_bytes(self.input.view.channels);
        Split::new(samples * self.output.height, GRAIN / line.max(1), threads)
    }

    pub(crate) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        [self.lines(samples, threads).tasks(), 0, 0, 0]
    }

    /// Returns the scratch: a line's floats of one block.
    pub(crate) fn scratch(&self) -> Scratch {
        Scratch {
            own: self.output.width * VECTOR,
            ..Scratch::default()
        }
    }

    /// Computes some lines of the output.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    pub(crate) unsafe fn run(&self, call: &Call<'_>, task: usize) {
        let lines = self.lines(call.samples, call.threads).range(task);
        let width = self.output.width;
        let (values, border) = call.memory.reduced_base(self.input);
        let own = call.memory.own_scratch(call.thread);
        assert!(
            width * VECTOR <= own.len(),
            "scratch for a line of fewer pixels"
        );
        let work = LineWork {
            step: self,
            call,
            values,
            border: values.wrapping_add(border),
            // SAFETY: tasks have disjoint lines.
            outputs: unsafe { StepOutputs::for_task(call, lines.start * width..lines.end * width) },
            // SAFETY: the call's family is available.
            pass: unsafe { RowActivation::new(call.family, call.step.fused.activation) },
            buffer: call.memory.ptr(own.start),
        };
        let line = self.line_bytes(self.input.view.pitch).max(1);
        let some = (CACHED / line).max(1);
        for first in lines.clone().step_by(some) {
            let lines = first..lines.end.min(first + some);
            for block in 0..self.blocks().count() {
                // SAFETY: guaranteed by the caller.
                unsafe { work.block(block, lines.clone()) };
            }
        }
    }
}

/// The work of one task.
struct LineWork<'a> {
    step: &'a QuantizedDepthwise,
    call: &'a Call<'a>,
    values: *const u8,
    border: *const u8,
    outputs: StepOutputs<'a>,
    /// The activation, if it is applied after each line.
    pass: Option<RowActivation>,
    /// A line's floats of one block.
    buffer: *mut f32,
}

impl LineWork<'_> {
    /// Returns the bytes to write directly, or `None` if floats must be written first.
    fn written(&self) -> Option<ByteNumbers> {
        let is_direct = self.pass.is_none() && self.outputs.is_reduced_alone();
        let ReducedNumbers::Bytes(numbers) = self.outputs.reduced()?.of.numbers else {
            return None;
        };
        (is_direct && self.call.weights.has_finite_bias()).then_some(numbers)
    }

    /// Computes the channels of one block of lines.
    ///
    /// # Safety
    /// As for [`QuantizedDepthwise::run`].
    unsafe fn block(&self, block: usize, lines: Range<usize>) {
        let (step, weights) = (self.step, self.call.weights);
        let blocks = step.blocks();
        let (numbers, sums) = blocks.block(block, weights.packed.values());
        let first = block * VECTOR;
        let channels = (step.output.channels - first).min(VECTOR);
        let bias = weights.bias.get(first..).unwrap_or_default();
        let written = self.written();
        let activation = self.call.step.fused.activation;
        let ends = BlockEnds::new(blocks, sums, bias, channels, written, activation);
        let width = step.output.width;
        let run = line_fn(step.conv, width, channels);
        for line in lines {
            let pixel = line * width;
            let (floats, floats_pitch) = self.outputs.floats(pixel, first, self.buffer, VECTOR);
            let direct = self.outputs.reduced().filter(|_| written.is_some());
            let line = ReducedLine {
                rows: self.rows(line, first),
                border: self.border,
                width: step.input.view.width,
                conv: step.conv,
                weights: numbers,
                ends: &ends,
                channels,
                columns: width,
                out: direct.map_or(std::ptr::null_mut(), |out| out.ptr(pixel, first)),
                out_pitch: direct.map_or(0, |out| out.of.view.pitch),
                floats,
                floats_pitch,
            };
            let written = TileRows {
                start: floats,
                stride: floats_pitch,
                rows: width,
                columns: channels,
            };
            // SAFETY: the lines lie in the image, whose slot has these channels; tasks write
            // disjoint lines of slots that also have them.
            unsafe {
                run(&line);
                if direct.is_none() {
                    self.outputs.activate(pixel, first, written, self.pass);
                }
            }
        }
    }

    /// Returns the image lines under each line of the kernel, beginning with channel `first`, and
    /// the bytes from one pixel to the next. Lines outside of the image are the border.
    fn rows(&self, line: usize, first: usize) -> [(*const u8, usize); MOST_LINES] {
        let (conv, view) = (self.step.conv, self.step.input.view);
        let (sample, y) = (
            line / self.step.output.height,
            line % self.step.output.height,
        );
        let row = |at: usize| {
            let y = (y * conv.stride + at * conv.dilation).checked_sub(conv.padding.height);
            let y = y.filter(|&y| y < view.height && at < conv.kernel.height)?;
            let pixel = (sample * view.height + y) * view.width;
            let from = pixel * view.pitch + view.first + first;
            Some((self.values.wrapping_add(from), view.pitch))
        };
        std::array::from_fn(|at| row(at).unwrap_or((self.border, 0)))
    }
}
