//! Splits a JPEG into markers and their segments.

use super::error::JpegError;

/// The bytes of a JPEG that are not read yet.
pub(super) struct Segments<'a>(&'a [u8]);

impl<'a> Segments<'a> {
    /// Begins after the start marker of a JPEG.
    pub(super) fn of_file(bytes: &'a [u8]) -> Self {
        Segments(bytes.get(2..).unwrap_or_default())
    }

    /// Begins in the middle of a JPEG.
    pub(super) fn from_rest(rest: &'a [u8]) -> Self {
        Segments(rest)
    }

    /// Returns the next marker and moves past it. Bytes before it are skipped, as in libjpeg,
    /// because some cameras pad their segments.
    pub(super) fn marker(&mut self) -> Result<u8, JpegError> {
        loop {
            let ones = self.0.iter().position(|b| *b == 0xff);
            let rest = &self.0[ones.ok_or(JpegError::Cut)?..];
            let code = rest.iter().position(|b| *b != 0xff);
            let code = code.ok_or(JpegError::Cut)?;
            self.0 = &rest[code + 1..];
            if rest[code] != 0 {
                return Ok(rest[code]);
            }
        }
    }

    /// Returns the content of a marker's segment and moves past it.
    pub(super) fn content(&mut self, marker: u8) -> Result<&'a [u8], JpegError> {
        let &[high, low, ..] = self.0 else {
            return Err(JpegError::Cut);
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if self.0.len() < length {
            return Err(JpegError::Cut);
        }
        let (segment, rest) = self.0.split_at(length);
        self.0 = rest;
        segment.get(2..).ok_or_else(|| JpegError::segment(marker))
    }

    /// Returns the unread bytes.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }
}
