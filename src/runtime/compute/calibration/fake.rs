//! A network computed as in bytes, with float32 numbers rounded to the numbers that bytes represent
//! (fake quantisation: Jacob et al., "Quantization and training of neural networks for efficient
//! integer-arithmetic-only inference", CVPR 2018, section 3).

use std::collections::BTreeMap;

use candle_core::{Device, Result, Tensor};

use super::range::ValueRange;
use super::ranges::Calibration;
use crate::compute::reference::{self, Fixed, ParameterSource, walk};
use crate::network::{Graph, Shape, Weights, weight_scale};

/// The weights of a network, with those of weighted nodes rounded to bytes.
pub(super) struct RoundedWeights<'a> {
    exact: Fixed<'a>,
    rounded: BTreeMap<String, Tensor>,
}

impl<'a> RoundedWeights<'a> {
    pub(super) fn new(graph: &'a Graph, weights: &'a Weights) -> Self {
        RoundedWeights {
            exact: Fixed::new(graph, weights),
            rounded: BTreeMap::new(),
        }
    }

    /// Returns the source of weights that are not rounded.
    pub(super) fn exact(&mut self) -> &mut Fixed<'a> {
        &mut self.exact
    }

    /// Computes a weighted node with rounded weights on rounded inputs.
    pub(super) fn apply(
        &mut self,
        graph: &Graph,
        node: usize,
        inputs: &[&Tensor],
        shapes: &[Shape],
    ) -> Result<Tensor> {
        let node = &graph.nodes()[node];
        let name = format!("{}.weight", node.name);
        if !self.rounded.contains_key(&name) {
            let weights = rounded_weights(&self.exact.parameter(&name)?)?;
            self.rounded.insert(name, weights);
        }
        reference::apply(node, self, inputs, shapes)
    }
}

impl ParameterSource for RoundedWeights<'_> {
    fn parameter(&self, name: &str) -> Result<Tensor> {
        match self.rounded.get(name) {
            Some(weights) => Ok(weights.clone()),
            None => self.exact.parameter(name),
        }
    }
}

/// Returns weights as the nearest of 255 multiples of a scale for each output channel.
fn rounded_weights(weights: &Tensor) -> Result<Tensor> {
    let mut values: Vec<f32> = weights.flatten_all()?.to_vec1()?;
    let each = values.len() / weights.dim(0)?.max(1);
    for channel in values.chunks_exact_mut(each.max(1)) {
        let scale = weight_scale(channel, 1.0);
        let is_usable = (1.0 / scale).is_finite();
        for weight in channel {
            *weight = match is_usable {
                true => (*weight / scale).round_ties_even() * scale,
                false => 0.0,
            };
        }
    }
    Tensor::from_vec(values, weights.shape(), &Device::Cpu)
}

/// Returns values as the nearest numbers that bytes of a range represent.
pub(super) fn rounded(values: &Tensor, range: ValueRange) -> Result<Tensor> {
    let rounding = range.rounding();
    let numbers: Vec<f32> = values.flatten_all()?.to_vec1()?;
    let numbers = numbers.into_iter().map(rounding).collect::<Vec<_>>();
    Tensor::from_vec(numbers, values.shape(), &Device::Cpu)
}

/// A network as computed by a calibration.
pub(super) struct FakeQuantised<'a> {
    graph: &'a Graph,
    calibration: &'a Calibration,
    /// The ranges of the values held as bytes: the inputs of nodes computed in bytes.
    held: Vec<Option<ValueRange>>,
}

impl<'a> FakeQuantised<'a> {
    pub(super) fn new(graph: &'a Graph, calibration: &'a Calibration) -> Self {
        let mut held = vec![None; graph.nodes().len() + 1];
        for (index, node) in graph.nodes().iter().enumerate() {
            if calibration.quantises(graph, index) {
                let read = node.inputs[0].index();
                held[read] = calibration.range(read);
            }
        }
        FakeQuantised {
            graph,
            calibration,
            held,
        }
    }

    /// Returns the answers to samples.
    pub(super) fn run(&self, weights: &mut RoundedWeights<'_>, samples: &Tensor) -> Result<Tensor> {
        let samples = self.round_held(0, samples.clone())?;
        walk(self.graph, &samples, |index, inputs, shapes| {
            let value = match self.calibration.quantises(self.graph, index) {
                true => {
                    let value = weights.apply(self.graph, index, inputs, shapes)?;
                    self.correct(index, value)?
                }
                false => {
                    let node = &self.graph.nodes()[index];
                    reference::apply(node, weights.exact(), inputs, shapes)?
                }
            };
            self.round_held(index + 1, value)
        })
    }

    fn round_held(&self, value: usize, numbers: Tensor) -> Result<Tensor> {
        match self.held[value] {
            Some(range) => rounded(&numbers, range),
            None => Ok(numbers),
        }
    }

    fn correct(&self, node: usize, value: Tensor) -> Result<Tensor> {
        let Some(bias) = self.calibration.correction(node) else {
            return Ok(value);
        };
        let mut dims = vec![1; value.rank()];
        dims[channel_axis(self.graph.nodes()[node].shape, &value)] = bias.len();
        let bias = Tensor::from_slice(bias, dims, &Device::Cpu)?;
        value.broadcast_add(&bias)
    }
}

/// Returns the axis of the channels of a value: the second of an image, else the last.
pub(super) fn channel_axis(shape: Shape, value: &Tensor) -> usize {
    match shape {
        Shape::Image { .. } => 1,
        _ => value.rank() - 1,
    }
}
