//! The bounds of one request. A request beyond them is refused before any memory is taken for it.

use crate::error::{ErrorKind, ServiceError};

/// The bounds of one request, whichever protocol brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestBounds {
    /// Bytes of its id.
    pub id: usize,
    /// Tensors, inputs and outputs each.
    pub tensors: usize,
    /// Dimensions of a tensor.
    pub rank: usize,
    /// Values of a tensor.
    pub elements: usize,
    /// Lists within lists in the data of a tensor.
    pub depth: usize,
}

impl Default for RequestBounds {
    fn default() -> Self {
        RequestBounds {
            id: 4 << 10,
            tensors: 256,
            rank: 32,
            elements: 1 << 28,
            depth: 32,
        }
    }
}

impl RequestBounds {
    /// Returns the number of values of a tensor with the name `name` and the dimensions `dims`.
    ///
    /// # Errors
    /// There are too many dimensions or values.
    pub fn elements_of(&self, name: &str, dims: &[usize]) -> Result<usize, ServiceError> {
        let large = |message: String| ServiceError::new(ErrorKind::TooLarge, message);
        if dims.len() > self.rank {
            let (found, most) = (dims.len(), self.rank);
            return Err(large(format!(
                "tensor `{name}`: expected at most {most} dimensions, found {found}"
            )));
        }
        let elements = dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
        elements.filter(|n| *n <= self.elements).ok_or_else(|| {
            let most = self.elements;
            large(format!(
                "tensor `{name}`: expected at most {most} values, found the shape {dims:?}"
            ))
        })
    }
}
