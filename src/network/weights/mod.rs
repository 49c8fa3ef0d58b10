//! A network's trained weights, held by name, checked against its graph.

mod fit;
mod header;
mod map;
mod synthetic;
mod write;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use thiserror::Error;

use super::graph::Graph;
use fit::{Source, fit};
use map::Map;
use synthetic::Recipe;

pub use synthetic::{Filling, fillings};

/// Values of every parameter of one network, in float32, row-major.
#[derive(Clone, Debug)]
pub struct Weights {
    tensors: OnceLock<BTreeMap<String, Values>>,
    /// How to make them up, where no file has them.
    synthetic: Option<Recipe>,
    /// The file they are read from in place.
    map: Option<Arc<Map>>,
}

/// Where one parameter's values are.
#[derive(Clone, Debug)]
enum Values {
    Owned(Vec<f32>),
    /// Bytes of the mapped file, aligned for float32.
    InPlace(Range<usize>),
}

/// Why weights do not belong to a network.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// The file itself cannot be had.
    #[error("{0}")]
    Io(String),
    #[error("not a readable safetensors file: {0}")]
    Unreadable(String),
    #[error("does not fit the network: {}", .0.join("; "))]
    Mismatch(Vec<String>),
    #[error("weights {0} changed since they were read")]
    Changed(String),
    #[error("cannot be written: {0}")]
    Unwritable(String),
}

impl Weights {
    /// Maps the safetensors file at `path` and checks every tensor against the graph.
    /// Values stay in the file and are read in place.
    ///
    /// # Errors
    /// As [`Weights::from_safetensors`], or the file cannot be opened.
    pub fn open(path: &Path, graph: &Graph) -> Result<Self, WeightsError> {
        let map = Arc::new(Map::open(path)?);
        let tensors = fit(Source::Mapped(&map), graph)?;
        map.check()?;
        map.release();
        Ok(Weights {
            tensors: OnceLock::from(tensors),
            synthetic: None,
            map: Some(map),
        })
    }

    /// Reads safetensors and checks every tensor against the graph.
    ///
    /// # Errors
    /// The bytes are not whole safetensors, or tensors are missing, unknown, of
    /// another shape or another type or not finite; all of them are named at once.
    pub fn from_safetensors(bytes: &[u8], graph: &Graph) -> Result<Self, WeightsError> {
        fit(Source::Bytes(bytes), graph).map(Weights::held)
    }

    fn held(tensors: BTreeMap<String, Values>) -> Self {
        Weights {
            tensors: OnceLock::from(tensors),
            synthetic: None,
            map: None,
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
        if !wrong.is_empty() {
            return Err(WeightsError::Mismatch(wrong));
        }
        let owned = tensors.into_iter().map(|(n, v)| (n, Values::Owned(v)));
        Ok(Weights::held(owned.collect()))
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
            map: None,
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
        self.all().get(name).map_or(&[], |v| self.values(v))
    }

    /// All parameters by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[f32])> {
        let all = self.all().iter();
        all.map(|(n, v)| (n.as_str(), self.values(v)))
    }

    /// Whether the file that the values are read from is what it was. Who reads many of
    /// them asks before and after: what was read in between is worth nothing otherwise.
    ///
    /// # Errors
    /// [`WeightsError::Changed`].
    pub fn check(&self) -> Result<(), WeightsError> {
        self.map.as_ref().map_or(Ok(()), |map| map.check())
    }

    /// Lets go of memory that the file's bytes take; reading brings them back.
    pub fn release(&self) {
        if let Some(map) = &self.map {
            map.release();
        }
    }

    fn values<'a>(&'a self, values: &'a Values) -> &'a [f32] {
        match values {
            Values::Owned(values) => values,
            Values::InPlace(place) => {
                let bytes = self.map.as_ref().map(|map| map.look(place.clone()));
                bytemuck::try_cast_slice(bytes.unwrap_or_default()).unwrap_or_default()
            }
        }
    }

    fn all(&self) -> &BTreeMap<String, Values> {
        self.tensors.get_or_init(|| {
            let made_up = self.synthetic.iter().flat_map(Recipe::values);
            made_up.map(|(n, v)| (n, Values::Owned(v))).collect()
        })
    }
}
