//! Walks over several tensors of the same dimensions at once, one run along the last axis after
//! another.

use crate::compute::tensors::Strided;

/// The most floats of a run that absorbs more axes, so that there are runs for all threads.
const LONGEST: usize = 4096;

/// A walk over `N` tensors, which may be repeated or transposed.
#[derive(Clone, Debug)]
pub(super) struct Walk<const N: usize> {
    /// Sizes of the axes before the last and the strides along them, the slowest first.
    axes: Vec<(usize, [usize; N])>,
    first: [usize; N],
    /// Floats from one sample to the next.
    samples: [usize; N],
    /// Values of a run, and the floats from one to the next.
    pub len: usize,
    pub steps: [usize; N],
}

impl<const N: usize> Walk<N> {
    /// Plans a walk over tensors of the same dimensions, whose samples lie `samples` floats
    /// apart.
    pub(super) fn new(tensors: [Strided; N], samples: [usize; N]) -> Self {
        let mut walk = Walk::points(tensors, samples);
        if let Some((size, strides)) = walk.axes.pop() {
            (walk.len, walk.steps) = (size, strides);
            walk.merge();
        }
        walk
    }

    /// Plans a walk whose runs are single values.
    pub(super) fn points(tensors: [Strided; N], samples: [usize; N]) -> Self {
        let dims = tensors[0].dims;
        let axes = (0..dims.rank()).filter(|&axis| dims[axis] != 1);
        let axes = axes.map(|axis| (dims[axis], tensors.map(|t| t.stride(axis))));
        Walk {
            axes: axes.collect(),
            first: tensors.map(|t| t.offset),
            samples,
            len: 1,
            steps: [1; N],
        }
    }

    /// Merges axes into the run along which all tensors go on evenly.
    fn merge(&mut self) {
        while let Some(&(size, strides)) = self.axes.last() {
            let even = (0..N).all(|n| strides[n] == self.steps[n] * self.len);
            if !even || self.len * size > LONGEST {
                return;
            }
            self.len *= size;
            self.axes.pop();
        }
    }

    /// Removes and returns the axis along which tensor `n` is contiguous, if it has at least
    /// `least` values and the run is not contiguous: its size and its strides.
    pub(super) fn take_run(&mut self, n: usize, least: usize) -> Option<(usize, [usize; N])> {
        let is_run = |axis: &(usize, [usize; N])| axis.1[n] == 1 && axis.0 >= least;
        let found = self.axes.iter().position(is_run)?;
        Some(self.axes.remove(found))
    }

    /// Puts an axis that [`Walk::take_run`] took out back as blocks of `block` values.
    pub(super) fn in_blocks(&mut self, size: usize, strides: [usize; N], block: usize) {
        let blocks = size.div_ceil(block);
        self.axes.insert(0, (blocks, strides.map(|s| s * block)));
    }

    /// Returns the runs of a sample.
    pub(super) fn runs(&self) -> usize {
        self.axes.iter().map(|(size, _)| size).product()
    }

    /// Returns the position of a run, counted over all samples.
    #[inline(always)]
    pub(super) fn at(&self, run: usize) -> WalkPosition<'_, N> {
        let runs = self.runs().max(1);
        let (sample, mut rest) = (run / runs, run % runs);
        let mut position = WalkPosition {
            walk: self,
            counts: [0; 8],
            at: self.first,
        };
        for n in 0..N {
            position.at[n] += sample * self.samples[n];
        }
        for (axis, (size, strides)) in self.axes.iter().enumerate().rev() {
            let count = rest % size;
            rest /= size;
            position.counts[axis] = count;
            for (at, stride) in position.at.iter_mut().zip(strides) {
                *at += count * stride;
            }
        }
        position
    }
}

/// A run of a walk.
pub(super) struct WalkPosition<'a, const N: usize> {
    walk: &'a Walk<N>,
    counts: [usize; 8],
    /// The first float of the run in each tensor.
    pub at: [usize; N],
}

impl<const N: usize> WalkPosition<'_, N> {
    /// Goes on to the next run; from the last one of a sample to the next sample.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        for (axis, &(size, strides)) in self.walk.axes.iter().enumerate().rev() {
            self.counts[axis] += 1;
            if self.counts[axis] < size {
                for (at, stride) in self.at.iter_mut().zip(strides) {
                    *at += stride;
                }
                return;
            }
            self.counts[axis] = 0;
            for (at, stride) in self.at.iter_mut().zip(strides) {
                *at -= stride * (size - 1);
            }
        }
        for (at, sample) in self.at.iter_mut().zip(self.walk.samples) {
            *at += sample;
        }
    }

    /// Returns the position along the slowest axis.
    #[inline(always)]
    pub(super) fn slowest(&self) -> usize {
        self.counts[0]
    }
}
