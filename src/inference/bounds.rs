//! The bounds of a request. A request beyond them is refused before any memory is allocated for it.

use crate::error::{ErrorKind, ServiceError};

/// The bounds of a request, for all protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestBounds {
    /// The maximum bytes of its id.
    pub id: usize,
    /// The maximum number of inputs, and of outputs.
    pub tensors: usize,
    /// The maximum number of dimensions of a tensor.
    pub rank: usize,
    /// The maximum number of values of a tensor.
    pub elements: usize,
    /// The maximum nesting of lists in the data of a tensor.
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
    /// Returns an error if there are too many dimensions or values.
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
