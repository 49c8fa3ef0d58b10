//! Allocations of floats that start at a cache line: weights, and the memory of batches.
//!
//! Large ones are mapped from the system one by one. The system places them next to each other, so
//! huge pages span several allocations and no page is held only for its first bytes. Freed memory
//! returns to the system at once, whichever thread frees it. (The memory of BERT-base: 443 MiB
//! planned, 505 with the allocator, which starts each allocation at its own segment or slice.)

use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::MmapMut;

use crate::compute::ComputeError;

/// Floats of a cache line, which is also the widest vector.
pub(in crate::compute) const LINE: usize = 16;

/// The floats above which a buffer is mapped: 64 KiB. Allocators round sizes up, by up to a fifth
/// above powers of two, and weights of a byte are often slightly above one.
const MAPPED: usize = 1 << 14;

/// An allocation of floats that starts at a cache line.
#[derive(Debug, Default)]
pub(in crate::compute) struct Buffer {
    memory: Memory,
    start: usize,
    len: usize,
}

#[derive(Debug)]
enum Memory {
    Allocated(Vec<f32>),
    Mapped(Mapping),
}

/// Memory of the system.
#[derive(Debug)]
struct Mapping(MmapMut);

/// The bytes of all mappings.
static MAPPED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes of all buffers that are mapped now, which no allocator knows of.
pub fn mapped_bytes() -> usize {
    MAPPED_BYTES.load(Ordering::Relaxed)
}

impl Drop for Mapping {
    fn drop(&mut self) {
        MAPPED_BYTES.fetch_sub(self.0.len(), Ordering::Relaxed);
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory::Allocated(Vec::new())
    }
}

impl Buffer {
    /// Allocates zeros. A large buffer takes memory at its first write.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub(crate) fn zeroed(len: usize) -> Result<Self, ComputeError> {
        let memory = match len < MAPPED {
            true => allocated(len + LINE),
            false => mapped(len),
        };
        let memory = memory.ok_or_else(|| ComputeError::OutOfMemory {
            bytes: len.saturating_mul(4),
        })?;
        let start = match &memory {
            Memory::Allocated(values) => values.as_ptr().align_offset(4 * LINE).min(LINE),
            Memory::Mapped(_) => 0,
        };
        Ok(Buffer { memory, start, len })
    }

    pub(crate) fn values(&self) -> &[f32] {
        let all = match &self.memory {
            Memory::Allocated(values) => values,
            Memory::Mapped(bytes) => bytemuck::cast_slice(&bytes.0),
        };
        &all[self.start..][..self.len]
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        let all = match &mut self.memory {
            Memory::Allocated(values) => values,
            Memory::Mapped(bytes) => bytemuck::cast_slice_mut(&mut bytes.0),
        };
        &mut all[self.start..][..self.len]
    }
}

/// Returns zeros of the allocator, or `None` if memory runs out.
fn allocated(floats: usize) -> Option<Memory> {
    let mut values = Vec::new();
    values.try_reserve_exact(floats).ok()?;
    values.resize(floats, 0.0);
    Some(Memory::Allocated(values))
}

/// Returns zeros from the system, in huge pages if available, or `None` if memory runs out.
fn mapped(floats: usize) -> Option<Memory> {
    let bytes = MmapMut::map_anon(floats.checked_mul(size_of::<f32>())?).ok()?;
    // Without huge pages this is slower but still correct.
    #[cfg(target_os = "linux")]
    let _ = bytes.advise(memmap2::Advice::HugePage);
    MAPPED_BYTES.fetch_add(bytes.len(), Ordering::Relaxed);
    Some(Memory::Mapped(Mapping(bytes)))
}

#[cfg(test)]
#[path = "../../../../tests/runtime/units/compute/kernels/buffer.rs"]
mod tests;
