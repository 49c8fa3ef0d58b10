//! Folded batch norms, for weights that the exporter standardises.

use super::inputs::input;
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::tensor::{Constant, Values};

/// Folds a batch norm of constants. In training it uses the statistics of its input, and also
/// returns them mixed with the given ones.
pub(super) fn batch_norm(
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Result<Vec<Constant>, NodeFault> {
    let norm = BatchNorm::read(node, inputs)?;
    if node.integer("training_mode") != Some(1) {
        return Ok(vec![norm.normal(&norm.mean, &norm.var)]);
    }
    let (mean, var) = norm.channels.statistics(&norm.values);
    let kept = node.float("momentum").unwrap_or(0.9);
    Ok(vec![
        norm.normal(&mean, &var),
        mixed(&norm.mean, &mean, kept),
        mixed(&norm.var, &var, kept),
    ])
}

/// The values to normalise, and the parameters of each channel.
struct BatchNorm<'c> {
    dims: &'c [usize],
    values: Vec<f32>,
    channels: Channels,
    scale: Vec<f32>,
    bias: Vec<f32>,
    mean: Vec<f32>,
    var: Vec<f32>,
    eps: f32,
}

impl<'c> BatchNorm<'c> {
    fn read(node: Node<'_>, inputs: &[Option<&'c Constant>]) -> Result<Self, NodeFault> {
        let x = input(inputs, 0)?;
        let Some(&count) = x.dims.get(1) else {
            let why = format!("its input of {:?} has no channels", x.dims);
            return Err(NodeFault::Shapes(why));
        };
        let vector = |n: usize| {
            let given = input(inputs, n)?.to_floats();
            let found = given.len();
            let wrong =
                || NodeFault::Shapes(format!("input {n} has {found} values for {count} channels"));
            (found == count).then_some(given).ok_or_else(wrong)
        };
        Ok(BatchNorm {
            dims: &x.dims,
            values: x.to_floats(),
            channels: Channels {
                count,
                size: x.dims[2..].iter().product(),
            },
            scale: vector(1)?,
            bias: vector(2)?,
            mean: vector(3)?,
            var: vector(4)?,
            eps: node.float("epsilon").unwrap_or(1e-5),
        })
    }

    /// Returns the values normalised by the statistics of each channel.
    fn normal(&self, mean: &[f32], var: &[f32]) -> Constant {
        let normal = |(at, v): (usize, &f32)| {
            let c = self.channels.channel_of(at);
            (v - mean[c]) / (var[c] + self.eps).sqrt() * self.scale[c] + self.bias[c]
        };
        let values = self.values.iter().enumerate().map(normal);
        floats(self.dims.to_vec(), values.collect())
    }
}

/// Returns the given statistics mixed with those of the input. `kept` is the share of the given
/// ones.
fn mixed(given: &[f32], own: &[f32], kept: f32) -> Constant {
    let both = given.iter().zip(own);
    let mixed = both.map(|(given, own)| given * kept + own * (1.0 - kept));
    floats(vec![own.len()], mixed.collect())
}

fn floats(dims: Vec<usize>, values: Vec<f32>) -> Constant {
    Constant {
        dims,
        values: Values::Floats(values.into()),
    }
}

/// The place of the channels of a tensor: its second axis.
#[derive(Clone, Copy)]
struct Channels {
    count: usize,
    /// Values that lie next to each other.
    size: usize,
}

impl Channels {
    /// Returns the channel of the value at a place.
    fn channel_of(self, at: usize) -> usize {
        at / self.size.max(1) % self.count.max(1)
    }

    /// Returns the mean and the variance of each channel.
    fn statistics(self, values: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let each = (values.len() / self.count.max(1)).max(1) as f64;
        let mean_of = |value: &dyn Fn(usize, f64) -> f64| {
            let mut sums = vec![0.0; self.count];
            for (at, v) in values.iter().enumerate() {
                let c = self.channel_of(at);
                sums[c] += value(c, f64::from(*v));
            }
            sums.iter_mut().for_each(|sum| *sum /= each);
            sums
        };
        let mean: Vec<f64> = mean_of(&|_, v| v);
        let var = mean_of(&|c, v| (v - mean[c]).powi(2));
        let narrow = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect();
        (narrow(mean), narrow(var))
    }
}
