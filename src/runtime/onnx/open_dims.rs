//! The dimensions of a sample that a file leaves open, in words.

use super::ends::{size, written};
use super::proto::DimensionProto;

/// Returns the dimensions of a sample that are open, by their names or places.
pub(super) fn open_dims(dims: &[DimensionProto]) -> Vec<String> {
    let open = dims
        .iter()
        .enumerate()
        .filter(|(_, dim)| size(dim).is_none());
    let named = open.map(|(at, dim)| match written(dim) {
        name if name == "?" => format!("dimension {}", at + 1),
        name => format!("`{name}`"),
    });
    named.collect()
}

/// The size of an open dimension in an example: a common image size.
const USUAL_SIDE: &str = "224";

/// Returns a shape that fits the dimensions of a sample.
pub(super) fn example(dims: &[DimensionProto]) -> String {
    let sizes = dims.iter().map(|dim| match size(dim) {
        Some(size) => size.to_string(),
        None => USUAL_SIDE.to_owned(),
    });
    sizes.collect::<Vec<_>>().join(",")
}
