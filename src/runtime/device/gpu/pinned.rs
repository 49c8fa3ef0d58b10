//! Host memory that samples lie in: ordinary, or page-locked so that a GPU's copy engines
//! read it directly while the processor goes on.

use std::fmt;
use std::sync::Arc;

/// Page-locked memory as its owner allocated it; freed when dropped.
pub trait PinnedMemory: Send + Sync + fmt::Debug {
    /// Its first value; aligned for `f32`.
    fn pointer(&self) -> *mut f32;
    /// How many values, all of them initialised.
    fn floats(&self) -> usize;
}

/// Page-locked memory: the processor's access goes through this one owner, copy engines'
/// through [`HostSlice`]s of it.
#[derive(Debug)]
pub struct PinnedBlock {
    memory: Arc<dyn PinnedMemory>,
}

impl PinnedBlock {
    /// The owner of `memory`.
    pub fn new(memory: Arc<dyn PinnedMemory>) -> Self {
        PinnedBlock { memory }
    }

    /// The values.
    #[allow(unsafe_code, reason = "memory of a driver")]
    pub fn values(&self) -> &[f32] {
        // SAFETY: the memory is valid and initialised for as long as it lives, and only
        // its one owner gives references to it. A copy engine that writes to what is
        // being read is the caller's mistake and shows as wrong values.
        unsafe { std::slice::from_raw_parts(self.memory.pointer(), self.memory.floats()) }
    }

    /// The values, to write.
    #[allow(unsafe_code, reason = "memory of a driver")]
    pub fn values_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and the owner is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.pointer(), self.memory.floats()) }
    }

    /// `floats` values from `first` on, for a copy engine.
    pub fn slice(&self, first: usize, floats: usize) -> HostSlice {
        assert!(first + floats <= self.memory.floats(), "within the block");
        HostSlice {
            memory: Arc::clone(&self.memory),
            first,
            floats,
        }
    }
}

/// Where a copy engine reads or writes; keeps the memory alive.
#[derive(Clone, Debug)]
pub struct HostSlice {
    memory: Arc<dyn PinnedMemory>,
    first: usize,
    floats: usize,
}

impl HostSlice {
    /// Its first value.
    pub fn pointer(&self) -> *mut f32 {
        self.memory.pointer().wrapping_add(self.first)
    }

    /// How many values.
    pub fn floats(&self) -> usize {
        self.floats
    }

    /// The same in bytes.
    pub fn bytes(&self) -> usize {
        self.floats * size_of::<f32>()
    }
}

/// A block of the sample pool in host memory.
#[derive(Debug)]
pub enum HostBuffer {
    Ordinary(Vec<f32>),
    Pinned(PinnedBlock),
}

impl Default for HostBuffer {
    fn default() -> Self {
        HostBuffer::Ordinary(Vec::new())
    }
}

impl HostBuffer {
    /// The values.
    pub fn values(&self) -> &[f32] {
        match self {
            HostBuffer::Ordinary(values) => values,
            HostBuffer::Pinned(block) => block.values(),
        }
    }

    /// The values, to write.
    pub fn values_mut(&mut self) -> &mut [f32] {
        match self {
            HostBuffer::Ordinary(values) => values,
            HostBuffer::Pinned(block) => block.values_mut(),
        }
    }

    /// The block that copy engines can read, if it is one.
    pub fn pinned(&self) -> Option<&PinnedBlock> {
        match self {
            HostBuffer::Ordinary(_) => None,
            HostBuffer::Pinned(block) => Some(block),
        }
    }
}
