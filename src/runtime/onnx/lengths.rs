//! Models whose samples vary in length: a network for each length, from one decoded file.

use std::sync::Arc;

use super::ends::{name_of, no_inputs, signature, size, type_of, written};
use super::error::OnnxError;
use super::import::OnnxNetwork;
use super::model::OnnxModel;
use super::partial::PartialNetwork;
use super::proto::{DimensionProto, ValueInfoProto};
use crate::network::{Graph, LengthError, NetworkByLength, Shape, Weights};
use crate::reading::ReadError;
use crate::tensor::{Dimension, Lengths, Signature, TensorSpec};

/// The default largest length: the size of the position tables of most encoders.
const USUAL: usize = 512;

/// The names of an input that is 0 at the padding of a sample.
const MASKS: [&str; 3] = ["attention_mask", "input_mask", "mask"];

/// The inputs of a file that leaves one length open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenLengths {
    /// The inputs, with the dimension of the batch first.
    inputs: Vec<(String, Vec<Dimension>)>,
    /// The name of the input that is 0 at the padding of a sample.
    mask: Option<String>,
}

/// A model with the dimensions of its inputs, some of which are the sample's length.
#[derive(Debug)]
pub struct VaryingModel {
    model: OnnxModel,
    inputs: Vec<(String, Vec<Dimension>)>,
}

impl OpenLengths {
    /// Takes inputs by their names, with the dimension of the batch first.
    pub fn new(inputs: Vec<(String, Vec<Dimension>)>) -> Self {
        OpenLengths { inputs, mask: None }
    }
}

impl OnnxModel {
    /// Returns the inputs of a file with open dimensions after the batch, all under one name, or
    /// `None` if there are none or several names.
    pub fn open_lengths(&self) -> Option<OpenLengths> {
        let inputs: Vec<_> = self.inputs().map(open).collect::<Option<_>>()?;
        let mut names = inputs.iter().flat_map(|(.., names)| names);
        let first = names.next()?;
        if names.any(|name| name != first) {
            return None;
        }
        let is_mask = |input: &&ValueInfoProto| MASKS.contains(&name_of(input));
        let open = |input: &&ValueInfoProto| {
            let found = inputs.iter().find(|(name, ..)| name == name_of(input));
            found.is_some_and(|(.., names)| !names.is_empty())
        };
        let mask = self.inputs().filter(is_mask).find(open).map(name_of);
        Some(OpenLengths {
            mask: mask.map(str::to_owned),
            inputs: inputs.into_iter().map(|(n, d, _)| (n, d)).collect(),
        })
    }

    /// Returns the lengths of samples of open inputs, up to `most`. The default is 512, or less if
    /// the model's tables are smaller. Samples are padded to buckets if an input is called
    /// `attention_mask`, `input_mask` or `mask`.
    ///
    /// # Errors
    /// No network exists for any length, or for `most`.
    pub fn usual_lengths(
        &self,
        open: &OpenLengths,
        most: Option<usize>,
    ) -> Result<Lengths, OnnxError> {
        let most = match self.at_length(&open.inputs, most.unwrap_or(USUAL), None) {
            Ok(_) => most.unwrap_or(USUAL),
            Err(error) => match (most, self.longest(open, USUAL)) {
                (None, longest @ 2..) => longest,
                _ => return Err(error),
            },
        };
        let lengths = match &open.mask {
            Some(mask) => Lengths::padded(Lengths::usual_buckets(most), mask.clone()),
            None => Lengths::exact(most),
        };
        // The largest is from 2 on.
        lengths.map_err(|_| no_inputs().into())
    }

    /// Returns the network for samples of one length.
    ///
    /// # Errors
    /// As for [`OnnxModel::network_of`].
    pub fn network_at(&self, open: &OpenLengths, length: usize) -> Result<OnnxNetwork, OnnxError> {
        let given = sizes(&open.inputs, length);
        let given: Vec<_> = given.iter().map(|(n, d)| (n.as_str(), d.clone())).collect();
        self.network_of(&given)
    }

    /// Returns the network for samples of `shape`. A single number is the length if several inputs
    /// leave a length open. Otherwise this works like [`OnnxModel::network`].
    ///
    /// # Errors
    /// As for [`OnnxModel::network`].
    pub fn shaped(
        &self,
        open: Option<&OpenLengths>,
        shape: Option<Shape>,
    ) -> Result<OnnxNetwork, OnnxError> {
        match (open, shape) {
            (Some(open), Some(Shape::Vector { features })) if self.inputs().count() > 1 => {
                self.network_at(open, features)
            }
            _ => self.network(shape),
        }
    }

    /// Returns the network for samples of the largest of several lengths, and the model that makes
    /// the networks for the others. Samples begin with their length, followed by the inputs.
    ///
    /// # Errors
    /// As for [`OnnxModel::network_of`], or samples are longer than the position table, or an
    /// output's dimensions are neither fixed nor the length.
    pub fn varying(
        self,
        open: &OpenLengths,
        lengths: Lengths,
    ) -> Result<(OnnxNetwork, Arc<VaryingModel>), OnnxError> {
        let most = lengths.largest();
        let largest = self.at_length(&open.inputs, most, None);
        let largest = largest.map_err(|error| self.too_long(open, most, error))?;
        let another = lengths.another();
        let other = self.at_length(&open.inputs, another, Some(&largest.weights))?;
        let signature = Signature {
            lengths: Some(lengths),
            ..varying_signature(&largest, most, &other, another, &open.inputs)?
        };
        let network = OnnxNetwork {
            graph: largest
                .graph
                .with_signature(signature)?
                .with_ids(&largest.weights),
            ..largest
        };
        let model = VaryingModel {
            model: self,
            inputs: open.inputs.clone(),
        };
        Ok((network, Arc::new(model)))
    }

    fn at_length(
        &self,
        inputs: &[(String, Vec<Dimension>)],
        length: usize,
        known: Option<&Weights>,
    ) -> Result<OnnxNetwork, OnnxError> {
        let given = sizes(inputs, length);
        let given: Vec<_> = given.iter().map(|(n, d)| (n.as_str(), d.clone())).collect();
        let inputs = self.bound(&given).map_err(OnnxError::Model)?;
        let mut network = PartialNetwork::taking(self, &inputs, 1)?;
        network.known = known;
        network.complete(inputs, None)
    }

    /// Returns why there is no network for samples of `length`. If shorter samples work, the length
    /// is beyond the position table. Otherwise the reason is `error`.
    fn too_long(&self, open: &OpenLengths, length: usize, error: OnnxError) -> OnnxError {
        match self.longest(open, length) {
            most @ 2.. => OnnxError::from(ReadError::new(format_args!(
                "samples of {length} tokens are too long: the model has positions for {most}"
            ))),
            _ => error,
        }
    }

    /// Returns why there is no network for inputs of the dimensions in `given`. If they set the
    /// open dimensions to one length, this works like [`OnnxModel::too_long`].
    pub(super) fn refused(&self, given: &[(&str, Vec<usize>)], error: OnnxError) -> OnnxError {
        let Some(open) = self
            .open_lengths()
            .filter(|_| matches!(error, OnnxError::Node { .. }))
        else {
            return error;
        };
        let sizes = |(name, dims): &(String, Vec<Dimension>)| {
            let given = given.iter().find(|(n, _)| n == name).map(|(_, d)| &d[..]);
            let pairs = dims.iter().zip(given.unwrap_or_default());
            let varying = pairs.filter(|(dim, _)| **dim == Dimension::Varies);
            varying.map(|(_, size)| *size).collect::<Vec<_>>()
        };
        let lengths: Vec<usize> = open.inputs.iter().flat_map(sizes).collect();
        match lengths[..] {
            [first, ..] if lengths.iter().all(|length| *length == first) => {
                self.too_long(&open, first, error)
            }
            _ => error,
        }
    }

    /// Returns the largest length below `most` with a network, or 0.
    fn longest(&self, open: &OpenLengths, most: usize) -> usize {
        let (mut fits, mut fails) = (0, most);
        while fits + 1 < fails {
            let between = fits.midpoint(fails);
            match self.at_length(&open.inputs, between, None) {
                Ok(_) => fits = between,
                Err(_) => fails = between,
            }
        }
        fits
    }
}

impl NetworkByLength for VaryingModel {
    fn network(&self, length: usize, known: &Weights) -> Result<(Graph, Weights), LengthError> {
        let network = self.model.at_length(&self.inputs, length, Some(known))?;
        Ok((network.graph, network.weights))
    }
}

/// Returns an input's name, its dimensions, and the names of the open dimensions after the batch.
/// Returns `None` if it has no rank, or several open dimensions without a name.
fn open(input: &ValueInfoProto) -> Option<(String, Vec<Dimension>, Vec<String>)> {
    let dims = type_of(input).1?;
    let rest = dims.get(1..).unwrap_or_default();
    let open = rest.iter().filter(|dim| size(dim).is_none());
    let names: Vec<String> = open.map(written).collect();
    if names.len() > 1 && names.iter().any(|name| name == "?") {
        return None;
    }
    let dimension = |(at, dim): (usize, &DimensionProto)| match (at, size(dim)) {
        (_, Some(size)) => Dimension::Fixed(size),
        (0, None) => Dimension::Fixed(1),
        (_, None) => Dimension::Varies,
    };
    let dims = dims.iter().enumerate().map(dimension).collect();
    Some((name_of(input).to_owned(), dims, names))
}

/// Returns the dimensions of inputs at a length.
fn sizes(inputs: &[(String, Vec<Dimension>)], length: usize) -> Vec<(String, Vec<usize>)> {
    let at = |dims: &[Dimension]| {
        let sizes = dims.iter().map(|d| d.size().unwrap_or(length));
        sizes.collect()
    };
    let each = inputs.iter().map(|(name, dims)| (name.clone(), at(dims)));
    each.collect()
}

/// Returns the signature of a model whose networks of two lengths are known.
fn varying_signature(
    largest: &OnnxNetwork,
    most: usize,
    other: &OnnxNetwork,
    another: usize,
    given: &[(String, Vec<Dimension>)],
) -> Result<Signature, OnnxError> {
    let of = |network: &OnnxNetwork| signature(&network.inputs, &network.outputs);
    let (known, other) = (of(largest), of(other));
    let inputs = known.inputs.into_iter().map(|spec| {
        let dims = given.iter().find(|(name, _)| *name == spec.name);
        match dims {
            Some((_, dims)) => TensorSpec {
                dims: dims[dims.len() - spec.dims.len()..].to_vec(),
                ..spec
            },
            None => spec,
        }
    });
    let outputs = known.outputs.into_iter().zip(&other.outputs);
    let outputs = outputs.map(|(spec, other)| {
        let pairs = spec.dims.iter().zip(&other.dims);
        let dims = pairs.map(|(at_most, at_other)| match (at_most, at_other) {
            _ if at_most == at_other => Some(*at_most),
            _ if (at_most.size(), at_other.size()) == (Some(most), Some(another)) => {
                Some(Dimension::Varies)
            }
            _ => None,
        });
        let dims: Option<Vec<Dimension>> = dims.collect();
        match dims.filter(|dims| dims.len() == other.dims.len()) {
            Some(dims) => Ok(TensorSpec { dims, ..spec }),
            None => {
                let found: Vec<usize> = spec.dims.iter().filter_map(|d| d.size()).collect();
                Err(ReadError::new(format_args!(
                    "output `{}`: is {found:?} at length {most}; expected each dimension to be \
                     fixed or the length",
                    spec.name
                )))
            }
        }
    });
    Ok(Signature {
        inputs: inputs.collect(),
        outputs: outputs.collect::<Result<_, _>>()?,
        lengths: None,
    })
}
