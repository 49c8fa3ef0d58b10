//! A network's trained weights, held by name, checked against its graph.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use safetensors::{Dtype, SafeTensors};
use thiserror::Error;

use super::graph::Graph;
use super::moments::moments;
use super::op::Op;
use super::parameters::{Parameter, ParameterRole};

/// Values of every parameter of one network, in float32, row-major.
#[derive(Clone, Debug)]
pub struct Weights {
    tensors: OnceLock<BTreeMap<String, Vec<f32>>>,
    /// How to make them up, where no file has them.
    synthetic: Option<Recipe>,
}

/// For which parameters, with which running variances by name, from which seed.
#[derive(Clone, Debug)]
struct Recipe {
    parameters: Vec<Parameter>,
    variances: BTreeMap<String, f32>,
    seed: u64,
}

/// Why weights do not belong to a network.
#[derive(Debug, Error)]
pub enum WeightsError {
    #[error("not a readable safetensors file: {0}")]
    Unreadable(String),
    #[error("does not fit the network: {}", .0.join("; "))]
    Mismatch(Vec<String>),
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
            synthetic: Some(Recipe {
                parameters: graph.parameters(),
                variances: variances(graph),
                seed,
            }),
        }
    }

    /// Whether the values were made up; no accuracy may be reported for them.
    pub fn is_synthetic(&self) -> bool {
        self.synthetic.is_some()
    }

    /// The seed of made-up values.
    pub fn seed(&self) -> Option<u64> {
        self.synthetic.as_ref().map(|recipe| recipe.seed)
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
            Some(recipe) => recipe.make_up(),
        })
    }
}

impl Recipe {
    fn make_up(&self) -> BTreeMap<String, Vec<f32>> {
        let all = self.parameters.iter().enumerate();
        all.map(|(i, p)| {
            let key = mix(self.seed ^ mix(i as u64));
            let variance = self.variances.get(&p.name).copied().unwrap_or(1.0);
            (p.name.clone(), random(p, key, variance))
        })
        .collect()
    }
}

/// Running variances by parameter name.
fn variances(graph: &Graph) -> BTreeMap<String, f32> {
    let moments = moments(graph);
    let norms = graph.nodes().iter().filter(|n| is_norm(&n.op));
    norms
        .map(|n| {
            let name = format!("{}.running_var", n.name);
            (name, moments[n.inputs[0].index()].square)
        })
        .collect()
}

fn is_norm(op: &Op) -> bool {
    matches!(op, Op::BatchNorm { .. })
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

fn random(parameter: &Parameter, key: u64, variance: f32) -> Vec<f32> {
    let n = parameter.elements() as u64;
    match parameter.role {
        ParameterRole::Weight { fan_in } => {
            let bound = (6.0 / fan_in.max(1) as f32).sqrt();
            (0..n)
                .map(|i| (unit(mix(key.wrapping_add(i))) * 2.0 - 1.0) * bound)
                .collect()
        }
        ParameterRole::Scale => vec![1.0; n as usize],
        ParameterRole::RunningVariance => vec![variance; n as usize],
        ParameterRole::Bias | ParameterRole::RunningMean => vec![0.0; n as usize],
    }
}

fn unit(bits: u64) -> f32 {
    (bits >> 40) as f32 / (1u64 << 24) as f32
}

/// SplitMix64's output function (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", figure 17): a counter in, random bits out.
fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
