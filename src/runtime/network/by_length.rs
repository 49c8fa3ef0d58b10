//! Networks that are built for each length of their samples.

use std::error::Error;
use std::fmt::Debug;

use super::graph::Graph;
use super::weights::Weights;

/// A network for samples of any of several lengths.
pub trait NetworkByLength: Debug + Send + Sync {
    /// Returns the network for samples of `length`. Parameters with the same name and values as in
    /// `known` are shared with it.
    ///
    /// # Errors
    /// No network exists for that length.
    fn network(&self, length: usize, known: &Weights) -> Result<(Graph, Weights), LengthError>;
}

/// The reason why no network exists for a length.
pub type LengthError = Box<dyn Error + Send + Sync>;
