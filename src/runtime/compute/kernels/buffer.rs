//! The one allocation that a batch is run in, and where everything lies in it.

use std::alloc;
use std::ops::Range;

use crate::compute::error::ComputeError;

/// Floats of a cache line, which is also the widest vector.
pub(in crate::compute) const LINE: usize = 16;

/// An allocation of floats that starts at a cache line.
#[derive(Debug)]
pub(in crate::compute) struct Buffer {
    values: Vec<f32>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// Allocates zeros, which take memory when they are first written to.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub(crate) fn zeroed(len: usize) -> Result<Self, ComputeError> {
        let values = untouched(len + LINE)?;
        let start = values.as_ptr().align_offset(4 * LINE).min(LINE);
        Ok(Buffer { values, start, len })
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values[self.start..][..self.len]
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.start..][..self.len]
    }
}

/// Allocates zeros from the system, or returns an error instead of an abort if memory runs out.
fn untouched(floats: usize) -> Result<Vec<f32>, ComputeError> {
    let none = || ComputeError::OutOfMemory {
        bytes: floats.saturating_mul(4),
    };
    let layout = alloc::Layout::array::<f32>(floats).map_err(|_| none())?;
    // SAFETY: buffers have at least a line, so the size is not zero.
    let start = unsafe { alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return Err(none());
    }
    // SAFETY: allocated just now with the layout of so many floats, all zero.
    Ok(unsafe { Vec::from_raw_parts(start.cast::<f32>(), floats, floats) })
}

/// The ranges of floats in the allocation, each starting at a cache line.
#[derive(Clone, Debug)]
pub(in crate::compute) struct ArenaLayout {
    pub slots: Vec<Range<usize>>,
    /// Whether each slot is used anew by each chunk.
    pub early: Vec<bool>,
    /// Scratch of all threads together.
    pub shared: Range<usize>,
    /// Scratch of each thread.
    pub own: Vec<Range<usize>>,
    /// The most row offsets that a thread lists.
    pub offsets: usize,
    /// Floats of everything.
    pub floats: usize,
}

impl ArenaLayout {
    /// Returns the bytes of the allocation and of the offsets.
    pub(crate) fn bytes(&self) -> u64 {
        let offsets = self.own.len() * self.offsets * size_of::<usize>();
        (4 * (self.floats + LINE) + offsets) as u64
    }
}
