//! Host memory for samples: ordinary, or page-locked. The copy engines of a GPU read page-locked
//! memory directly while the processor continues.

use std::fmt;
use std::sync::Arc;

/// An allocation of page-locked memory, freed when dropped.
pub trait PinnedMemory: Send + Sync + fmt::Debug {
    /// Returns the address of the first value, aligned for `f32`.
    fn pointer(&self) -> *mut f32;
    /// Returns the number of values; all are initialised.
    fn floats(&self) -> usize;
}

/// The one owner of page-locked memory. The processor reads and writes through it; copy
/// engines read and write through [`HostSlice`]s.
#[derive(Debug)]
pub struct PinnedBlock {
    memory: Arc<dyn PinnedMemory>,
}

impl PinnedBlock {
    /// Creates the owner of `memory`.
    pub fn new(memory: Arc<dyn PinnedMemory>) -> Self {
        PinnedBlock { memory }
    }

    /// Returns the values.
    #[allow(unsafe_code, reason = "memory of a driver")]
    pub fn values(&self) -> &[f32] {
        // SAFETY: the memory is valid and initialised for its lifetime, and only its single owner
        // lends references to it. A copy engine that writes to borrowed memory is a bug of the
        // caller and produces wrong values.
        unsafe { std::slice::from_raw_parts(self.memory.pointer(), self.memory.floats()) }
    }

    /// Returns the values, to write.
    #[allow(unsafe_code, reason = "memory of a driver")]
    pub fn values_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and the owner is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.pointer(), self.memory.floats()) }
    }

    /// Returns `floats` values from `first` on, for a copy engine.
    pub fn slice(&self, first: usize, floats: usize) -> HostSlice {
        assert!(first + floats <= self.memory.floats(), "within the block");
        HostSlice {
            memory: Arc::clone(&self.memory),
            first,
            floats,
        }
    }
}

/// A part of page-locked memory for a copy engine, which it keeps alive.
#[derive(Clone, Debug)]
pub struct HostSlice {
    memory: Arc<dyn PinnedMemory>,
    first: usize,
    floats: usize,
}

impl HostSlice {
    /// Returns the address of the first value.
    pub fn pointer(&self) -> *mut f32 {
        self.memory.pointer().wrapping_add(self.first)
    }

    /// Returns the number of values.
    pub fn floats(&self) -> usize {
        self.floats
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> usize {
        self.floats * size_of::<f32>()
    }
}

/// A block of the sample pool in host memory.
#[derive(Debug)]
pub enum HostBuffer {
    /// Memory of the process, which a driver copies before a GPU can read it.
    Ordinary(Vec<f32>),
    /// Page-locked memory.
    Pinned(PinnedBlock),
}

impl Default for HostBuffer {
    fn default() -> Self {
        HostBuffer::Ordinary(Vec::new())
    }
}

impl HostBuffer {
    /// Returns the values.
    pub fn values(&self) -> &[f32] {
        match self {
            HostBuffer::Ordinary(values) => values,
            HostBuffer::Pinned(block) => block.values(),
        }
    }

    /// Returns the values, to write.
    pub fn values_mut(&mut self) -> &mut [f32] {
        match self {
            HostBuffer::Ordinary(values) => values,
            HostBuffer::Pinned(block) => block.values_mut(),
        }
    }

    /// Returns the block that copy engines can read, or `None` if the memory is ordinary.
    pub fn pinned(&self) -> Option<&PinnedBlock> {
        match self {
            HostBuffer::Ordinary(_) => None,
            HostBuffer::Pinned(block) => Some(block),
        }
    }
}
