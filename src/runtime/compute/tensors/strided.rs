//! The places of a tensor's values among floats: the distance of neighbours along each axis.
//!
//! A transposed, sliced or repeated tensor has the same floats with other distances, so products
//! read it in place.

use crate::network::{Dims, MAX_RANK};

/// A tensor among the floats of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strided {
    /// Floats before the first value.
    pub offset: usize,
    /// Its dimensions.
    pub dims: Dims,
    /// Floats from one value to the next along each axis; 0 for repeated values.
    strides: [usize; MAX_RANK],
}

impl Strided {
    /// Returns a tensor that is held in one piece, the last axis fastest.
    pub(in crate::compute) fn whole(dims: Dims) -> Self {
        let mut strides = [0; MAX_RANK];
        for (to, stride) in strides.iter_mut().zip(dims.strides()) {
            *to = stride;
        }
        Strided {
            offset: 0,
            dims,
            strides,
        }
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.dims.rank()
    }

    /// Returns the floats from one value to the next along `axis`; 0 for repeated values.
    pub fn stride(&self, axis: usize) -> usize {
        self.strides[axis]
    }

    /// Returns whether values along `axis` are contiguous.
    pub(in crate::compute) fn is_run(&self, axis: usize) -> bool {
        self.dims[axis] == 1 || self.strides[axis] == 1
    }

    /// Returns the tensor that begins `offset` floats later.
    pub(in crate::compute) fn moved(self, offset: usize) -> Self {
        Strided {
            offset: self.offset + offset,
            ..self
        }
    }

    fn with(mut self, axis: usize, size: usize, stride: usize) -> Self {
        self.dims = self.dims.with(axis, size);
        self.strides[axis] = stride;
        self
    }

    /// Returns the tensor with its axes in another order: axis `i` is axis `order[i]` of this.
    pub(in crate::compute) fn transposed(&self, order: &Dims) -> Self {
        let axes = order.iter().enumerate();
        axes.fold(*self, |to, (i, &axis)| {
            to.with(i, self.dims[axis], self.strides[axis])
        })
    }

    /// Returns the tensor that this is the transpose of, by `order`.
    pub(in crate::compute) fn untransposed(&self, order: &Dims) -> Self {
        let axes = order.iter().enumerate();
        axes.fold(*self, |to, (i, &axis)| {
            to.with(axis, self.dims[i], self.strides[i])
        })
    }

    /// Returns every `step`-th position along an axis, or `None` if `step` is negative.
    pub(in crate::compute) fn sliced(
        &self,
        axis: usize,
        start: usize,
        count: usize,
        step: isize,
    ) -> Option<Self> {
        let step = usize::try_from(step).ok()?;
        let stride = self.strides[axis];
        let from = self.moved(start * stride);
        Some(from.with(axis, count, stride * step))
    }

    /// Returns the tensor repeated to `dims` as in NumPy, or `None` if it does not fit.
    pub(in crate::compute) fn expanded(&self, dims: &Dims) -> Option<Self> {
        let missing = dims.rank().checked_sub(self.rank())?;
        let mut to = Strided {
            offset: self.offset,
            dims: *dims,
            strides: [0; MAX_RANK],
        };
        for (axis, &size) in self.dims.iter().enumerate() {
            to.strides[missing + axis] = match size {
                size if size == dims[missing + axis] => self.strides[axis],
                1 => 0,
                _ => return None,
            };
        }
        Some(to)
    }

    /// Returns the same values in the same order under other dimensions, or `None` if their
    /// distances along an axis would differ.
    pub(in crate::compute) fn viewed(&self, dims: &Dims) -> Option<Self> {
        if self.dims.elements() != dims.elements() || dims.elements() == 0 {
            return None;
        }
        let mut runs = self.runs();
        let mut to = Strided {
            offset: self.offset,
            dims: *dims,
            strides: [0; MAX_RANK],
        };
        let (mut left, mut stride) = (1, 0);
        for (axis, &size) in dims.iter().enumerate().rev().filter(|(_, size)| **size > 1) {
            if left == 1 {
                (left, stride) = runs.pop()?;
            }
            if left % size != 0 {
                return None;
            }
            to.strides[axis] = stride;
            (left, stride) = (left / size, stride * size);
        }
        Some(to)
    }

    /// Returns sizes and strides of axes. Axes whose values follow each other evenly are merged.
    fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (axis, &size) in self.dims.iter().enumerate().filter(|(_, size)| **size > 1) {
            let stride = self.strides[axis];
            match runs.last_mut() {
                Some(last) if last.1 == stride * size => *last = (last.0 * size, stride),
                _ => runs.push((size, stride)),
            }
        }
        runs
    }

    /// Returns only the first `rank` axes.
    pub(in crate::compute) fn leading(&self, rank: usize) -> Self {
        let dims = Dims::new(&self.dims[..rank]);
        Strided {
            dims: dims.unwrap_or(self.dims),
            ..*self
        }
    }

    /// Returns the places of the values if rows of `channels` floats begin every `pitch` floats, or
    /// `None` if an axis crosses the ends of rows.
    pub(in crate::compute) fn pitched(&self, channels: usize, pitch: usize) -> Option<Self> {
        if channels == pitch {
            return Some(*self);
        }
        let mut to = *self;
        let mut inside = self.offset % channels;
        to.offset = self.offset / channels * pitch + inside;
        for (axis, &size) in self.dims.iter().enumerate() {
            let stride = self.strides[axis];
            if stride.is_multiple_of(channels) {
                to.strides[axis] = stride / channels * pitch;
            } else {
                inside += size.saturating_sub(1) * stride;
            }
        }
        (inside < channels).then_some(to)
    }
}

#[cfg(test)]
#[path = "../../../../tests/runtime/units/compute/tensors/strided.rs"]
mod tests;
