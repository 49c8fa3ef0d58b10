//! Buffered lines for a file. Each line is either written completely or lost and counted.

use std::collections::VecDeque;
use std::io::{self, Write};

/// The bytes from which lines are written.
const FULL: usize = 8 << 10;

/// A buffer of lines.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// The end of each line, in order.
    ends: VecDeque<usize>,
    /// Whether a part of the first line was written.
    is_begun: bool,
}

/// Lines that could not be written and are lost.
#[derive(Debug)]
pub struct LostLines {
    /// The number of lost lines.
    pub lines: u64,
    /// The reason.
    pub error: io::Error,
}

impl LineBuffer {
    /// Adds a line with its line feed.
    pub fn push(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
        self.ends.push_back(self.bytes.len());
    }

    /// Returns whether the lines should be written.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    /// Returns the number of lines that are neither written nor lost.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether all lines were written or lost.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Writes all lines. The rest of a partly written line is kept until it can be written.
    ///
    /// # Errors
    /// Returns the lines that could not be written, which are lost.
    pub fn write_to(&mut self, to: &mut impl Write) -> Result<(), LostLines> {
        while !self.bytes.is_empty() {
            match to.write(&self.bytes) {
                Ok(0) => return Err(self.lose(io::ErrorKind::WriteZero.into())),
                Ok(count) => self.advance(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lose(error)),
            }
        }
        Ok(())
    }

    /// Removes written bytes.
    fn advance(&mut self, count: usize) {
        self.bytes.drain(..count);
        let mut last = None;
        while let Some(end) = self.ends.pop_front_if(|end| *end <= count) {
            last = Some(end);
        }
        self.is_begun = last != Some(count);
        self.ends.iter_mut().for_each(|end| *end -= count);
    }

    /// Drops the lines of which no byte was written.
    fn lose(&mut self, error: io::Error) -> LostLines {
        let kept = usize::from(self.is_begun).min(self.ends.len());
        let lines = (self.ends.len() - kept) as u64;
        self.ends.truncate(kept);
        self.bytes.truncate(self.ends.back().copied().unwrap_or(0));
        LostLines { lines, error }
    }
}
