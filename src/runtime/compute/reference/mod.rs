//! Runs graphs by plain Candle operations, one for each node. Lowered networks are tested
//! against it, and the training program differentiates it.

mod arithmetic;
mod tensors;

use std::collections::BTreeMap;

use candle_core::{D, Device, Result, Tensor};

pub use arithmetic::{of_one, of_two};
pub(super) use tensors::{from_stored, to_stored};

use crate::network::{
    Activation, Conv2d, Graph, Node, Op, Pool, ResponseNorm, Shape, Sides, Weights,
};

/// The parameters of a run, and its batch normalisation.
pub trait ParameterSource {
    /// Returns the parameter `name` in its shape.
    ///
    /// # Errors
    /// The parameter does not exist.
    fn parameter(&self, name: &str) -> Result<Tensor>;

    /// Returns the batch norm of `x` (`[batch, channels, height, width]`) at the node `name`.
    ///
    /// # Errors
    /// A tensor operation fails.
    fn batch_norm(&mut self, name: &str, x: &Tensor, eps: f32) -> Result<Tensor> {
        let of = |suffix: &str| self.parameter(&format!("{name}.{suffix}"));
        let scale = (of("weight")? / (of("running_var")? + f64::from(eps))?.sqrt()?)?;
        let shift = (of("bias")? - (of("running_mean")? * &scale)?)?;
        per_channel(x, &scale, &shift)
    }
}

/// Returns `x · scale + shift`, with one scale and one shift for each channel.
///
/// # Errors
/// The shapes do not fit.
pub fn per_channel(x: &Tensor, scale: &Tensor, shift: &Tensor) -> Result<Tensor> {
    // An image's channels are its second dimension, a tensor's features its last.
    let axis = if x.rank() == 4 && x.dim(1)? == scale.elem_count() {
        1
    } else {
        x.rank() - 1
    };
    let mut dims = vec![1; x.rank()];
    dims[axis] = scale.elem_count();
    let (scale, shift) = (scale.reshape(dims.clone())?, shift.reshape(dims)?);
    x.broadcast_mul(&scale)?.broadcast_add(&shift)
}

/// Fixed weights, with batch norms in the inference form.
pub struct Fixed<'a> {
    graph: &'a Graph,
    /// The nodes that take parameters, with these and their shapes.
    operands: BTreeMap<String, (usize, &'static str, Vec<usize>)>,
    weights: &'a Weights,
}

impl<'a> Fixed<'a> {
    /// Creates the source of the weights of `graph`.
    pub fn new(graph: &'a Graph, weights: &'a Weights) -> Self {
        let nodes = graph.nodes().iter().enumerate();
        let operands = nodes.flat_map(|(index, node)| {
            let all = graph.operation_parameters(index).into_iter();
            all.map(move |o| {
                let name = format!("{}.{}", node.name, o.suffix);
                (name, (index, o.suffix, o.shape))
            })
        });
        Fixed {
            graph,
            operands: operands.collect(),
            weights,
        }
    }
}

impl ParameterSource for Fixed<'_> {
    fn parameter(&self, name: &str) -> Result<Tensor> {
        let Some((index, suffix, shape)) = self.operands.get(name) else {
            candle_core::bail!("no parameter {name}");
        };
        let values = self.graph.values_of(*index, suffix, self.weights);
        Tensor::from_slice(&values, shape.clone(), &Device::Cpu)
    }
}

/// Runs `graph` on `samples` (`[batch, values]`), and returns answers as `[batch, values]`.
///
/// # Errors
/// A tensor operation fails.
pub fn run(graph: &Graph, source: &mut dyn ParameterSource, samples: &Tensor) -> Result<Tensor> {
    walk(graph, samples, |index, inputs, shapes| {
        apply(&graph.nodes()[index], source, inputs, shapes)
    })
}

/// Computes the nodes of `graph` one after another with `compute`. It takes the number of a node,
/// its inputs and their shapes, and so sees every value. A value is dropped after its last reader.
/// Returns answers as `[batch, values]`.
///
/// # Errors
/// As for `compute`, or a tensor operation fails.
pub(super) fn walk<E: From<candle_core::Error>>(
    graph: &Graph,
    samples: &Tensor,
    mut compute: impl FnMut(usize, &[&Tensor], &[Shape]) -> std::result::Result<Tensor, E>,
) -> std::result::Result<Tensor, E> {
    let mut dims = vec![samples.dim(0)?];
    dims.extend(Vec::<usize>::from(graph.input()));
    let mut answer = samples.reshape(dims)?;
    let last_readers = last_readers(graph);
    let mut values = BTreeMap::from([(0, answer.clone())]);
    for (index, node) in graph.nodes().iter().enumerate() {
        let read = node.inputs.iter().map(|i| &values[&i.index()]);
        let shapes: Vec<Shape> = node.inputs.iter().map(|&i| graph.shape(i)).collect();
        answer = compute(index, &read.collect::<Vec<_>>(), &shapes)?;
        values.retain(|value, _| last_readers[*value] > index);
        values.insert(index + 1, answer.clone());
    }
    Ok(answer.flatten_from(1)?)
}

/// Returns the number of the last node that reads each value, or 0 for values that no node reads.
fn last_readers(graph: &Graph) -> Vec<usize> {
    let mut last = vec![0; graph.nodes().len() + 1];
    for (index, node) in graph.nodes().iter().enumerate() {
        node.inputs
            .iter()
            .for_each(|read| last[read.index()] = index);
    }
    last
}

/// Returns the answer of one node. Images are `[batch, channels, height, width]`, others `[batch,
/// …]`; `shapes` are the shapes of the inputs.
///
/// # Errors
/// A tensor operation fails.
pub(super) fn apply(
    node: &Node,
    source: &mut dyn ParameterSource,
    inputs: &[&Tensor],
    shapes: &[Shape],
) -> Result<Tensor> {
    let x = inputs[0];
    match node.op {
        Op::Conv2d(conv) => convolution(&node.name, conv, source, x),
        Op::Linear { bias, .. } => {
            let weight = source.parameter(&format!("{}.weight", node.name))?;
            let rows = x.contiguous()?.flatten_to(x.rank() - 2)?;
            let y = rows.matmul(&weight.t()?)?;
            let y = y.reshape([&x.dims()[..x.rank() - 1], &[weight.dim(0)?]].concat())?;
            if bias {
                y.broadcast_add(&source.parameter(&format!("{}.bias", node.name))?)
            } else {
                Ok(y)
            }
        }
        Op::BatchNorm { eps } => source.batch_norm(&node.name, x, eps),
        Op::Relu => x.relu(),
        Op::Relu6 => x.clamp(0f32, 6f32),
        Op::Scale { by } => x.affine(f64::from(by), 0.0),
        Op::MaxPool(pool) => max_pool(pool, x),
        Op::AvgPool(pool) => average_pool(pool, x),
        Op::AdaptiveAvgPool { height, width } => adaptive(&adaptive(x, 2, height)?, 3, width),
        Op::GlobalAvgPool => x.flatten_from(2)?.mean(D::Minus1),
        Op::Activation(activation) => activated(activation, x),
        Op::Add => {
            let [a, b] = alike(x, inputs[1])?;
            a.broadcast_add(&b)
        }
        Op::Mul => {
            let [a, b] = alike(x, inputs[1])?;
            a.broadcast_mul(&b)
        }
        Op::ChannelShuffle { groups } => shuffled(groups, x),
        Op::Channels { first, count } => x.narrow(1, first, count),
        Op::LocalResponseNorm(norm) => response_norm(norm, x),
        Op::LayerNorm { eps } => {
            let of = |suffix: &str| source.parameter(&format!("{}.{suffix}", node.name));
            let axis = match shapes[0] {
                Shape::Image { .. } => 1,
                _ => x.rank() - 1,
            };
            let mean = x.mean_keepdim(axis)?;
            let x = x.broadcast_sub(&mean)?;
            let deviation = (x.sqr()?.mean_keepdim(axis)? + f64::from(eps))?.sqrt()?;
            let x = x.broadcast_div(&deviation)?;
            match shapes[0] {
                Shape::Image { .. } => per_channel(&x, &of("weight")?, &of("bias")?),
                _ => x.broadcast_mul(&of("weight")?)?.broadcast_add(&of("bias")?),
            }
        }
        Op::Concat if matches!(shapes[0], Shape::Tensor(_)) => Tensor::cat(inputs, D::Minus1),
        Op::Concat => Tensor::cat(inputs, 1),
        Op::Tensor(op) => {
            let answer = tensors::apply(op, &node.name, source, inputs, shapes)?;
            // One number is a vector of one.
            if answer.rank() == 1 {
                answer.unsqueeze(1)
            } else {
                Ok(answer)
            }
        }
        Op::Flatten => x.flatten_from(1),
        Op::Upscale { height, width } => x.upsample_bilinear2d(height, width, false),
        Op::Softmax => candle_softmax(x),
        Op::MaskedSoftmax => masked_softmax(x),
    }
}

fn convolution(
    name: &str,
    conv: Conv2d,
    source: &mut dyn ParameterSource,
    x: &Tensor,
) -> Result<Tensor> {
    let weight = source.parameter(&format!("{name}.weight"))?;
    let padded = pad(x, conv.padding.height, conv.padding.width)?;
    let y = padded.conv2d(&weight, 0, conv.stride, conv.dilation, conv.groups)?;
    if !conv.bias {
        return Ok(y);
    }
    let bias = source.parameter(&format!("{name}.bias"))?;
    y.broadcast_add(&bias.reshape((1, conv.channels, 1, 1))?)
}

fn pad(x: &Tensor, height: usize, width: usize) -> Result<Tensor> {
    x.pad_with_zeros(2, height, height)?
        .pad_with_zeros(3, width, width)
}

/// Candle's average counts the padding, and the rest of the image after the last whole window. The
/// mean of ones in its place divides away values that must not count.
fn average_pool(pool: Pool, x: &Tensor) -> Result<Tensor> {
    let Sides { height, width } = pool.overhang;
    let mean = |x: &Tensor| {
        let x = x
            .pad_with_zeros(2, 0, height)?
            .pad_with_zeros(3, 0, width)?;
        x.avg_pool2d_with_stride(pool.kernel, pool.stride)
    };
    let padded = pad(x, pool.padding, pool.padding)?;
    let ones = match pool.count_include_pad {
        true => padded.ones_like()?,
        false => pad(&x.ones_like()?, pool.padding, pool.padding)?,
    };
    mean(&padded)? / mean(&ones)?
}

/// Returns the means of `to` windows along one dimension.
fn adaptive(x: &Tensor, dim: usize, to: usize) -> Result<Tensor> {
    let from = x.dim(dim)?;
    let means = (0..to).map(|i| {
        let (start, end) = (i * from / to, ((i + 1) * from).div_ceil(to));
        x.narrow(dim, start, end - start)?.mean_keepdim(dim)
    });
    Tensor::cat(&means.collect::<Result<Vec<_>>>()?, dim)
}

/// Candle's max pool has no padding; a border below every value replaces it.
fn max_pool(pool: Pool, x: &Tensor) -> Result<Tensor> {
    let mut x = x.clone();
    for (dim, overhang) in [(2, pool.overhang.height), (3, pool.overhang.width)] {
        let border = |pixels: usize| {
            let mut dims = x.dims().to_vec();
            dims[dim] = pixels;
            Tensor::full(f32::NEG_INFINITY, dims, x.device())
        };
        let (before, after) = (pool.padding, pool.padding + overhang);
        if after > 0 {
            let mut parts = vec![x.clone(), border(after)?];
            if before > 0 {
                parts.insert(0, border(before)?);
            }
            x = Tensor::cat(&parts, dim)?;
        }
    }
    x.max_pool2d_with_stride(pool.kernel, pool.stride)
}

fn candle_softmax(x: &Tensor) -> Result<Tensor> {
    let max = x.max_keepdim(D::Minus1)?;
    let e = x.broadcast_sub(&max)?.exp()?;
    e.broadcast_div(&e.sum_keepdim(D::Minus1)?)
}

/// Returns the softmax with 0 for rows that hold only −∞.
fn masked_softmax(x: &Tensor) -> Result<Tensor> {
    let is_lowest = x.eq(&Tensor::full(f32::NEG_INFINITY, x.shape(), x.device())?)?;
    let is_masked = is_lowest.min_keepdim(D::Minus1)?;
    let is_masked = is_masked.broadcast_as(x.shape())?.contiguous()?;
    is_masked.where_cond(&x.zeros_like()?, &candle_softmax(x)?)
}

fn activated(activation: Activation, x: &Tensor) -> Result<Tensor> {
    let softplus = |x: &Tensor| x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?;
    let line = |slope: f32, shift: f32| {
        let y = x.affine(f64::from(slope), f64::from(shift))?;
        y.clamp(0f32, 1f32)
    };
    match activation {
        Activation::Relu => x.relu(),
        Activation::Relu6 => x.clamp(0f32, 6f32),
        Activation::Clip { least, most } => x.clamp(least, most),
        Activation::LeakyRelu { slope } => {
            x.relu()? - x.neg()?.relu()?.affine(f64::from(slope), 0.0)?
        }
        Activation::Elu { alpha } => x.elu(f64::from(alpha)),
        Activation::Sigmoid => (x.neg()?.exp()? + 1.0)?.recip(),
        Activation::HardSigmoid { slope, shift } => line(slope, shift),
        Activation::Silu => x.silu(),
        Activation::HardSwish => x * line(1.0 / 6.0, 0.5)?,
        Activation::Gelu => x.gelu_erf(),
        Activation::GeluTanh => x.gelu(),
        Activation::Tanh => x.tanh(),
        Activation::Softplus => softplus(x),
        Activation::Mish => x * softplus(x)?.tanh()?,
        Activation::FakeQuantise { scale, least, most } => {
            let steps = x.broadcast_div(&Tensor::new(scale, x.device())?)?;
            // Float32 has integers alone from 2²³ on.
            let rounding = 1.5 * f64::from(1 << 23);
            let rounded = steps.clamp(least, most)?.affine(1.0, rounding)?;
            rounded.affine(1.0, -rounding)? * f64::from(scale)
        }
    }
}

/// Returns both operands with as many dimensions, so that a row of channels meets an image's.
fn alike(a: &Tensor, b: &Tensor) -> Result<[Tensor; 2]> {
    let rank = a.rank().max(b.rank());
    let wide = |x: &Tensor| {
        let mut dims = x.dims().to_vec();
        dims.resize(rank, 1);
        x.reshape(dims)
    };
    Ok([wide(a)?, wide(b)?])
}

fn shuffled(groups: usize, x: &Tensor) -> Result<Tensor> {
    let (batch, channels) = (x.dim(0)?, x.dim(1)?);
    let pixels = x.elem_count() / (batch * channels);
    let apart = x.reshape((batch, groups, channels / groups, pixels))?;
    apart.transpose(1, 2)?.contiguous()?.reshape(x.dims())
}

fn response_norm(norm: ResponseNorm, x: &Tensor) -> Result<Tensor> {
    let (before, behind) = norm.reach();
    let squares = x.sqr()?.pad_with_zeros(1, before, behind)?;
    let channels = x.dim(1)?;
    let mut sum = squares.narrow(1, 0, channels)?;
    for shift in 1..norm.size {
        sum = (sum + squares.narrow(1, shift, channels)?)?;
    }
    let mean = sum.affine(f64::from(norm.alpha) / norm.size as f64, f64::from(norm.k))?;
    x / mean.powf(f64::from(norm.beta))?
}
