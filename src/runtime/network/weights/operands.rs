//! The values of parameters as operations take them.

use std::borrow::Cow;

use super::{Weights, encoded};
use crate::network::graph::Graph;
use crate::network::origin::ParameterOrigin;

impl Graph {
    /// Returns the values of parameter `suffix` of node number `index` in the order of its
    /// operation, or an empty slice if the parameter does not exist. Values in a file are read each
    /// time, because only the operation itself needs them.
    pub fn values_of<'a>(
        &self,
        index: usize,
        suffix: &str,
        weights: &'a Weights,
    ) -> Cow<'a, [f32]> {
        let node = &self.nodes()[index];
        let origin = match node.origin(suffix) {
            None => return weights.read(&format!("{}.{suffix}", node.name)),
            Some(ParameterOrigin::Tensor { name, .. }) => return weights.read(name),
            Some(origin) => origin,
        };
        let tensor = origin
            .tensor()
            .map_or(&[][..], |(name, _)| weights.get(name));
        let all = self.operation_parameters(index);
        let count = all.iter().find(|p| p.suffix == suffix);
        origin.values(tensor, count.map_or(0, |p| p.shape.iter().product()))
    }
    /// Copies the values that [`Graph::values_of`] returns to `to`, which has as many.
    pub(crate) fn copy_values(
        &self,
        index: usize,
        suffix: &str,
        weights: &Weights,
        to: &mut [f32],
    ) {
        let node = &self.nodes()[index];
        match node.origin(suffix) {
            None => weights.copy_to(&format!("{}.{suffix}", node.name), to),
            Some(ParameterOrigin::Tensor { name, .. }) => weights.copy_to(name, to),
            Some(_) => encoded::copy(&self.values_of(index, suffix, weights), to),
        }
    }
}
