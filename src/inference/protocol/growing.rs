//! Growable bytes of up to many megabytes.

use std::io::{self, Write};

use bytes::Bytes;
use memmap2::MmapMut;

/// The size from which bytes are in their own mapping.
const MAPPED: usize = 4 << 20;

/// Growable bytes. From 4 MiB on they are in a mapping, which is released when the last reference
/// is dropped on any thread. The allocator (mimalloc 2) would keep memory dropped by another thread
/// until the allocating thread allocates again, which an idle thread never does.
#[derive(Debug, Default)]
pub struct GrowingBytes(BytePlace);

/// The location of the bytes.
#[derive(Debug)]
enum BytePlace {
    /// Allocated bytes: few, or the system refused a mapping.
    Allocated(Vec<u8>),
    /// Bytes in a mapping.
    Mapped(MappedBytes),
}

/// The used part of a mapping.
#[derive(Debug)]
struct MappedBytes {
    map: MmapMut,
    len: usize,
}

impl AsRef<[u8]> for MappedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.map[..self.len]
    }
}

impl Default for BytePlace {
    fn default() -> Self {
        BytePlace::Allocated(Vec::new())
    }
}

impl GrowingBytes {
    /// Creates empty bytes that can grow to `bytes` bytes without moving, unless the system refuses
    /// a mapping.
    pub fn with_capacity(bytes: usize) -> Self {
        GrowingBytes(match mapping(bytes) {
            Some(map) => BytePlace::Mapped(MappedBytes { map, len: 0 }),
            None => BytePlace::Allocated(Vec::with_capacity(bytes.min(MAPPED))),
        })
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.as_ref().is_empty()
    }

    /// Returns the number of bytes that fit without moving.
    pub fn capacity(&self) -> usize {
        match &self.0 {
            BytePlace::Allocated(bytes) => bytes.capacity(),
            BytePlace::Mapped(bytes) => bytes.map.len(),
        }
    }

    /// Reserves memory for more bytes.
    pub fn reserve(&mut self, more: usize) {
        if !self.fits(more) {
            self.grow(more);
        } else if let BytePlace::Allocated(bytes) = &mut self.0 {
            bytes.reserve_exact(more);
        }
    }

    /// Appends bytes.
    #[inline]
    pub fn extend_from_slice(&mut self, more: &[u8]) {
        if !self.fits(more.len()) {
            self.grow(more.len());
        }
        match &mut self.0 {
            BytePlace::Allocated(bytes) => bytes.extend_from_slice(more),
            BytePlace::Mapped(MappedBytes { map, len }) => {
                map[*len..*len + more.len()].copy_from_slice(more);
                *len += more.len();
            }
        }
    }

    /// Appends numbers as little-endian bytes.
    pub fn extend_floats(&mut self, floats: &[f32]) {
        match cfg!(target_endian = "little") {
            true => self.extend_from_slice(bytemuck::cast_slice(floats)),
            false => {
                let each = floats.iter().map(|value| value.to_le_bytes());
                each.for_each(|bytes| self.extend_from_slice(&bytes));
            }
        }
    }

    /// Returns the bytes without copying them.
    pub fn freeze(self) -> Bytes {
        match self.0 {
            BytePlace::Allocated(bytes) => bytes.into(),
            BytePlace::Mapped(bytes) => Bytes::from_owner(bytes),
        }
    }

    #[inline]
    fn fits(&self, more: usize) -> bool {
        match &self.0 {
            BytePlace::Allocated(bytes) => {
                bytes.len() + more < MAPPED || more <= bytes.capacity() - bytes.len()
            }
            BytePlace::Mapped(bytes) => more <= bytes.map.len() - bytes.len,
        }
    }

    /// Moves to a larger mapping, or to allocated memory if the system refuses one.
    #[cold]
    fn grow(&mut self, more: usize) {
        let len = self.len();
        let needed = (len + more).max(2 * len);
        if let Some(mut map) = mapping(needed) {
            map[..len].copy_from_slice(self.as_ref());
            self.0 = BytePlace::Mapped(MappedBytes { map, len });
            return;
        }
        match &mut self.0 {
            BytePlace::Allocated(bytes) => bytes.reserve(more),
            BytePlace::Mapped(bytes) => {
                let mut allocated = Vec::with_capacity(needed);
                allocated.extend_from_slice(bytes.as_ref());
                self.0 = BytePlace::Allocated(allocated);
            }
        }
    }
}

impl AsRef<[u8]> for GrowingBytes {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            BytePlace::Allocated(bytes) => bytes,
            BytePlace::Mapped(bytes) => bytes.as_ref(),
        }
    }
}

impl Write for GrowingBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns zeroed memory, or `None` if it is small or the system refuses.
fn mapping(bytes: usize) -> Option<MmapMut> {
    (bytes >= MAPPED).then(|| MmapMut::map_anon(bytes).ok())?
}

#[cfg(test)]
#[path = "../../../tests/inference/units/protocol/growing.rs"]
mod tests;
