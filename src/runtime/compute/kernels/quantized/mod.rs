//! Convolutions and fully connected layers as products of bytes (int8).
//!
//! Weights are bytes from -127 to 127 with a scale for each output channel. Values are bytes from 0
//! to 127. Their scale and zero point are found as they are read: by their range in a sample, or,
//! if windows have one pixel, in a pixel or token. They are copied as bytes into scratch, with
//! their padding. Sums are whole numbers, the same on every machine; later operations use float32.
//! A sample with a value that is not finite has NaN answers.
//!
//! If the network itself rounds values by the range of a sample, they come as bytes from 0 to 255
//! with their scale and zero point in rows, and weights are the network's own bytes, signed or
//! unsigned.

mod product;
mod ranged;
mod regions;
mod tile;
mod values;
pub(super) mod weights;

use super::convolution::reads::{Reads, copied_lines, padded};
use super::dots::DotKernel;
use super::panels::{Filters, Panels};
use super::target::KernelTarget;
use super::task::{Call, MAX_PHASES, ProductBlocks, Scratch, Split, most_rows};
use super::vector::dispatch;
use crate::compute::buffers::{TensorView, ValuePlace};
use crate::network::Conv2d;
pub(in crate::compute) use ranged::RangedBytes;
use regions::ByteRegions;
use values::{LineRanges, QuantizeLines, QuantizeRows};

/// A convolution in int8 with its operands and the layout of its weights.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Quantized {
    pub conv: Conv2d,
    input: TensorView,
    /// The copy of the input in bytes: the image with its padding, or the pixels that are read,
    /// each with its own scale.
    copy: TensorView,
    output: TensorView,
    reads: Reads,
    /// Weights; a line is four of each column.
    panels: Panels,
    kernel: DotKernel,
    /// Whether the rows are tokens: few, and read by many panels.
    tokens: bool,
    /// Whether values come as bytes by the range of a sample, in rows of `RangedRow`.
    ranged: bool,
}

/// Steps of fewer input channels stay in float32: first layers, whose errors cost most.
const LEAST_CHANNELS: usize = 16;

/// The most products of a sum that 32 bits hold.
const MOST_PRODUCTS: usize = 1 << 17;

impl Quantized {
    /// Plans a convolution, or returns `None` if it is computed in float32: int8 was not requested,
    /// is not possible, or is not expected to be faster.
    pub(crate) fn new(
        conv: Conv2d,
        input: TensorView,
        output: TensorView,
        target: KernelTarget,
    ) -> Option<Self> {
        let kernel = target.dots?;
        let products = conv.kernel.area() * input.channels;
        if conv.groups > 1 || input.channels < LEAST_CHANNELS || products > MOST_PRODUCTS {
            return None;
        }
        let copy = copy(conv, input, output);
        let read_as = match is_pixelwise(conv) {
            true => Conv2d { stride: 1, ..conv },
            false => conv,
        };
        let reads = Reads::new(read_as, copy, output, true);
        Some(Quantized {
            conv,
            input,
            copy,
            output,
            panels: Panels {
                depth: reads.taps * reads.depth / 4,
                columns: conv.channels,
                shape: kernel.shape(),
            },
            reads,
            kernel,
            tokens: false,
            ranged: false,
        })
    }

    /// Plans a fully connected layer over `inputs` bytes by the range of a sample.
    pub(crate) fn of_ranged(
        inputs: usize,
        input: TensorView,
        output: TensorView,
        target: KernelTarget,
    ) -> Self {
        let conv = Conv2d::new(output.channels, 1);
        let kernel = DotKernel::up_to(target.family, ranged::MOST);
        let copy = TensorView {
            first: 0,
            channels: inputs.next_multiple_of(4),
            pitch: 4 * input.pitch,
            ..input
        };
        let reads = Reads::new(conv, copy, output, true);
        Quantized {
            conv,
            input,
            copy,
            output,
            panels: Panels {
                depth: reads.depth / 4,
                columns: conv.channels,
                shape: kernel.shape(),
            },
            reads,
            kernel,
            tokens: true,
            ranged: true,
        }
    }

    /// Returns the name in reports.
    pub(crate) fn name(&self) -> &'static str {
        match self.ranged {
            true => "int8, dynamic",
            false => "int8",
        }
    }

    /// Returns whether it is expected to be faster than Winograd's algorithm in float32 in cases
    /// where that is faster than multiplying directly. With only AVX2 or NEON it is not.
    pub(crate) fn outruns_winograd(&self) -> bool {
        !matches!(self.kernel, DotKernel::Avx2 | DotKernel::Neon)
    }

    /// Returns the same for rows of tokens.
    pub(crate) fn of_tokens(self) -> Self {
        Quantized {
            tokens: true,
            ..self
        }
    }

    pub(crate) fn weight_floats(&self) -> usize {
        match self.ranged {
            true => weights::ranged_floats(self.panels),
            false => weights::floats(self.panels),
        }
    }

    /// Returns whether weights are laid out as those of another convolution.
    pub(crate) fn packs_as(&self, other: &Quantized) -> bool {
        let of = |q: &Quantized| (q.conv, q.panels, q.ranged);
        of(self) == of(other)
    }

    /// Lays weights out; `packed` has [`Quantized::weight_floats`] zeros.
    pub(crate) fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        match self.ranged {
            true => weights::pack_ranged(filters, self.panels, packed),
            false => weights::pack(filters, self.panels, packed),
        }
    }

    /// Returns whether the sums of two products fit into 16 bits, if that makes a faster kernel
    /// exact.
    pub(crate) fn fits_pairs(&self, packed: &[f32]) -> bool {
        let weights = &packed[..self.panels.floats()];
        self.ranged && self.kernel.fits_pairs(weights, ranged::MOST)
    }

    /// Returns the floats of input that one more row brings into cache.
    fn touched(&self) -> usize {
        self.reads.touched() / 4
    }

    fn blocks(&self, samples: usize, threads: usize) -> ProductBlocks {
        let (rows, panels) = (samples * self.output.pixels(), self.panels.count());
        match self.tokens {
            true => ProductBlocks::of_tokens(rows, panels, self.touched(), threads),
            false => ProductBlocks::new(rows, panels, self.touched(), threads),
        }
    }

    /// Divides the copy into tasks: rows with a scale of their own, or lines of the image.
    fn copies(&self, samples: usize, threads: usize) -> Split {
        match is_pixelwise(self.conv) {
            true => {
                let rows = samples * self.output.pixels();
                Split::new(rows, GRAIN / self.copy.pitch.max(1), threads)
            }
            false => copied_lines(self.copy, samples, threads),
        }
    }

    /// Divides the lines of the image, whose ranges are found.
    fn lines(&self, samples: usize, threads: usize) -> Split {
        let grain = GRAIN / (self.input.width * self.input.channels).max(1);
        Split::new(samples * self.input.height, grain, threads)
    }

    pub(crate) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        let copies = self.copies(samples, threads).tasks();
        let product = self.blocks(samples, threads).tasks();
        match is_pixelwise(self.conv) {
            _ if self.ranged => [product, 0, 0, 0],
            true => [copies, product, 0, 0],
            false => [self.lines(samples, threads).tasks(), copies, product, 0],
        }
    }

    /// Returns the scratch for up to `samples`.
    pub(crate) fn scratch(&self, samples: usize) -> Scratch {
        let rows = samples * self.output.pixels();
        Scratch {
            own: 0,
            shared: match self.ranged {
                true => 0,
                false => ByteRegions::for_step(self, samples).end,
            },
            offsets: rows.min(most_rows(self.touched())) * (self.reads.taps + 1),
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    pub(crate) unsafe fn run(&self, call: &mut Call<'_>, phase: usize, task: usize) {
        let phase = match is_pixelwise(self.conv) {
            _ if self.ranged => phase + 2,
            true => phase + 1,
            false => phase,
        };
        // SAFETY: guaranteed by the caller.
        unsafe {
            match (phase, is_pixelwise(self.conv)) {
                (0, _) => self.find_ranges(call, task),
                (1, true) => self.copy_rows(call, task),
                (1, false) => self.copy_lines(call, task),
                _ => self.product(call, task),
            }
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    unsafe fn find_ranges(&self, call: &Call<'_>, task: usize) {
        let lines = self.lines(call.samples, call.threads).range(task);
        let ranges = ByteRegions::for_step(self, call.samples).ranges(call, lines.clone());
        // SAFETY: tasks have disjoint lines, and nothing reads their ranges in this phase; a step
        // never reads the slot that it writes; the family is available.
        unsafe {
            let work = LineRanges {
                from: call.memory.source(self.input),
                first: lines.start,
                ranges: bytemuck::cast_slice_mut(call.memory.floats_mut(ranges)),
            };
            dispatch(call.family, work);
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    unsafe fn copy_rows(&self, call: &Call<'_>, task: usize) {
        let rows = self.copies(call.samples, call.threads).range(task);
        let regions = ByteRegions::for_step(self, call.samples);
        let row = self.copy.pitch / 4;
        let bytes = regions.bytes(call, row * rows.start..row * rows.end);
        let affine = regions.affine(call, rows.clone());
        // SAFETY: tasks have disjoint rows, which nothing reads in this phase; the rest as for ranges.
        unsafe {
            let work = QuantizeRows {
                stride: self.conv.stride,
                from: call.memory.source(self.input),
                copy: self.copy,
                first: rows.start,
                bytes: bytemuck::cast_slice_mut(call.memory.floats_mut(bytes)),
                affine: bytemuck::cast_slice_mut(call.memory.floats_mut(affine)),
            };
            dispatch(call.family, work);
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    unsafe fn copy_lines(&self, call: &Call<'_>, task: usize) {
        let lines = self.copies(call.samples, call.threads).range(task);
        let regions = ByteRegions::for_step(self, call.samples);
        let line = self.copy.width * self.copy.pitch / 4;
        let bytes = regions.bytes(call, line * lines.start..line * lines.end);
        let ranges = regions.ranges(call, 0..call.samples * self.input.height);
        let found = |sample: usize, affine: [f32; 2]| {
            let at = regions.affine(call, sample..sample + 1);
            // SAFETY: the task that has a sample's first line alone writes its scale.
            let to = unsafe { call.memory.floats_mut(at) };
            to.copy_from_slice(&affine);
        };
        // SAFETY: tasks have disjoint lines, which nothing reads in this phase; ranges are only read;
        // the rest as for ranges.
        unsafe {
            let work = QuantizeLines {
                conv: self.conv,
                from: call.memory.source(self.input),
                copy: self.copy,
                first: lines.start,
                bytes: bytemuck::cast_slice_mut(call.memory.floats_mut(bytes)),
                ranges: bytemuck::cast_slice(call.memory.floats(ranges)),
                found: &found,
            };
            dispatch(call.family, work);
        }
    }
}

/// The least bytes that a task copies.
const GRAIN: usize = 8 * 1024;

/// Returns whether windows have one pixel and no padding; each then has its own scale.
fn is_pixelwise(conv: Conv2d) -> bool {
    conv.kernel.area() == 1 && conv.padding.height + conv.padding.width == 0
}

/// Returns the view of the copy, in bytes; pixels are filled up to whole groups of four.
fn copy(conv: Conv2d, input: TensorView, output: TensorView) -> TensorView {
    let channels = input.channels.next_multiple_of(4);
    let image = match is_pixelwise(conv) {
        true => TensorView {
            place: ValuePlace::Shared,
            ..output
        },
        false => padded(conv, input),
    };
    TensorView {
        first: 0,
        channels,
        pitch: channels,
        ..image
    }
}
