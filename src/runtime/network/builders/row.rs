//! The rows of the tables of published networks.

use crate::network::{Graph, GraphBuilder, GraphError};

/// One network of a family's table.
pub(super) struct PublishedRow {
    pub name: &'static str,
    /// The side of the images that it was made for.
    pub side: usize,
    /// Adds the layers for a number of classes.
    pub build: fn(GraphBuilder, usize) -> Result<Graph, GraphError>,
}

/// Returns the row of a network made for images of `side × side`.
pub(super) const fn row(
    name: &'static str,
    side: usize,
    build: fn(GraphBuilder, usize) -> Result<Graph, GraphError>,
) -> PublishedRow {
    PublishedRow { name, side, build }
}
