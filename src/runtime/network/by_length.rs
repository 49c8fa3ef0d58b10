//! Networks that are made anew for each length of their samples.

use std::error::Error;
use std::fmt::Debug;

use super::graph::Graph;
use super::weights::Weights;

/// A network for samples of any of several lengths.
pub trait NetworkByLength: Debug + Send + Sync {
    /// Returns the network for samples of `length`. Its parameters are those of `known` where they
    /// have the name and the values of one there.
    ///
    /// # Errors
    /// There is none of that length.
    fn network(&self, length: usize, known: &Weights) -> Result<(Graph, Weights), LengthError>;
}

/// The reason why there is no network of a length.
pub type LengthError = Box<dyn Error + Send + Sync>;
