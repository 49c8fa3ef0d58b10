//! Dimensions of tensors of any rank, and choices of axes among them.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::shape::ShapeError;

/// The most dimensions of a sample's tensor.
pub const MAX_RANK: usize = 8;

/// Up to eight sizes, the slowest dimension first; also positions of axes, or one number for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<usize>", into = "Vec<usize>")]
pub struct Dims {
    sizes: [usize; MAX_RANK],
    rank: usize,
}

impl Dims {
    /// Creates dimensions from their sizes.
    ///
    /// # Errors
    /// There are more than eight.
    pub fn new(sizes: &[usize]) -> Result<Self, ShapeError> {
        let mut all = [0; MAX_RANK];
        let kept = all.get_mut(..sizes.len());
        let kept = kept.ok_or(ShapeError::Dimensions { found: sizes.len() })?;
        kept.copy_from_slice(sizes);
        Ok(Dims {
            sizes: all,
            rank: sizes.len(),
        })
    }

    /// Returns the number of dimensions.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the product of all sizes, or `usize::MAX` if it is too large.
    pub fn elements(&self) -> usize {
        self.iter().fold(1, |all, &size| all.saturating_mul(size))
    }

    /// Returns the last size, or 1 if there are no dimensions.
    pub fn last_size(&self) -> usize {
        self.last().copied().unwrap_or(1)
    }

    /// Returns the dimensions with the size of `axis` replaced.
    #[must_use]
    pub fn with(mut self, axis: usize, size: usize) -> Self {
        if axis < self.rank {
            self.sizes[axis] = size;
        }
        self
    }

    /// Returns the distance of neighbours along each axis, in values.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1usize; self.rank];
        for axis in (1..self.rank).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(self.sizes[axis]);
        }
        strides
    }

    /// Returns the dimensions to which both tensors are repeated, aligned at the last dimension as
    /// in NumPy, or `None` if they do not fit.
    pub fn broadcast(&self, other: &Dims) -> Option<Dims> {
        let rank = self.rank.max(other.rank);
        let size = |dims: &Dims, axis: usize| match (axis + dims.rank).checked_sub(rank) {
            Some(at) => dims.sizes[at],
            None => 1,
        };
        let each = (0..rank).map(|axis| match (size(self, axis), size(other, axis)) {
            (a, b) if a == b => Some(a),
            (1, b) => Some(b),
            (a, 1) => Some(a),
            _ => None,
        });
        Dims::new(&each.collect::<Option<Vec<_>>>()?).ok()
    }
}

impl Deref for Dims {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.sizes[..self.rank]
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, size) in self.iter().enumerate() {
            let before = if at > 0 { "×" } else { "" };
            write!(f, "{before}{size}")?;
        }
        Ok(())
    }
}

impl From<Dims> for Vec<usize> {
    fn from(dims: Dims) -> Self {
        dims.to_vec()
    }
}

impl TryFrom<Vec<usize>> for Dims {
    type Error = ShapeError;

    fn try_from(sizes: Vec<usize>) -> Result<Self, ShapeError> {
        Dims::new(&sizes)
    }
}
