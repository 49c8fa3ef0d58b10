//! The numbers of an answer.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// The size from which numbers lie in a mapping of their own, in bytes.
const MAPPED: usize = 4 << 20;

/// The numbers of an answer. From 4 MiB on they lie in a memory mapping, which any thread can
/// release. The allocator would keep memory dropped by another thread until the allocating thread
/// allocates again, and threads that compute answers may be idle for long.
#[derive(Debug)]
pub struct AnswerFloats(AnswerMemory);

#[derive(Debug)]
enum AnswerMemory {
    Allocated(Vec<f32>),
    Mapped(MmapMut),
}

impl AnswerFloats {
    /// Returns `count` zeros.
    pub fn zeroed(count: usize) -> Self {
        let bytes = count.saturating_mul(size_of::<f32>());
        let map = (bytes >= MAPPED).then(|| MmapMut::map_anon(bytes).ok());
        AnswerFloats(match map.flatten() {
            Some(map) => AnswerMemory::Mapped(map),
            None => AnswerMemory::Allocated(vec![0.0; count]),
        })
    }

    /// Returns the numbers as a vector, copied if they are many.
    pub fn into_vec(self) -> Vec<f32> {
        match self.0 {
            AnswerMemory::Allocated(values) => values,
            AnswerMemory::Mapped(map) => bytemuck::cast_slice(&map[..]).to_vec(),
        }
    }
}

impl Default for AnswerFloats {
    fn default() -> Self {
        AnswerFloats(AnswerMemory::Allocated(Vec::new()))
    }
}

/// Copies many numbers into a mapping.
impl From<Vec<f32>> for AnswerFloats {
    fn from(values: Vec<f32>) -> Self {
        if size_of_val(&values[..]) < MAPPED {
            return AnswerFloats(AnswerMemory::Allocated(values));
        }
        let mut floats = AnswerFloats::zeroed(values.len());
        floats.copy_from_slice(&values);
        floats
    }
}

impl Clone for AnswerFloats {
    fn clone(&self) -> Self {
        let mut floats = AnswerFloats::zeroed(self.len());
        floats.copy_from_slice(self);
        floats
    }
}

impl PartialEq for AnswerFloats {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Deref for AnswerFloats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match &self.0 {
            AnswerMemory::Allocated(values) => values,
            AnswerMemory::Mapped(map) => bytemuck::cast_slice(&map[..]),
        }
    }
}

impl DerefMut for AnswerFloats {
    fn deref_mut(&mut self) -> &mut [f32] {
        match &mut self.0 {
            AnswerMemory::Allocated(values) => values,
            AnswerMemory::Mapped(map) => bytemuck::cast_slice_mut(&mut map[..]),
        }
    }
}
