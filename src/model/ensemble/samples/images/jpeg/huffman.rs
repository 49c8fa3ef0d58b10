//! Huffman codes of a JPEG.

use super::bits::BitReader;
use super::error::{JpegError, ScanFault};

/// The maximum length of codes that one table lookup decodes.
const SHORT: usize = 9;

/// A table of Huffman codes and their symbols.
pub(super) struct HuffmanTable {
    /// For the next bits: the symbol and, above it, the length of its code, or 0 for a longer code.
    short: [u16; 1 << SHORT],
    /// For each length: the first 16 bits after all codes up to this length.
    ends: [usize; 17],
    /// For each length: the offset from a code to its symbol.
    offsets: [usize; 17],
    symbols: [u8; 256],
}

impl HuffmanTable {
    /// Returns the table with `counts` codes of each length from 1 to 16.
    pub(super) fn new(counts: &[u8; 16], symbols: &[u8]) -> Result<Self, JpegError> {
        let mut table = HuffmanTable {
            short: [0; 1 << SHORT],
            ends: [0; 17],
            offsets: [0; 17],
            symbols: [0; 256],
        };
        let room = table.symbols.get_mut(..symbols.len());
        room.ok_or_else(JpegError::codes)?.copy_from_slice(symbols);
        let (mut code, mut at) = (0_usize, 0_usize);
        for length in 1..=16 {
            let count = usize::from(counts[length - 1]);
            table.offsets[length] = at.wrapping_sub(code);
            table.fill_short(length, code, &symbols[at..at + count]);
            (code, at) = (code + count, at + count);
            if code > 1 << length {
                return Err(JpegError::codes());
            }
            table.ends[length] = code << (16 - length);
            code <<= 1;
        }
        Ok(table)
    }

    fn fill_short(&mut self, length: usize, code: usize, symbols: &[u8]) {
        if length <= SHORT {
            let span = 1 << (SHORT - length);
            let entries = self.short.iter_mut().skip(code * span);
            let symbols = symbols.iter().flat_map(|s| std::iter::repeat_n(*s, span));
            for (entry, symbol) in entries.zip(symbols) {
                *entry = (length as u16) << 8 | u16::from(symbol);
            }
        }
    }

    /// Reads a code and returns its symbol.
    #[inline]
    pub(super) fn symbol(&self, bits: &mut BitReader<'_>) -> Result<u8, ScanFault> {
        let next = bits.next_16();
        let entry = self.short[next >> (16 - SHORT)];
        if entry == 0 {
            return self.long_symbol(bits, next);
        }
        bits.skip(u32::from(entry >> 8));
        Ok(entry as u8)
    }

    #[cold]
    fn long_symbol(&self, bits: &mut BitReader<'_>, next: usize) -> Result<u8, ScanFault> {
        let length = (SHORT + 1..=16).find(|length| next < self.ends[*length]);
        let length = length.ok_or(ScanFault::Code)?;
        bits.skip(length as u32);
        let at = (next >> (16 - length)).wrapping_add(self.offsets[length]);
        self.symbols.get(at).copied().ok_or(ScanFault::Code)
    }
}
