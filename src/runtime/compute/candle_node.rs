//! A node of a network as Candle's operations, for operations without a kernel.

use std::collections::BTreeMap;

use candle_core::{Device, Result, Tensor};

use super::reference::{self, ParameterSource, from_stored, to_stored};
use crate::network::{Graph, Node, Shape, Weights};

/// A node with its parameters.
#[derive(Debug)]
pub(super) struct CandleNode {
    node: Node,
    inputs: Vec<Shape>,
    parameters: Parameters,
}

/// Parameters as tensors, by name.
#[derive(Clone, Debug)]
struct Parameters(BTreeMap<String, Tensor>);

impl ParameterSource for Parameters {
    fn parameter(&self, name: &str) -> Result<Tensor> {
        match self.0.get(name) {
            Some(tensor) => Ok(tensor.clone()),
            None => candle_core::bail!("no parameter {name}"),
        }
    }
}

impl CandleNode {
    /// Takes node number `index` of `graph` with its weights.
    ///
    /// # Errors
    /// A tensor cannot be made.
    pub(super) fn new(graph: &Graph, weights: &Weights, index: usize) -> Result<Self> {
        let node = graph.nodes()[index].clone();
        let parameters = graph
            .operation_parameters(index)
            .into_iter()
            .map(|operand| {
                let values = graph.values_of(index, operand.suffix, weights);
                let tensor = Tensor::from_slice(&values, operand.shape, &Device::Cpu)?;
                Ok((format!("{}.{}", node.name, operand.suffix), tensor))
            });
        Ok(CandleNode {
            inputs: node.inputs.iter().map(|&i| graph.shape(i)).collect(),
            parameters: Parameters(parameters.collect::<Result<_>>()?),
            node,
        })
    }

    /// Runs the node for `samples` samples. Values go in and come out one sample after another,
    /// an image's channels last.
    ///
    /// # Errors
    /// An operation fails on these values.
    pub(super) fn run(&self, samples: usize, inputs: Vec<Vec<f32>>) -> Result<Vec<f32>> {
        let tensors = inputs
            .into_iter()
            .zip(&self.inputs)
            .map(|(values, &shape)| {
                let dims = [&[samples], &shape.stored()[..]].concat();
                from_stored(&Tensor::from_vec(values, dims, &Device::Cpu)?, shape)
            });
        let tensors = tensors.collect::<Result<Vec<_>>>()?;
        let tensors: Vec<&Tensor> = tensors.iter().collect();
        let mut source = self.parameters.clone();
        let answer = reference::apply(&self.node, &mut source, &tensors, &self.inputs)?;
        to_stored(&answer, self.node.shape)?
            .flatten_all()?
            .to_vec1()
    }
}
