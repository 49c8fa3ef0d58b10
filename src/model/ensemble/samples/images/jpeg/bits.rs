//! The bits of a scan's data.

use super::error::{JpegError, ScanFault};
use super::segments::Segments;

/// Reads the bits of a scan's data, the highest bit of a byte first. Zeros follow the last data
/// bit; `is_beyond` distinguishes them from data.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The next bits, from the top.
    bits: u64,
    /// The number of data bits among them; below 0 if more bits were read than exist.
    count: i32,
    is_at_end: bool,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        BitReader {
            bytes,
            at: 0,
            bits: 0,
            count: 0,
            is_at_end: false,
        }
    }

    /// Makes at least 32 bits available.
    #[inline]
    pub(super) fn fill(&mut self) {
        if self.count < 32 && !self.is_at_end {
            let next = self.bytes.get(self.at..).and_then(|b| b.first_chunk());
            match next.map(|next| u32::from_be_bytes(*next)) {
                Some(next) if !has_ones(next) => {
                    self.bits |= u64::from(next) << (32 - self.count);
                    self.count += 32;
                    self.at += 4;
                }
                _ => self.fill_by_byte(),
            }
        }
    }

    #[cold]
    fn fill_by_byte(&mut self) {
        while self.count <= 56 {
            let Some(byte) = self.byte() else {
                self.is_at_end = true;
                return;
            };
            self.bits |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    /// Returns the next byte of data, or `None` at a marker. A byte of ones is followed by zeros,
    /// or it begins a marker.
    fn byte(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.at..)?;
        let ones = rest.iter().take_while(|b| **b == 0xff).count();
        match (ones, rest.get(ones)?) {
            (0, _) => self.at += 1,
            (_, 0) => self.at += ones + 1,
            _ => return None,
        }
        Some(if ones == 0 { rest[0] } else { 0xff })
    }

    /// Returns the next 16 bits without reading them.
    #[inline]
    pub(super) fn next_16(&self) -> usize {
        (self.bits >> 48) as usize
    }

    /// Reads `count` bits, at most 16.
    #[inline]
    pub(super) fn skip(&mut self, count: u32) {
        self.bits <<= count;
        self.count -= count as i32;
    }

    /// Reads a number of `count` bits, at most 16.
    #[inline]
    pub(super) fn number(&mut self, count: u32) -> i32 {
        let number = (self.bits >> 32) >> (32 - count);
        self.skip(count);
        number as i32
    }

    /// Reads a number of `count` bits, at most 16, whose first bit is its sign.
    #[inline]
    pub(super) fn signed(&mut self, count: u32) -> i32 {
        let number = self.number(count);
        if number < (1 << count) >> 1 {
            number - (1 << count) + 1
        } else {
            number
        }
    }

    /// Returns whether more bits were read than exist.
    #[inline]
    pub(super) fn is_beyond(&self) -> bool {
        self.count < 0
    }

    /// Returns the reason why bits could not be read: an error in them, or the end of the data.
    #[cold]
    pub(super) fn or_end(&self, error: ScanFault) -> JpegError {
        match self.is_at_end && self.count < 16 {
            true => self.end(),
            false => JpegError::Scan(error),
        }
    }

    /// Returns the reason why there are no more bits: the end of the file or of the scan.
    #[cold]
    pub(super) fn end(&self) -> JpegError {
        match self.marker() {
            Some(_) => JpegError::Scan(ScanFault::End),
            None => JpegError::Cut,
        }
    }

    /// Returns the marker at which the data end.
    fn marker(&self) -> Option<&u8> {
        self.bytes.get(self.at..)?.iter().find(|b| **b != 0xff)
    }

    /// Continues after the restart marker with this number, which must be the next marker. Data
    /// before the marker are skipped, as in libjpeg.
    pub(super) fn restart(&mut self, number: u8) -> Result<(), JpegError> {
        let mut segments = Segments::from_rest(self.rest());
        if segments.marker()? != 0xd0 + number {
            let wrong = format_args!("a scan is damaged: expected marker RST{number}");
            return Err(JpegError::new(wrong));
        }
        *self = BitReader::new(segments.rest());
        Ok(())
    }

    /// Returns the bytes from the marker that ends the data.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }
}

/// Returns whether one of four bytes has only ones.
#[inline]
fn has_ones(bytes: u32) -> bool {
    let zeros = !bytes;
    zeros.wrapping_sub(0x0101_0101) & !zeros & 0x8080_8080 != 0
}
