//! The axes of a kernel's loop over several tensors of the same sizes, merged to as few as
//! possible.

use crate::compute::tensors::Strided;
use crate::network::MAX_RANK;

/// Sizes, the last axis fastest, and the strides of each tensor. Axes that are not needed come
/// first, with the size 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    /// The size of each axis.
    pub sizes: [usize; MAX_RANK],
    /// The strides of each tensor.
    pub strides: Vec<[usize; MAX_RANK]>,
}

impl Axes {
    /// Merges those of the first `rank` axes that are contiguous in all tensors. The last merged
    /// axis is the one before `end`.
    pub fn merged(tensors: &[Strided], rank: usize, end: usize) -> Self {
        let mut merged: Vec<(usize, Vec<usize>)> = Vec::new();
        let size = |axis: usize| tensors.first().map_or(1, |t| t.dims[axis]);
        for axis in (0..rank).filter(|&axis| size(axis) != 1) {
            let strides: Vec<usize> = tensors.iter().map(|t| t.stride(axis)).collect();
            let goes_on = |last: &[usize]| {
                let mut pairs = last.iter().zip(&strides);
                pairs.all(|(last, stride)| *last == stride * size(axis))
            };
            match merged.last_mut().filter(|(_, last)| goes_on(last)) {
                Some(last) => *last = (last.0 * size(axis), strides),
                None => merged.push((size(axis), strides)),
            }
        }
        let mut axes = Axes {
            sizes: [1; MAX_RANK],
            strides: vec![[0; MAX_RANK]; tensors.len()],
        };
        for (axis, (size, strides)) in (0..end).rev().zip(merged.into_iter().rev()) {
            axes.sizes[axis] = size;
            for (to, stride) in axes.strides.iter_mut().zip(strides) {
                to[axis] = stride;
            }
        }
        axes
    }

    /// Returns the number of positions.
    pub fn positions(&self) -> usize {
        self.sizes.iter().product()
    }
}

#[cfg(test)]
#[path = "../../../../tests/runtime/units/compute/gpu/axes.rs"]
mod tests;
