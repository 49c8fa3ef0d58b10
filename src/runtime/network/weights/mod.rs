//! The trained weights of a network, by name, checked against its graph; read, generated and
//! written.

mod coding;
mod encoded;
mod error;
mod filters;
mod fit;
mod foreign;
mod naming;
mod notes;
mod operands;
mod shrunk;
mod source;
mod step;
mod stepped;
mod synthetic;
mod tensors;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use safetensors::{Dtype, View, serialize_to_file};

use super::graph::Graph;
use fit::{ParameterValues, fit};
use source::ByteSource;
use synthetic::SyntheticRecipe;
use tensors::{Shards, is_index, of_file, open_shards};

pub(crate) use coding::{IntegerScales, IntegerStep};
pub(crate) use encoded::{EncodedPlace, EncodedValues, transposed};
pub use error::{Mismatch, WeightsError};
pub(crate) use filters::FilterValues;
pub use foreign::Foreign;
pub use naming::{Naming, Pattern};
pub use notes::{Handful, Ignored, WeightsNote};
pub(crate) use source::Map;
pub(crate) use step::{ByteWeights, weight_scale};
pub use synthetic::{Filling, fillings};

/// The values of every parameter of one network, in float32, row-major.
#[derive(Clone, Debug)]
pub struct Weights {
    tensors: OnceLock<BTreeMap<String, ParameterValues>>,
    /// How the values are generated, if they are not read from files.
    synthetic: Option<SyntheticRecipe>,
    /// The files that values are read from in place.
    maps: Vec<Arc<Map>>,
    /// Changes made to the files' tensors.
    notes: Vec<WeightsNote>,
}

impl Weights {
    /// Maps the safetensors file at `path`, or the files listed in an index at `path`, and checks
    /// every tensor against the graph. Values of float32 stay in the file and are read in place;
    /// others are converted.
    ///
    /// # Errors
    /// As for [`Weights::from_safetensors`], or the file cannot be opened.
    pub fn open(path: &Path, graph: &Graph) -> Result<Self, WeightsError> {
        Self::open_as(path, graph, &Naming::default())
    }

    /// Opens weights as [`Weights::open`] does, with names that `naming` turns into the
    /// network's.
    ///
    /// # Errors
    /// As for [`Weights::open`], or `naming` does not fit the file.
    pub fn open_as(path: &Path, graph: &Graph, naming: &Naming) -> Result<Self, WeightsError> {
        let map = Map::open(path)?;
        let (maps, tensors, mut notes) = if is_index(map.bytes()) {
            let folder = path.parent().unwrap_or(Path::new(""));
            let Shards { maps, tensors } = open_shards(folder, map.bytes())?;
            map.check()?;
            let note = WeightsNote::Shards(maps.len());
            (maps, tensors, vec![note])
        } else {
            let tensors = of_file(map.bytes())?;
            (vec![Arc::new(map)], tensors, Vec::new())
        };
        let sources: Vec<ByteSource<'_>> = maps.iter().map(|map| ByteSource::Mapped(map)).collect();
        let fitted = fit(&sources, &tensors, graph, naming)?;
        notes.extend(fitted.notes);
        let weights = Weights {
            tensors: OnceLock::from(fitted.values),
            synthetic: None,
            maps,
            notes,
        };
        weights.check()?;
        weights.release();
        Ok(weights)
    }

    /// Reads safetensors and checks every tensor against the graph.
    ///
    /// # Errors
    /// The bytes are not whole safetensors. Or tensors are missing, unknown, of another shape,
    /// of a type that does not convert to float32, not finite, or variances below 0; the error
    /// lists them all, with a few names of each kind.
    pub fn from_safetensors(bytes: &[u8], graph: &Graph) -> Result<Self, WeightsError> {
        Self::from_safetensors_as(bytes, graph, &Naming::default())
    }

    /// Reads weights as [`Weights::from_safetensors`] does, with names that `naming` turns
    /// into the network's.
    ///
    /// # Errors
    /// As for [`Weights::from_safetensors`], or `naming` does not fit the file.
    pub fn from_safetensors_as(
        bytes: &[u8],
        graph: &Graph,
        naming: &Naming,
    ) -> Result<Self, WeightsError> {
        let fitted = fit(&[ByteSource::Bytes(bytes)], &of_file(bytes)?, graph, naming)?;
        Ok(Weights::held(fitted.values, fitted.notes))
    }

    fn held(tensors: BTreeMap<String, ParameterValues>, notes: Vec<WeightsNote>) -> Self {
        Weights {
            tensors: OnceLock::from(tensors),
            synthetic: None,
            maps: Vec::new(),
            notes,
        }
    }

    /// Creates weights from values in memory, such as those of a training program.
    ///
    /// # Errors
    /// A parameter of the graph is missing or has another number of values.
    pub fn from_values(
        tensors: BTreeMap<String, Vec<f32>>,
        graph: &Graph,
    ) -> Result<Self, WeightsError> {
        let shared = tensors.into_iter().map(|(n, v)| (n, Arc::new(v)));
        Self::with_encoded(shared.collect(), BTreeMap::new(), Vec::new(), graph)
    }

    /// Creates weights from values that other networks may share, and from values that stay in the
    /// files `maps`. Those files are not read before a network is lowered.
    ///
    /// # Errors
    /// As for [`Weights::from_values`].
    pub(crate) fn with_encoded(
        tensors: BTreeMap<String, Arc<Vec<f32>>>,
        encoded: BTreeMap<String, EncodedValues>,
        maps: Vec<Arc<Map>>,
        graph: &Graph,
    ) -> Result<Self, WeightsError> {
        let mut wrong = Mismatch::default();
        let len = |name: &str| {
            let held = tensors.get(name).map(|values| values.len());
            held.or_else(|| encoded.get(name).map(EncodedValues::len))
        };
        for p in graph.parameters() {
            if len(&p.name) != Some(p.elements()) {
                let shape = &p.shape;
                let said = || format!("tensor `{}` needs the shape {shape:?}", p.name);
                wrong.shapes.push(said);
            }
        }
        wrong.result()?;
        let owned = tensors
            .into_iter()
            .map(|(n, v)| (n, ParameterValues::Owned(v)));
        let encoded = encoded
            .into_iter()
            .map(|(n, v)| (n, ParameterValues::Encoded(v)));
        let weights = Weights {
            maps,
            ..Weights::held(owned.chain(encoded).collect(), Vec::new())
        };
        weights.release();
        Ok(weights)
    }

    /// Creates random weights from a seed, for a network without a file of weights.
    ///
    /// Values are uniform within ±√(6 / fan-in) (He et al., "Delving deep into rectifiers", section
    /// 2.2), with running variances of batch norms that fit them, so that activations neither
    /// vanish nor explode at any depth.
    ///
    /// They are generated at the first read, so that a network too large for this machine can be
    /// described and refused.
    pub fn synthetic(graph: &Graph, seed: u64) -> Self {
        Weights {
            tensors: OnceLock::new(),
            synthetic: Some(SyntheticRecipe::new(graph, seed)),
            maps: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns whether the values were generated from a seed. No accuracy may be reported for them.
    pub fn is_synthetic(&self) -> bool {
        self.synthetic.is_some()
    }

    /// Returns the changes made to the file's tensors to make them the network's.
    pub fn notes(&self) -> &[WeightsNote] {
        &self.notes
    }

    /// Returns the seed of generated values, or `None` if they are read from files.
    pub fn seed(&self) -> Option<u64> {
        self.synthetic.as_ref().map(SyntheticRecipe::seed)
    }

    /// Returns the values of one parameter, or an empty slice if the network has no parameter of
    /// the name.
    pub fn get(&self, name: &str) -> &[f32] {
        self.all().get(name).map_or(&[], |v| self.values(v))
    }

    /// Returns the values of one parameter to share, if they are in memory.
    pub fn shared(&self, name: &str) -> Option<Arc<Vec<f32>>> {
        match self.all().get(name)? {
            ParameterValues::Owned(values) => Some(Arc::clone(values)),
            ParameterValues::Encoded(_) | ParameterValues::InPlace(..) => None,
        }
    }

    /// Returns whether both weights hold the parameter `name` in one place of memory or of a file.
    pub fn share(&self, other: &Weights, name: &str) -> bool {
        if let (Some(ParameterValues::Encoded(own)), Some(ParameterValues::Encoded(other))) =
            (self.all().get(name), other.all().get(name))
        {
            return own.is_at_place_of(other);
        }
        let (own, other) = (self.read(name), other.read(name));
        own.len() == other.len() && (own.is_empty() || own.as_ptr() == other.as_ptr())
    }

    /// Returns the values of one parameter like [`Weights::get`], without keeping decoded values.
    pub(crate) fn read(&self, name: &str) -> Cow<'_, [f32]> {
        let Some(ParameterValues::Encoded(encoded)) = self.all().get(name) else {
            return Cow::Borrowed(self.get(name));
        };
        let values = encoded.read();
        self.release();
        values
    }

    /// Returns the values of one parameter as they lie in a file, or `None` if they are in memory.
    fn encoded(&self, name: &str) -> Option<&EncodedValues> {
        match self.all().get(name)? {
            ParameterValues::Encoded(encoded) => Some(encoded),
            ParameterValues::Owned(_) | ParameterValues::InPlace(..) => None,
        }
    }

    /// Copies the values of one parameter to `to`, which has the same length. Decoded values are
    /// not kept.
    pub(crate) fn copy_to(&self, name: &str, to: &mut [f32]) {
        match self.all().get(name) {
            Some(ParameterValues::Encoded(encoded)) => encoded.decode_to(to, || self.release()),
            _ => encoded::copy(self.get(name), to),
        }
        self.release();
    }

    /// Iterates over all parameters, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[f32])> {
        let all = self.all().iter();
        all.map(|(n, v)| (n.as_str(), self.values(v)))
    }

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

    /// Checks that the files were not written to since they were opened. Callers that read
    /// many values check before and after, since values read from a changed file are
    /// worthless.
    ///
    /// # Errors
    /// [`WeightsError::Changed`].
    pub fn check(&self) -> Result<(), WeightsError> {
        self.maps.iter().try_for_each(|map| map.check())
    }

    /// Releases the memory of the files' pages; reading maps them again.
    pub fn release(&self) {
        self.maps.iter().for_each(|map| map.release());
    }

    fn values<'a>(&'a self, values: &'a ParameterValues) -> &'a [f32] {
        match values {
            ParameterValues::Owned(values) => values,
            ParameterValues::Encoded(values) => values.kept(),
            ParameterValues::InPlace(file, place) => {
                let bytes = self
                    .maps
                    .get(*file)
                    .map(|map| map.read_range(place.clone()));
                bytemuck::try_cast_slice(bytes.unwrap_or_default()).unwrap_or_default()
            }
        }
    }

    fn all(&self) -> &BTreeMap<String, ParameterValues> {
        self.tensors.get_or_init(|| {
            let made_up = self.synthetic.iter().flat_map(SyntheticRecipe::values);
            made_up
                .map(|(n, v)| (n, ParameterValues::Owned(Arc::new(v))))
                .collect()
        })
    }
}

/// One parameter, turned into bytes as it is written.
struct TensorBytes<'a> {
    shape: Vec<usize>,
    values: &'a [f32],
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
