//! The weights of a layer. They can be read a few outputs at a time, so a large matrix is not
//! decoded as a whole only to be laid out again.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::Weights;
use super::encoded::EncodedValues;
use crate::network::graph::Graph;
use crate::network::origin::ParameterOrigin;

/// The weights of a layer, output after output.
#[derive(Clone, Debug)]
pub(crate) enum FilterValues<'a> {
    /// Values in memory.
    Held(Cow<'a, [f32]>),
    /// Values in a file, and all of them after the first request for all.
    InFile(&'a EncodedValues, OnceLock<Cow<'a, [f32]>>),
}

impl FilterValues<'_> {
    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            FilterValues::Held(values) => values.len(),
            FilterValues::InFile(encoded, _) => encoded.len(),
        }
    }

    /// Returns all values. Values of a file are kept while `self` exists.
    pub(crate) fn all(&self) -> &[f32] {
        match self {
            FilterValues::Held(values) => values,
            FilterValues::InFile(encoded, all) => all.get_or_init(|| encoded.read()),
        }
    }

    /// Returns whether the weights of each output, `each` of them, are certain to be whole
    /// multiples of a step, at most 127, without decoding.
    pub(super) fn are_stepped(&self, each: usize) -> bool {
        match self {
            FilterValues::Held(_) => false,
            FilterValues::InFile(encoded, _) => encoded.are_stepped(each),
        }
    }

    /// Returns the weights of some outputs, `each` for every output. Weights of a file are decoded
    /// each time.
    pub(crate) fn read_outputs(&self, outputs: Range<usize>, each: usize) -> Cow<'_, [f32]> {
        match self {
            FilterValues::Held(values) => {
                Cow::Borrowed(&values[outputs.start * each..outputs.end * each])
            }
            FilterValues::InFile(encoded, _) => Cow::Owned(encoded.decode_rows(outputs, each)),
        }
    }
}

impl Graph {
    /// Returns the weights of node number `index`. Weights in a file are read a few outputs at a
    /// time.
    pub(crate) fn filters_of<'a>(&self, index: usize, weights: &'a Weights) -> FilterValues<'a> {
        let node = &self.nodes()[index];
        let encoded = match node.origin("weight") {
            None => weights.encoded(&format!("{}.weight", node.name)),
            Some(ParameterOrigin::Tensor { name, .. }) => weights.encoded(name),
            Some(_) => None,
        };
        match encoded {
            Some(encoded) => FilterValues::InFile(encoded, OnceLock::new()),
            None => FilterValues::Held(self.values_of(index, "weight", weights)),
        }
    }
}
