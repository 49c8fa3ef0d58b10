//! Bytes that may become many megabytes.

use std::io::{self, Write};

use bytes::Bytes;
use memmap2::MmapMut;

/// The size from which on bytes lie in a mapping of their own.
const MAPPED: usize = 4 << 20;

/// Bytes that grow. From 4 MiB on they lie in a mapping, which the last reader's drop releases on
/// any thread. The allocator (mimalloc 2) keeps memory that another thread drops until the thread
/// that allocated it allocates again, which an idle thread never does.
#[derive(Debug)]
pub(crate) enum GrowingBytes {
    /// Bytes of the allocator: they are few, or the system refused a mapping.
    Allocated(Vec<u8>),
    /// Bytes of a mapping.
    Mapped(MappedBytes),
}

/// The first bytes of a mapping.
#[derive(Debug)]
pub(crate) struct MappedBytes {
    map: MmapMut,
    len: usize,
}

impl AsRef<[u8]> for MappedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.map[..self.len]
    }
}

impl Default for GrowingBytes {
    fn default() -> Self {
        GrowingBytes::Allocated(Vec::new())
    }
}

impl GrowingBytes {
    /// Returns an empty one that takes `bytes` bytes without moving them, unless the system makes no
    /// mapping for them.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        match mapping(bytes) {
            Some(map) => GrowingBytes::Mapped(MappedBytes { map, len: 0 }),
            None => GrowingBytes::Allocated(Vec::with_capacity(bytes.min(MAPPED))),
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// Returns how many bytes there can be without moving them.
    pub(crate) fn capacity(&self) -> usize {
        match self {
            GrowingBytes::Allocated(bytes) => bytes.capacity(),
            GrowingBytes::Mapped(bytes) => bytes.map.len(),
        }
    }

    /// Takes memory for more bytes.
    pub(crate) fn reserve(&mut self, more: usize) {
        match self {
            _ if !self.fits(more) => self.grow(more),
            GrowingBytes::Allocated(bytes) => bytes.reserve_exact(more),
            GrowingBytes::Mapped(_) => {}
        }
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn extend_from_slice(&mut self, more: &[u8]) {
        if !self.fits(more.len()) {
            self.grow(more.len());
        }
        match self {
            GrowingBytes::Allocated(bytes) => bytes.extend_from_slice(more),
            GrowingBytes::Mapped(MappedBytes { map, len }) => {
                map[*len..*len + more.len()].copy_from_slice(more);
                *len += more.len();
            }
        }
    }

    /// Appends numbers as little-endian bytes.
    pub(crate) fn extend_floats(&mut self, floats: &[f32]) {
        match cfg!(target_endian = "little") {
            true => self.extend_from_slice(bytemuck::cast_slice(floats)),
            false => {
                let each = floats.iter().map(|value| value.to_le_bytes());
                each.for_each(|bytes| self.extend_from_slice(&bytes));
            }
        }
    }

    /// Returns the bytes, which are not copied.
    pub(crate) fn freeze(self) -> Bytes {
        match self {
            GrowingBytes::Allocated(bytes) => bytes.into(),
            GrowingBytes::Mapped(bytes) => Bytes::from_owner(bytes),
        }
    }

    #[inline]
    fn fits(&self, more: usize) -> bool {
        match self {
            GrowingBytes::Allocated(bytes) => {
                bytes.len() + more < MAPPED || more <= bytes.capacity() - bytes.len()
            }
            GrowingBytes::Mapped(bytes) => more <= bytes.map.len() - bytes.len,
        }
    }

    /// Moves to a larger mapping, or to the allocator's memory if the system makes none.
    #[cold]
    fn grow(&mut self, more: usize) {
        let len = self.len();
        let needed = (len + more).max(2 * len);
        if let Some(mut map) = mapping(needed) {
            map[..len].copy_from_slice(self.as_ref());
            *self = GrowingBytes::Mapped(MappedBytes { map, len });
            return;
        }
        match self {
            GrowingBytes::Allocated(bytes) => bytes.reserve(more),
            GrowingBytes::Mapped(bytes) => {
                let mut allocated = Vec::with_capacity(needed);
                allocated.extend_from_slice(bytes.as_ref());
                *self = GrowingBytes::Allocated(allocated);
            }
        }
    }
}

impl AsRef<[u8]> for GrowingBytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            GrowingBytes::Allocated(bytes) => bytes,
            GrowingBytes::Mapped(bytes) => bytes.as_ref(),
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

/// Returns zeros of the system, or `None` if these are few bytes or it has none.
fn mapping(bytes: usize) -> Option<MmapMut> {
    (bytes >= MAPPED).then(|| MmapMut::map_anon(bytes).ok())?
}

#[cfg(test)]
mod tests {
    use super::{GrowingBytes, MAPPED};

    #[test]
    fn bytes_stay_as_they_are_however_many_they_become() {
        let piece: Vec<u8> = (0..=250).collect();
        for pieces in [0, 1, 16_000, 80_000] {
            for mut bytes in [GrowingBytes::default(), GrowingBytes::with_capacity(MAPPED)] {
                (0..pieces).for_each(|_| bytes.extend_from_slice(&piece));
                assert_eq!(bytes.freeze(), piece.repeat(pieces), "{pieces}");
            }
        }
    }

    #[test]
    fn many_bytes_have_a_mapping_of_their_own() {
        let mut bytes = GrowingBytes::default();
        bytes.extend_from_slice(&vec![1; MAPPED - 1]);
        assert!(matches!(bytes, GrowingBytes::Allocated(_)));
        bytes.extend_from_slice(&[1]);
        assert!(matches!(bytes, GrowingBytes::Mapped(_)));
    }
}
