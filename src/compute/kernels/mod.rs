//! The loops. Channels-last, one thread; all operands are views into the arena.

mod convolution;
mod elementwise;
mod pooling;
mod product;
mod upscale;

pub(super) use convolution::tile_floats;

use super::fold::StepWeights;
use super::fuse::Kernel;
use super::plan::PlannedStep;
use super::view::View;

/// A view with the floats it looks into: `batch` samples.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub view: View,
    pub data: &'a [f32],
}

impl<'a> Source<'a> {
    /// Channels of pixel `pixel`, counted over all samples.
    fn pixel(&self, pixel: usize) -> &'a [f32] {
        let at = pixel * self.view.pitch + self.view.first;
        &self.data[at..at + self.view.channels]
    }
}

/// What a step needs besides its operands.
pub(super) struct Context<'a> {
    pub step: &'a PlannedStep,
    pub weights: &'a StepWeights,
    pub batch: usize,
    /// Scratch for gathered tiles, grown once.
    pub tile: &'a mut Vec<f32>,
}

/// Runs one step: reads `inputs` and `residual`, writes its view of `out`.
pub(super) fn run(
    ctx: Context<'_>,
    inputs: &[Source<'_>],
    residual: Option<Source<'_>>,
    out: &mut [f32],
) {
    let step = ctx.step;
    let (batch, to) = (ctx.batch, step.output);
    let epilogue = elementwise::Epilogue {
        residual,
        activation: step.fused.activation,
    };
    match step.fused.kernel {
        Kernel::Convolution(conv) => {
            convolution::run(conv, ctx, inputs[0], &epilogue, out);
        }
        Kernel::Linear => convolution::linear(ctx, inputs[0], &epilogue, out),
        Kernel::ScaleShift => {
            elementwise::scale_shift(batch, ctx.weights, inputs[0], &epilogue, to, out);
        }
        Kernel::Copy => elementwise::copy(batch, inputs[0], &epilogue, to, out),
        Kernel::Enter => elementwise::enter(batch, inputs[0], to, out),
        Kernel::Flatten => elementwise::flatten(batch, inputs[0], to, out),
        Kernel::Softmax => elementwise::softmax(batch, inputs[0], to, out),
        Kernel::Concat => elementwise::concat(batch, inputs, to, out),
        Kernel::MaxPool(pool) => pooling::max(pool, batch, inputs[0], to, out),
        Kernel::AvgPool(pool) => pooling::average(pool, batch, inputs[0], to, out),
        Kernel::GlobalAvgPool => pooling::global(batch, inputs[0], to, out),
        Kernel::AdaptiveAvgPool => pooling::adaptive(batch, inputs[0], to, out),
        Kernel::Upscale => upscale::bilinear(batch, inputs[0], to, out),
    }
}
