//! Folded batch norms: of weights that are standardised while a network is exported.

use super::input;
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::tensor::{Constant, Values};

/// Folds a batch norm of constants; in training, by the statistics of its input, which it returns
/// as well, mixed with those that it was given.
pub(super) fn batch_norm(
    node: Node<'_>,
    inputs: &[Option<&Constant>],
) -> Result<Vec<Constant>, NodeFault> {
    let x = input(inputs, 0)?;
    let Some(&channels) = x.dims.get(1) else {
        let why = format!("its input of {:?} has no channels", x.dims);
        return Err(NodeFault::Shapes(why));
    };
    let values = x.to_floats();
    let of_channel = Channels {
        count: channels,
        size: x.dims[2..].iter().product(),
    };
    let vector = |n: usize| {
        let given = input(inputs, n)?.to_floats();
        match given.len() == channels {
            true => Ok(given),
            false => Err(NodeFault::Shapes(format!(
                "input {n} has {} values for {channels} channels",
                given.len()
            ))),
        }
    };
    let (scale, bias) = (vector(1)?, vector(2)?);
    let (given_mean, given_var) = (vector(3)?, vector(4)?);
    let is_training = node.integer("training_mode") == Some(1);
    let (mean, var) = match is_training {
        true => of_channel.statistics(&values),
        false => (given_mean.clone(), given_var.clone()),
    };
    let eps = node.float("epsilon").unwrap_or(1e-5);
    let normal = |(at, v): (usize, &f32)| {
        let c = of_channel.of(at);
        (v - mean[c]) / (var[c] + eps).sqrt() * scale[c] + bias[c]
    };
    let normal = values.iter().enumerate().map(normal).collect();
    let mut answers = vec![floats(x.dims.clone(), normal)];
    if is_training {
        let kept = node.float("momentum").unwrap_or(0.9);
        for (given, own) in [(given_mean, mean), (given_var, var)] {
            let both = given.iter().zip(&own);
            let mixed = both.map(|(given, own)| given * kept + own * (1.0 - kept));
            answers.push(floats(vec![channels], mixed.collect()));
        }
    }
    Ok(answers)
}

fn floats(dims: Vec<usize>, values: Vec<f32>) -> Constant {
    Constant {
        dims,
        values: Values::Floats(values),
    }
}

/// Where the channels of a tensor lie, whose second axis they are.
#[derive(Clone, Copy)]
struct Channels {
    count: usize,
    /// Values that lie next to each other.
    size: usize,
}

impl Channels {
    /// Returns the channel of the value at a place.
    fn of(self, at: usize) -> usize {
        at / self.size.max(1) % self.count.max(1)
    }

    /// Returns the mean and the variance of each channel.
    fn statistics(self, values: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let each = (values.len() / self.count.max(1)).max(1) as f64;
        let mean_of = |value: &dyn Fn(usize, f64) -> f64| {
            let mut sums = vec![0.0; self.count];
            for (at, v) in values.iter().enumerate() {
                let c = self.of(at);
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
