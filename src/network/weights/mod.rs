//! A network's trained weights, held by name, checked against its graph.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use safetensors::{Dtype, SafeTensors};
use thiserror::Error;

mod synthetic;
mod write;

use super::graph::Graph;
use super::parameters::Parameter;
use synthetic::Recipe;

pub use synthetic::{Filling, fillings};

/// Values of every parameter of one network, in float32, row-major.
#[derive(Clone, Debug)]
pub struct Weights {
    tensors: OnceLock<BTreeMap<String, Vec<f32>>>,
    /// How to make them up, where no file has them.
    synthetic: Option<Recipe>,
}

/// Why weights do not belong to a network.
#[derive(Debug, Error)]
pub enum WeightsError {
    #[error("not a readable safetensors file: {0}")]
    Unreadable(String),
    #[error("does not fit the network: {}", .0.join("; "))]
    Mismatch(Vec<String>),
    #[error("cannot be written: {0}")]
    Unwritable(String),
}

impl Weights {
    /// Reads safetensors and checks every tensor against the graph.
    ///
    /// # Errors
    /// The bytes are not whole safetensors, or tensors are missing, unknown, of
    /// another shape or another type; all of them are named at once.
    pub fn from_safetensors(bytes: &[u8], graph: &Graph) -> Result<Self, WeightsError> {
        let file =
            SafeTensors::deserialize(bytes).map_err(|e| WeightsError::Unreadable(e.to_string()))?;
        let wanted = graph.parameters();
        let mut wrong = Vec::new();
        let mut tensors = BTreeMap::new();
        for parameter in &wanted {
            match read(&file, parameter) {
                Ok(values) => {
                    tensors.insert(parameter.name.clone(), values);
                }
                Err(why) => wrong.push(why),
            }
        }
        // PyTorch counts the batches a norm has seen; nobody needs that to serve.
        let counters = |name: &str| name.ends_with(".num_batches_tracked");
        for name in file.names().into_iter().filter(|n| !counters(n)) {
            if !wanted.iter().any(|p| p.name == name) {
                wrong.push(format!("tensor `{name}` belongs to no layer"));
            }
        }
        if wrong.is_empty() {
            Ok(Weights {
                tensors: OnceLock::from(tensors),
                synthetic: None,
            })
        } else {
            Err(WeightsError::Mismatch(wrong))
        }
    }

    /// Takes values that a training program holds.
    ///
    /// # Errors
    /// A parameter of the graph is missing or has another number of values.
    pub fn from_values(
        tensors: BTreeMap<String, Vec<f32>>,
        graph: &Graph,
    ) -> Result<Self, WeightsError> {
        let wrong: Vec<String> = graph
            .parameters()
            .iter()
            .filter(|p| tensors.get(&p.name).map(Vec::len) != Some(p.elements()))
            .map(|p| format!("tensor `{}` needs the shape {:?}", p.name, p.shape))
            .collect();
        if wrong.is_empty() {
            Ok(Weights {
                tensors: OnceLock::from(tensors),
                synthetic: None,
            })
        } else {
            Err(WeightsError::Mismatch(wrong))
        }
    }

    /// Seeded random weights for a network without a weight file.
    ///
    /// Uniform within ±√(6 / fan-in) (He et al., "Delving deep into rectifiers",
    /// section 2.2), with running variances of batch norms that fit them, so that
    /// activations neither vanish nor explode, however deep the network.
    ///
    /// They are made when they are first asked for: a network too large for this
    /// machine can be described and refused.
    pub fn synthetic(graph: &Graph, seed: u64) -> Self {
        Weights {
            tensors: OnceLock::new(),
            synthetic: Some(Recipe::new(graph, seed)),
        }
    }

    /// Whether the values were made up; no accuracy may be reported for them.
    pub fn is_synthetic(&self) -> bool {
        self.synthetic.is_some()
    }

    /// The seed of made-up values.
    pub fn seed(&self) -> Option<u64> {
        self.synthetic.as_ref().map(Recipe::seed)
    }

    /// Values of one parameter; empty where the network has none of that name.
    pub fn get(&self, name: &str) -> &[f32] {
        self.all().get(name).map_or(&[], Vec::as_slice)
    }

    /// All parameters by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[f32])> {
        let all = self.all().iter();
        all.map(|(n, v)| (n.as_str(), v.as_slice()))
    }

    fn all(&self) -> &BTreeMap<String, Vec<f32>> {
        self.tensors.get_or_init(|| match &self.synthetic {
            None => BTreeMap::new(),
            Some(recipe) => recipe.values(),
        })
    }
}

fn read(file: &SafeTensors<'_>, parameter: &Parameter) -> Result<Vec<f32>, String> {
    let name = &parameter.name;
    let tensor = file
        .tensor(name)
        .map_err(|_| format!("tensor `{name}` is missing"))?;
    if tensor.dtype() != Dtype::F32 {
        return Err(format!(
            "tensor `{name}`: expected type F32, found {:?}",
            tensor.dtype()
        ));
    }
    if tensor.shape() != parameter.shape {
        return Err(format!(
            "tensor `{name}`: expected shape {:?}, found {:?}",
            parameter.shape,
            tensor.shape()
        ));
    }
    let (bytes, _) = tensor.data().as_chunks::<4>();
    let values: Vec<f32> = bytes.iter().map(|b| f32::from_le_bytes(*b)).collect();
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(values),
        Some(at) => Err(format!(
            "tensor `{name}`: value {at} is not a finite number"
        )),
    }
}
