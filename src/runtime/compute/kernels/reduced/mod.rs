//! Products of values and weights in reduced numbers, read in place: brain floats, or bytes by
//! scales known in advance.
//!
//! Sums are float32, or whole numbers of 32 bits. Bias, activation and, if a reader needs them,
//! answers are float32. An answer read by further such products is rounded once, as it is written.

mod byte_rows;
mod finish;
mod form;
mod halves;
mod kernel;
#[cfg(target_arch = "x86_64")]
mod native;
mod operands;
mod paired;
mod pools;
mod prepared;
mod residual;
mod rows;
mod suits;
mod sums;
mod tile;
mod weights;

use std::sync::Arc;

use super::activations::{RowActivation, TileRows};
use super::convolution::reads::Reads;
use super::panels::{Filters, Panels, even_tiles};
use super::quantized::weights as byte_weights;
use super::task::{Call, MAX_PHASES, ProductBlocks, Scratch, most_rows};
use super::tile::{Prefetch, Tile};
use crate::compute::buffers::{ReducedView, TensorView};
use crate::compute::family::Family;
use crate::compute::reduced::{ByteNumbers, ReducedNumbers};
use crate::network::Conv2d;
pub(super) use form::{ByteForm, FloatForm, HalfForm, ReducedForm};
pub(in crate::compute) use kernel::ReducedKernel;
#[cfg(target_arch = "x86_64")]
pub(super) use native::NativeHalfForm;
use operands::{ReducedBlock, ReducedTile};
pub(super) use paired::pair;
pub(super) use pools::{global_pool, max_pool};
use prepared::PreparedImage;
pub(super) use prepared::suits_prepared;
use residual::Residual;
pub(super) use rows::{MOST_TILE, StepOutputs, expand, join, reduce_pixels, reduce_run};
pub(super) use suits::suits;
use tile::reduced_fn;

/// A convolution or a fully connected layer with its operands and the layout of its weights.
#[derive(Clone, Debug)]
pub(in crate::compute) struct ReducedProduct {
    pub conv: Conv2d,
    /// The numbers that are read: the step's input, or its copy in padded lines.
    input: ReducedView,
    prepared: Option<PreparedImage>,
    output: TensorView,
    reads: Reads,
    /// Weights; a line is a group of each column.
    panels: Panels,
    kernel: ReducedKernel,
    /// Numbers that are added to the bias of each output channel, before a norm is folded into it.
    correction: Option<Arc<[f32]>>,
    /// Whether constants are added after the rounding.
    shifts: bool,
    /// Whether the rows are tokens: few, and read by many panels.
    tokens: bool,
}

impl ReducedProduct {
    /// Plans a convolution that [`suits`].
    pub(crate) fn new(
        conv: Conv2d,
        input: ReducedView,
        output: TensorView,
        family: Family,
    ) -> Self {
        Self::reading(conv, input, None, output, family)
    }

    /// Plans a convolution that [`suits_prepared`] over floats. `entry` is set if their channels
    /// come first.
    pub(crate) fn prepared(
        conv: Conv2d,
        input: TensorView,
        numbers: ReducedNumbers,
        entry: bool,
        output: TensorView,
        family: Family,
    ) -> Self {
        let image = PreparedImage::new(conv, input, numbers, entry);
        Self::reading(conv, image.copy(), Some(image), output, family)
    }

    fn reading(
        conv: Conv2d,
        input: ReducedView,
        prepared: Option<PreparedImage>,
        output: TensorView,
        family: Family,
    ) -> Self {
        let kernel = ReducedKernel::for_numbers(family, input.numbers);
        let reads = Reads::new(conv, input.view, output, prepared.is_some());
        ReducedProduct {
            conv,
            input,
            prepared,
            output,
            panels: Panels {
                depth: reads.taps * reads.depth / input.numbers.group(),
                columns: conv.channels,
                shape: kernel.shape(),
            },
            reads,
            kernel,
            correction: None,
            shifts: false,
            tokens: false,
        }
    }

    /// Returns the same with numbers that are added to the bias.
    pub(crate) fn corrected(self, correction: Option<Arc<[f32]>>) -> Self {
        ReducedProduct { correction, ..self }
    }

    /// Returns the same product with constants added after the rounding, or without.
    pub(crate) fn shifted(self, shifts: bool) -> Self {
        ReducedProduct { shifts, ..self }
    }

    /// Lays out the constants added after a rounding; `packed` is that of [`ReducedProduct::pack`].
    pub(crate) fn pack_shift(&self, values: &[f32], packed: &mut [f32]) {
        let first = self.weight_floats() - self.shift_floats();
        let channels = packed[first..].iter_mut().take(self.conv.channels);
        channels
            .zip(values.iter().cycle())
            .for_each(|(to, &value)| *to = value);
    }

    /// Returns the floats of these constants.
    fn shift_floats(&self) -> usize {
        match self.shifts {
            true => self.panels.padded_columns(),
            false => 0,
        }
    }

    /// Returns the numbers that are added to the bias of each output channel, before a norm is folded
    /// into it.
    pub(crate) fn correction(&self) -> Option<&[f32]> {
        self.correction.as_deref()
    }

    /// Returns the kernel that multiplies, whatever the weights.
    pub(crate) fn kernel(&self) -> ReducedKernel {
        self.kernel
    }

    /// Returns the same for rows of tokens.
    pub(crate) fn of_tokens(self) -> Self {
        ReducedProduct {
            tokens: true,
            ..self
        }
    }

    pub(crate) fn weight_floats(&self) -> usize {
        let weights = match self.input.numbers {
            ReducedNumbers::Bf16 => self.panels.floats(),
            ReducedNumbers::Bytes(_) => byte_weights::floats(self.panels),
        };
        weights + self.shift_floats()
    }

    /// Returns whether weights have the layout of another product's, with equally corrected biases.
    pub(crate) fn packs_as(&self, other: &ReducedProduct) -> bool {
        let of = |p: &ReducedProduct| (p.conv, p.panels, p.input.numbers, p.shifts);
        of(self) == of(other) && self.correction == other.correction
    }

    /// Lays weights out; `packed` has [`ReducedProduct::weight_floats`] zeros.
    pub(crate) fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        match self.input.numbers {
            ReducedNumbers::Bf16 => weights::pack(filters, self.panels, packed),
            ReducedNumbers::Bytes(numbers) => {
                byte_weights::pack(filters, self.panels, packed);
                byte_weights::combine(numbers, self.kernel.shift(), self.panels, packed);
            }
        }
    }

    /// Returns whether the sums of two products fit into 16 bits, if that makes a faster kernel
    /// exact.
    pub(crate) fn fits_pairs(&self, packed: &[f32]) -> bool {
        let weights = &packed[..self.panels.floats()];
        self.kernel.fits_pairs(weights, self.input.numbers)
    }

    /// Returns the bits of 0, and the number of floats that replace a tap outside of the image, or
    /// `None` if no tap lies outside.
    pub(crate) fn border(&self) -> Option<(u8, usize)> {
        let floats = self.reads.depth / self.input.numbers.group();
        let border = (self.input.numbers.zero_point(), floats);
        self.prepared.is_none().then_some(border)
    }

    /// Returns the floats of input that one more row brings into cache.
    fn touched(&self) -> usize {
        self.reads.touched() / self.input.numbers.group()
    }

    fn blocks(&self, samples: usize, threads: usize) -> ProductBlocks {
        let (rows, panels) = (samples * self.output.pixels(), self.panels.count());
        match self.tokens {
            true => ProductBlocks::of_tokens(rows, panels, self.touched(), threads),
            false => ProductBlocks::new(rows, panels, self.touched(), threads),
        }
    }

    pub(crate) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        let product = self.blocks(samples, threads).tasks();
        match self.prepared {
            Some(image) => [image.lines(samples, threads).tasks(), product, 0, 0],
            None => [product, 0, 0, 0],
        }
    }

    /// Returns the scratch for up to `samples`.
    pub(crate) fn scratch(&self, samples: usize) -> Scratch {
        let rows = samples * self.output.pixels();
        let (shared, own) = self.prepared.map_or((0, 0), |image| image.scratch(samples));
        Scratch {
            offsets: rows.min(most_rows(self.touched())) * self.reads.taps,
            shared,
            own,
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    pub(crate) unsafe fn run(&self, call: &mut Call<'_>, phase: usize, task: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.prepared.filter(|_| phase == 0) {
                Some(image) => image.run(call, task),
                None => self.product(call, task),
            }
        }
    }

    /// Computes one block of output pixels and panels.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    unsafe fn product(&self, call: &mut Call<'_>, task: usize) {
        let (rows, panels) = self.blocks(call.samples, call.threads).ranges(task);
        let (values, zeros) = call.memory.reduced_base(self.input);
        self.reads.list(rows.clone(), zeros, call.offsets);
        let block = ReducedBlock {
            kernel: self.kernel.of_pairs(call.weights.pairs_fit),
            values,
            // SAFETY: blocks of a phase share pixels only if their panels differ, and a tile writes
            // only its panel's columns.
            outputs: unsafe { StepOutputs::for_task(call, rows.clone()) },
            residual: Residual::from_call(call),
            may_make_nan: self.may_make_nan(call),
            // SAFETY: the call's family is available.
            pass: unsafe { RowActivation::of_reduced(call.family, call.step.fused.activation) },
            rows,
        };
        for panel in panels {
            // SAFETY: the offsets were just listed for these rows.
            unsafe { self.panel(call, &block, panel) };
        }
    }

    /// Computes one panel, tile by tile.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run); the call's offsets are those of
    /// the block's rows.
    unsafe fn panel(&self, call: &Call<'_>, block: &ReducedBlock<'_>, index: usize) {
        let panel = self.panels.panel(index);
        let shape = block.kernel.shape();
        let width = panel.vectors * shape.lanes;
        let tiles = even_tiles(block.rows.len(), shape.rows(panel.vectors));
        let shares = Prefetch::shares(self.panels.depth, width, tiles.len());
        let mut floats = [0.0; MOST_TILE];
        let by_floats = block.pass.is_some() || block.may_make_nan;
        for (rows, prefetch) in tiles.zip(shares) {
            let (pixel, first) = (block.rows.start + rows.start, panel.column);
            let mut tile = self.tile(call, block, rows.start, index);
            tile.end.prefetch = prefetch;
            if by_floats {
                // The activation runs before numbers are rounded and checked for NaN.
                tile.out = std::ptr::null_mut();
                let buffer = floats.as_mut_ptr();
                (tile.end.out, tile.end.out_stride) =
                    block.outputs.floats(pixel, first, buffer, width);
            }
            // SAFETY: the offsets are those of pixels of the input (or of the zeros), the panel and
            // the bias have their full width, and the rows of the residual and of the outputs exist
            // for all pixels of the block.
            unsafe {
                reduced_fn(block.kernel, panel.vectors, rows.len())(&tile);
                if by_floats {
                    let written = TileRows {
                        start: tile.end.out,
                        stride: tile.end.out_stride,
                        rows: rows.len(),
                        columns: width - shape.lanes + panel.last,
                    };
                    block.outputs.activate(pixel, first, written, block.pass);
                }
            }
        }
    }

    /// Returns whether answers that become bytes may be NaN. Sums of bytes never are; added values
    /// may be.
    fn may_make_nan(&self, call: &Call<'_>) -> bool {
        let weights = call.weights;
        let packed = weights.packed.values();
        let shift = &packed[self.weight_floats() - self.shift_floats()..self.weight_floats()];
        let is_of_bytes = matches!(self.input.numbers, ReducedNumbers::Bytes(_));
        let adds_floats = matches!(Residual::from_call(call), Residual::Floats(_));
        let is_finite = weights.has_finite_bias() && shift.iter().all(|value| value.is_finite());
        is_of_bytes && (adds_floats || !is_finite)
    }

    /// Returns the tile of a panel from row `row` of the block on.
    fn tile(
        &self,
        call: &Call<'_>,
        block: &ReducedBlock<'_>,
        row: usize,
        panel: usize,
    ) -> ReducedTile {
        let panel = self.panels.panel(panel);
        let (pixel, first) = (block.rows.start + row, panel.column);
        let bias = call.weights.bias.get(first..).filter(|b| !b.is_empty());
        let reduced = block.outputs.reduced();
        let (residual, reduced_residual) = block.residual.at(pixel, first);
        let packed = call.weights.packed.values();
        let (scales, starts) = match self.input.numbers {
            ReducedNumbers::Bf16 => (std::ptr::null(), std::ptr::null()),
            ReducedNumbers::Bytes(_) => {
                let (scales, starts) = byte_weights::columns(self.panels, packed);
                (scales[first..].as_ptr(), starts[first..].as_ptr())
            }
        };
        let (out, out_stride) = block.outputs.floats(pixel, first, std::ptr::null_mut(), 0);
        ReducedTile {
            values: block.values,
            residual: reduced_residual.0,
            residual_stride: reduced_residual.1,
            out: reduced.map_or(std::ptr::null_mut(), |out| out.ptr(pixel, first)),
            out_stride: reduced.map_or(0, |out| out.of.view.pitch),
            scales,
            starts,
            rounding: call.step.fused.rounding.and_then(|rounding| {
                let numbers = ByteNumbers::from_activation(Some(rounding.function))?;
                Some(ByteForm::for_numbers(Some(ReducedNumbers::Bytes(numbers))))
            }),
            shift: match self.shifts {
                true => packed[self.weight_floats() - self.shift_floats()..][first..].as_ptr(),
                false => std::ptr::null(),
            },
            added: ByteForm::for_numbers(block.residual.numbers()),
            written: ByteForm::for_numbers(reduced.map(|out| out.of.numbers)),
            end: Tile {
                base: std::ptr::null(),
                rows: call.offsets[row..].as_ptr(),
                rows_stride: block.rows.len(),
                taps: self.reads.taps,
                depth: self.reads.depth / self.input.numbers.group(),
                panel: packed[panel.at..].as_ptr(),
                prefetch: Prefetch::NOTHING,
                bias: bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
                residual: residual.0,
                residual_stride: residual.1,
                out,
                out_stride,
                vectors: panel.vectors,
                last: panel.last,
                activation: call.step.fused.activation,
            },
        }
    }
}
