//! Steps that are one launch of one of our kernels.

use crate::compute::buffers::TensorView;
use crate::compute::fuse::{MaskedRows, Pairing};
use crate::compute::gpu::{GpuOp, GpuStep, Precision, StepArrays};
use crate::network::{Conv2d, Pool, ResponseNorm};

use super::kernels::{KernelName, Kernels, Launch, Params};
use super::params::{
    AnswerParams, EnterParams, FlattenParams, GroupedParams, LayerNormParams, PairedParams,
    PointwiseParams, PoolingParams, RegionsParams, ResponseNormParams, ShuffleParams,
    SoftmaxParams, WindowParams,
};
use super::tensors::TensorLaunch;
use super::work::{LaneMemory, int};

/// Returns the launch of a step for `rows` rows, or `None` for dense convolutions.
pub(super) fn launch(
    kernels: &Kernels,
    memory: &LaneMemory,
    step: &GpuStep,
    arrays: &StepArrays,
    rows: usize,
) -> Option<Launch> {
    if let Some(work) = &step.tensor {
        let launch = TensorLaunch {
            kernels,
            memory,
            arrays,
            rows,
        };
        return Some(launch.launch(work));
    }
    let at = StepLaunch {
        memory,
        step,
        arrays,
        rows,
    };
    let (name, params) = at.params()?;
    let values = rows * step.output.pixels() * step.output.channels;
    let precision = if step.wide {
        Precision::F32
    } else {
        memory.precision
    };
    Some(kernels.launch(name, precision, at.threads(name, values), params))
}

struct StepLaunch<'a> {
    memory: &'a LaneMemory,
    step: &'a GpuStep,
    arrays: &'a StepArrays,
    rows: usize,
}

impl StepLaunch<'_> {
    /// Returns the number of threads that have work; most take 16 bytes of the output.
    fn threads(&self, name: KernelName, values: usize) -> u64 {
        let packs = values.div_ceil(16 / self.memory.precision.bytes());
        let threads = match name {
            KernelName::Enter | KernelName::Answer | KernelName::Flatten => values,
            KernelName::Shuffle | KernelName::ResponseNorm => values,
            KernelName::LayerNorm => self.pixels(),
            // The eight warps of a block share the answers of one warp's threads.
            KernelName::Regions => packs * 8,
            KernelName::Softmax | KernelName::SoftmaxAnswer => self.pixels(),
            _ => packs,
        };
        threads as u64
    }

    fn params(&self) -> Option<(KernelName, Params)> {
        let step = self.step;
        Some(match step.op {
            GpuOp::Enter { channels, padded } => (KernelName::Enter, self.enter(channels, padded)),
            GpuOp::Dense(_) | GpuOp::Tensor => return None,
            GpuOp::Depthwise(conv) => (KernelName::Depthwise, self.grouped(conv)),
            GpuOp::Grouped(conv) => (KernelName::Grouped, self.grouped(conv)),
            GpuOp::Pointwise => (KernelName::Pointwise, self.pointwise()),
            GpuOp::MaxPool(pool) => (KernelName::MaxPool, self.pooling(pool)),
            GpuOp::MeanPool(pool) => (KernelName::MeanPool, self.pooling(pool)),
            GpuOp::Regions => (KernelName::Regions, self.regions()),
            GpuOp::Resize => (KernelName::Resize, self.regions()),
            GpuOp::Flatten => (KernelName::Flatten, self.flatten()),
            GpuOp::Paired(pairing) => (KernelName::Paired, self.paired(pairing)),
            GpuOp::Shuffle(groups) => (KernelName::Shuffle, self.shuffle(groups)),
            GpuOp::ResponseNorm(norm) => (KernelName::ResponseNorm, self.response_norm(norm)),
            GpuOp::LayerNorm(eps) => (KernelName::LayerNorm, self.layer_norm(eps)),
            GpuOp::Softmax(masked) => (KernelName::Softmax, self.softmax(masked, None)),
            GpuOp::SoftmaxAnswer(masked) => (
                KernelName::SoftmaxAnswer,
                self.softmax(masked, Some(self.answers())),
            ),
            GpuOp::Answer => (KernelName::Answer, self.answer()),
        })
    }

    fn answers(&self) -> u64 {
        self.memory.part(&self.memory.layout.answers).address()
    }

    fn enter(&self, channels: usize, padded: usize) -> Params {
        let to = &self.step.output;
        Params::Enter(EnterParams {
            samples: self.memory.part(&self.memory.layout.table).address(),
            to: self.memory.address(to),
            rows: int(self.rows),
            channels: int(channels),
            padded: int(padded),
            pixels: int(to.pixels()),
            pitch: int(to.pitch),
        })
    }

    fn pointwise(&self) -> Params {
        let step = self.step;
        let pixels = self.rows * step.output.pixels();
        Params::Pointwise(pointwise(self.memory, step, self.arrays, pixels))
    }

    fn pooling(&self, pool: Pool) -> Params {
        let mut window = window(self.rows, &self.step.input, &self.step.output);
        (window.kernel_height, window.kernel_width) = (int(pool.kernel), int(pool.kernel));
        (window.pad_height, window.pad_width) = (int(pool.padding), int(pool.padding));
        window.stride = int(pool.stride);
        Params::Pooling(PoolingParams {
            from: self.memory.address(&self.step.input),
            to: self.memory.address(&self.step.output),
            from_pitch: int(self.step.input.pitch),
            to_pitch: int(self.step.output.pitch),
            window,
            count_padding: i32::from(pool.count_include_pad),
        })
    }

    fn regions(&self) -> Params {
        let (from, to) = (&self.step.input, &self.step.output);
        Params::Regions(RegionsParams {
            from: self.memory.address(from),
            to: self.memory.address(to),
            from_pitch: int(from.pitch),
            to_pitch: int(to.pitch),
            rows: int(self.rows),
            channels: int(to.channels),
            in_height: int(from.height),
            in_width: int(from.width),
            out_height: int(to.height),
            out_width: int(to.width),
        })
    }

    fn grouped(&self, conv: Conv2d) -> Params {
        let step = self.step;
        Params::Grouped(GroupedParams {
            from: self.memory.address(&step.input),
            weights: self.memory.array(self.arrays.filters),
            to: self.memory.address(&step.output),
            from_pitch: int(step.input.pitch),
            to_pitch: int(step.output.pitch),
            window: convolved(self.rows, conv, &step.input, &step.output),
            in_channels: int(step.input.channels),
            groups: int(conv.groups),
            tail: self
                .memory
                .tail(self.arrays, step.residual.as_ref(), step.activation),
        })
    }

    fn flatten(&self) -> Params {
        let (from, to) = (&self.step.input, &self.step.output);
        Params::Flatten(FlattenParams {
            from: self.memory.address(from),
            to: self.memory.address(to),
            from_pitch: int(from.pitch),
            to_pitch: int(to.pitch),
            rows: int(self.rows),
            channels: int(from.channels),
            pixels: int(from.pixels()),
        })
    }

    /// Returns the number of the output's pixels of all rows.
    fn pixels(&self) -> usize {
        self.rows * self.step.output.pixels()
    }

    fn paired(&self, pairing: Pairing) -> Params {
        let (step, memory) = (self.step, self.memory);
        let (from, to) = (&step.input, &step.output);
        let other = step.other.as_ref().unwrap_or(from);
        let shared = to.pixels() / other.pixels().max(1);
        Params::Paired(PairedParams {
            from: memory.address(from),
            other: memory.address(other),
            to: memory.address(to),
            from_pitch: int(from.pitch),
            other_pitch: int(other.pitch),
            to_pitch: int(to.pitch),
            product: i32::from(pairing == Pairing::Product),
            pixels: self.pixels() as i64,
            channels: int(to.channels),
            shared: int(shared.max(1)),
            tail: memory.tail(self.arrays, step.residual.as_ref(), step.activation),
        })
    }

    fn shuffle(&self, groups: usize) -> Params {
        let (from, to) = (&self.step.input, &self.step.output);
        Params::Shuffle(ShuffleParams {
            from: self.memory.address(from),
            to: self.memory.address(to),
            from_pitch: int(from.pitch),
            to_pitch: int(to.pitch),
            pixels: self.pixels() as i64,
            channels: int(to.channels),
            groups: int(groups),
        })
    }

    fn response_norm(&self, norm: ResponseNorm) -> Params {
        let (from, to) = (&self.step.input, &self.step.output);
        let (before, behind) = norm.reach();
        Params::ResponseNorm(ResponseNormParams {
            from: self.memory.address(from),
            to: self.memory.address(to),
            from_pitch: int(from.pitch),
            to_pitch: int(to.pitch),
            pixels: self.pixels() as i64,
            channels: int(to.channels),
            before: int(before),
            behind: int(behind),
            share: norm.alpha / norm.size as f32,
            beta: norm.beta,
            k: norm.k,
        })
    }

    fn layer_norm(&self, eps: f32) -> Params {
        let (step, memory) = (self.step, self.memory);
        Params::LayerNorm(LayerNormParams {
            from: memory.address(&step.input),
            to: memory.address(&step.output),
            from_pitch: int(step.input.pitch),
            to_pitch: int(step.output.pitch),
            pixels: self.pixels() as i64,
            channels: int(step.output.channels),
            eps,
            tail: memory.tail(self.arrays, step.residual.as_ref(), step.activation),
        })
    }

    fn softmax(&self, masked: MaskedRows, answers: Option<u64>) -> Params {
        let (from, to) = (&self.step.input, &self.step.output);
        Params::Softmax(SoftmaxParams {
            from: self.memory.address(from),
            to: answers.unwrap_or_else(|| self.memory.address(to)),
            from_pitch: int(from.pitch),
            to_pitch: int(if answers.is_some() {
                from.channels
            } else {
                to.pitch
            }),
            rows: int(self.rows * from.pixels()),
            channels: int(from.channels),
            masked: i32::from(masked == MaskedRows::Zeros),
            unused: 0,
        })
    }

    fn answer(&self) -> Params {
        let from = &self.step.input;
        Params::Answer(AnswerParams {
            from: self.memory.address(from),
            to: self.answers(),
            from_pitch: int(from.pitch),
            rows: int(self.rows),
            channels: int(from.channels),
            pixels: int(from.pixels()),
        })
    }
}

/// Returns the parameters of only a step's tail, over `pixels` pixels of all rows.
pub(super) fn pointwise(
    memory: &LaneMemory,
    step: &GpuStep,
    arrays: &StepArrays,
    pixels: usize,
) -> PointwiseParams {
    PointwiseParams {
        from: memory.address(&step.input),
        to: memory.address(&step.output),
        from_pitch: int(step.input.pitch),
        to_pitch: int(step.output.pitch),
        pixels: pixels as i64,
        channels: int(step.output.channels),
        tail: memory.tail(arrays, step.residual.as_ref(), step.activation),
    }
}

/// Returns the window of a convolution.
pub(super) fn convolved(
    rows: usize,
    conv: Conv2d,
    input: &TensorView,
    output: &TensorView,
) -> WindowParams {
    let mut window = window(rows, input, output);
    window.kernel_height = int(conv.kernel.height);
    window.kernel_width = int(conv.kernel.width);
    window.stride = int(conv.stride);
    window.pad_height = int(conv.padding.height);
    window.pad_width = int(conv.padding.width);
    window.dilation = int(conv.dilation);
    window
}

/// Returns a window with its images set; kernel, stride and padding are still to be set.
fn window(rows: usize, input: &TensorView, output: &TensorView) -> WindowParams {
    WindowParams {
        rows: int(rows),
        channels: int(output.channels),
        in_height: int(input.height),
        in_width: int(input.width),
        out_height: int(output.height),
        out_width: int(output.width),
        stride: 1,
        dilation: 1,
        ..WindowParams::default()
    }
}
