//! Writes weights as a file of safetensors.

use std::borrow::Cow;
use std::path::Path;

use safetensors::{Dtype, View, serialize_to_file};

use super::{Weights, WeightsError};
use crate::network::graph::Graph;

/// One parameter, turned into bytes as it is written.
struct TensorBytes<'a> {
    shape: Vec<usize>,
    values: &'a [f32],
}

impl Weights {
    /// Writes every parameter of `graph` to a file at `path`, in float32.
    ///
    /// # Errors
    /// [`WeightsError::Unwritable`].
    pub fn write(&self, graph: &Graph, path: &Path) -> Result<(), WeightsError> {
        let parameters = graph.parameters();
        let tensors = parameters.iter().map(|p| {
            let values = self.get(&p.name);
            let shape = p.shape.clone();
            (p.name.as_str(), TensorBytes { shape, values })
        });
        serialize_to_file(tensors, None, path).map_err(WeightsError::Unwritable)
    }
}

impl View for TensorBytes<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn data_len(&self) -> usize {
        4 * self.values.len()
    }
}
