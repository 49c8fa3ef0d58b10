//! Dense convolutions and fully connected layers: the methods to compute one, as queued work.

use crate::compute::ComputeError;
use crate::compute::buffers::TensorView;
use crate::compute::gpu::{GpuOp, GpuStep, Precision, StepArrays};
use crate::device::gpu::GpuError;
use crate::network::{Activation, Conv2d};

#[cfg(feature = "cudnn")]
use super::dnn::{ALGORITHMS, DnnConvolution, FusedEnds, Operands};
use super::gemm::{Gemm, MatrixOrder, Product, ProductBatch};
use super::kernels::{KernelName, Kernels, Params};
use super::params::{GatherParams, PointwiseParams};
use super::steps::convolved;
use super::work::{LaneMemory, Queue, QueuedWork, int};

/// A method to compute a dense convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DenseMethod {
    /// One matrix product: kernels of 1×1. The number is the algorithm's rank among the library's
    /// proposals.
    Product(usize),
    /// cuDNN's algorithm of that number, with bias, sum and ReLU in the same call or not.
    #[cfg(feature = "cudnn")]
    Dnn { algorithm: usize, fused: bool },
    /// Windows gathered in the workspace, a few rows at a time, then products.
    Gathered(usize),
}

/// The windows gathered at once: whole rows of the batch, or lines of one row's image.
#[derive(Clone, Copy)]
struct WindowPiece {
    first: usize,
    rows: usize,
    line: usize,
    lines: usize,
}

/// Algorithms of a product that are tried.
const RANKS: usize = 4;

/// One convolution at one number of rows.
pub(super) struct Dense<'a> {
    pub kernels: &'a Kernels,
    pub queue: &'a Queue,
    pub memory: &'a LaneMemory,
    pub step: &'a GpuStep,
    pub arrays: &'a StepArrays,
    pub rows: usize,
}

impl Dense<'_> {
    /// Returns the methods that may work, likely ones first.
    pub(super) fn ways(&self) -> Vec<DenseMethod> {
        let mut ways: Vec<DenseMethod> = Vec::new();
        if self.is_product() {
            ways.extend((0..RANKS).map(DenseMethod::Product));
        }
        #[cfg(feature = "cudnn")]
        for algorithm in 0..ALGORITHMS.len() {
            ways.push(DenseMethod::Dnn {
                algorithm,
                fused: true,
            });
            ways.push(DenseMethod::Dnn {
                algorithm,
                fused: false,
            });
        }
        if !self.is_product() {
            ways.extend([DenseMethod::Gathered(0), DenseMethod::Gathered(1)]);
        }
        ways
    }

    /// Returns the work of one method.
    ///
    /// # Errors
    /// It is not possible for these operands.
    pub(super) fn works(&self, way: DenseMethod) -> Result<Vec<QueuedWork>, ComputeError> {
        match way {
            DenseMethod::Product(rank) => self.product(rank),
            #[cfg(feature = "cudnn")]
            DenseMethod::Dnn { algorithm, fused } => self.dnn(algorithm, fused),
            DenseMethod::Gathered(rank) => self.gathered(rank),
        }
    }

    fn conv(&self) -> Conv2d {
        match self.step.op {
            GpuOp::Dense(conv) => conv,
            _ => Conv2d::new(self.step.output.channels, 1),
        }
    }

    /// Returns whether each output pixel reads only the input pixel at the same position.
    fn is_product(&self) -> bool {
        let conv = self.conv();
        conv.kernel.area() == 1 && conv.stride == 1 && conv.padding.area() == 0 && {
            let (p, q) = (self.step.input.pixels(), self.step.output.pixels());
            p == q
        }
    }

    fn precision(&self) -> Precision {
        self.memory.precision
    }

    fn pixels(&self) -> usize {
        self.rows * self.step.output.pixels()
    }

    /// Returns the product of `pixels` matrix rows, beginning at `from`, with the filters, for the
    /// output's pixels from `first` on. Its ends are applied as far as the library supports them.
    fn matrices(&self, from: u64, from_pitch: usize, first: usize, pixels: usize) -> Product {
        let step = self.step;
        let bytes = self.precision().bytes();
        let at =
            |view: &TensorView| self.memory.address(view) + (first * view.pitch * bytes) as u64;
        let inputs = self.conv().kernel.area() * step.input.channels;
        Product {
            precision: self.precision(),
            pixels,
            inputs,
            outputs: step.output.channels,
            from,
            from_pitch,
            from_order: MatrixOrder::Depth,
            filters_pitch: inputs,
            filters_order: MatrixOrder::Depth,
            filters: self.memory.array(self.arrays.filters),
            bias: self.memory.array(self.arrays.narrow_bias),
            residual: step.residual.as_ref().map_or(0, at),
            residual_pitch: step.residual.map_or(0, |view| view.pitch),
            to: at(&step.output),
            to_pitch: step.output.pitch,
            relu: step.activation == Some(Activation::Relu),
            batch: ProductBatch::ONE,
        }
    }

    fn gemm(
        &self,
        product: Product,
        rank: usize,
        workspace: usize,
    ) -> Result<QueuedWork, ComputeError> {
        let found = Gemm::candidates(&self.queue.blas, product, workspace, RANKS)?;
        // Other row counts may have fewer algorithms: then the last one is used.
        let gemm = found.into_iter().take(rank + 1).last();
        gemm.map(QueuedWork::Product)
            .ok_or_else(|| GpuError::Other("cuBLASLt returned no algorithm".into()).into())
    }

    fn product(&self, rank: usize) -> Result<Vec<QueuedWork>, ComputeError> {
        let input = &self.step.input;
        let from = self.memory.address(input);
        let product = self.matrices(from, input.pitch, 0, self.pixels());
        let all = self.queue.workspace.bytes;
        let mut works = vec![self.gemm(product, rank, all)?];
        works.extend(self.activated());
        Ok(works)
    }

    /// Returns whether the libraries can apply the step's activation, if it has one.
    fn is_known(&self) -> bool {
        matches!(self.step.activation, None | Some(Activation::Relu))
    }

    /// Returns a pass of an activation that the matrix library lacks over the output in place.
    fn activated(&self) -> Option<QueuedWork> {
        (!self.is_known()).then(|| self.tail(StepArrays::default(), None))
    }

    /// Returns a pass over the output in place.
    fn tail(&self, arrays: StepArrays, residual: Option<&TensorView>) -> QueuedWork {
        let output = &self.step.output;
        let params = PointwiseParams {
            from: self.memory.address(output),
            to: self.memory.address(output),
            from_pitch: int(output.pitch),
            to_pitch: int(output.pitch),
            pixels: self.pixels() as i64,
            channels: int(output.channels),
            tail: self.memory.tail(&arrays, residual, self.step.activation),
        };
        let values = self.pixels() * output.channels;
        let threads = values.div_ceil(16 / self.precision().bytes()) as u64;
        let params = Params::Pointwise(params);
        QueuedWork::Kernel(self.kernels.launch(
            KernelName::Pointwise,
            self.precision(),
            threads,
            params,
        ))
    }

    #[cfg(feature = "cudnn")]
    fn dnn(&self, algorithm: usize, fused: bool) -> Result<Vec<QueuedWork>, ComputeError> {
        let step = self.step;
        let residual = step.residual.map(|view| (self.memory.address(&view), view));
        let bare = step.residual.is_none() && step.activation.is_none();
        let bare = bare && self.arrays.bias.is_none();
        if fused && (bare || !self.is_known() || self.arrays.narrow_bias.is_none()) {
            return Err(GpuError::Other("cuDNN cannot fuse this step".into()).into());
        }
        let ends = FusedEnds {
            bias: self.memory.array(self.arrays.narrow_bias),
            residual,
            relu: step.activation == Some(Activation::Relu),
        };
        let operands = Operands {
            precision: self.precision(),
            rows: self.rows,
            conv: self.conv(),
            input: (self.memory.address(&step.input), step.input),
            output: (self.memory.address(&step.output), step.output),
            filters: self.memory.array(self.arrays.filters),
            ends: fused.then_some(ends),
        };
        let all = self.queue.workspace.bytes;
        let conv = DnnConvolution::new(&self.queue.dnn, operands, ALGORITHMS[algorithm], all)?;
        let mut works = vec![QueuedWork::Convolution(conv)];
        if !fused && !bare {
            works.push(self.tail(*self.arrays, step.residual.as_ref()));
        }
        Ok(works)
    }

    /// The part of the workspace reserved for products; larger products need some.
    const FOR_PRODUCTS: usize = 2 << 20;

    fn gathered(&self, rank: usize) -> Result<Vec<QueuedWork>, ComputeError> {
        let bytes = self.precision().bytes();
        // Rows of the gathered matrix begin at multiples of 16 bytes.
        let columns = self.conv().kernel.area() * self.step.input.channels;
        let pitch = columns.next_multiple_of(16 / bytes);
        let width = self.step.output.width;
        let to = self.queue.workspace.address() + Self::FOR_PRODUCTS as u64;
        let mut works = Vec::new();
        for piece in self.pieces(width * pitch * bytes)? {
            works.push(self.gather(piece, to, pitch));
            let first = piece.first * self.step.output.pixels() + piece.line * width;
            let product = self.matrices(to, pitch, first, piece.rows * piece.lines * width);
            works.push(self.gemm(product, rank, Self::FOR_PRODUCTS)?);
        }
        works.extend(self.activated());
        Ok(works)
    }

    /// Returns pieces whose windows fit the workspace, if the windows of an output line take `line`
    /// bytes.
    fn pieces(&self, line: usize) -> Result<Vec<WindowPiece>, ComputeError> {
        let height = self.step.output.height;
        let workspace = self.queue.workspace.bytes;
        let room = workspace.saturating_sub(Self::FOR_PRODUCTS) / line.max(1);
        let whole = (room / height.max(1)).min(self.rows);
        if room == 0 {
            return Err(GpuError::Other("windows do not fit the workspace".into()).into());
        }
        if whole > 0 {
            let piece = |first| WindowPiece {
                first,
                rows: whole.min(self.rows - first),
                line: 0,
                lines: height,
            };
            return Ok((0..self.rows).step_by(whole).map(piece).collect());
        }
        let of_row = |first| {
            let lines = (0..height).step_by(room);
            lines.map(move |line| WindowPiece {
                first,
                rows: 1,
                line,
                lines: room.min(height - line),
            })
        };
        Ok((0..self.rows).flat_map(of_row).collect())
    }

    fn gather(&self, piece: WindowPiece, to: u64, pitch: usize) -> QueuedWork {
        let (input, output) = (&self.step.input, &self.step.output);
        let skipped = piece.first * input.sample_stride() * self.precision().bytes();
        let mut window = convolved(piece.rows, self.conv(), input, output);
        // Windows of later lines begin correspondingly lower.
        window.pad_height -= int(piece.line * self.conv().stride);
        window.out_height = int(piece.lines);
        let params = GatherParams {
            from: self.memory.address(input) + skipped as u64,
            to,
            from_pitch: int(input.pitch),
            to_pitch: int(pitch),
            window,
            in_channels: int(input.channels),
        };
        let values = piece.rows * piece.lines * output.width * pitch;
        let threads = values.div_ceil(16 / self.precision().bytes()) as u64;
        let params = Params::Gather(params);
        QueuedWork::Kernel(self.kernels.launch(
            KernelName::Gather,
            self.precision(),
            threads,
            params,
        ))
    }
}
