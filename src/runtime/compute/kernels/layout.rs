//! The layout of the single allocation of a batch.

use std::ops::Range;

/// The ranges of floats in the allocation, each starting at a cache line.
#[derive(Clone, Debug)]
pub(in crate::compute) struct ArenaLayout {
    pub slots: Vec<Range<usize>>,
    /// The places of bytes that represent 0 outside of an image, other than zero bytes, and their
    /// value.
    pub borders: Vec<(u8, Range<usize>)>,
    /// Whether each chunk uses the slot again.
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
    /// Returns where the values outside of an image begin, for numbers whose 0 has these bits.
    pub(super) fn border(&self, zero_point: u8) -> usize {
        let mut borders = self.borders.iter();
        let found = borders.find(|(byte, _)| *byte == zero_point);
        // The allocation begins with zeros.
        found.map_or(0, |(_, floats)| floats.start)
    }

    /// Writes the values outside of images: first `zeros` zeros.
    pub(crate) fn fill_borders(&self, zeros: usize, floats: &mut [f32]) {
        floats[..zeros].fill(0.0);
        for (byte, range) in &self.borders {
            floats[range.clone()].fill(f32::from_bits(u32::from_ne_bytes([*byte; 4])));
        }
    }

    /// Returns the bytes of the offsets of all threads, which are not in the allocation.
    pub(crate) fn offset_bytes(&self) -> usize {
        self.own.len() * self.offsets * size_of::<usize>()
    }
}
