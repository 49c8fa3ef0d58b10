//! Lines on their way to a file. Each of them is written whole, or it is lost and counted; never both.

use std::collections::VecDeque;
use std::io::{self, Write};

/// Bytes from which on lines are written.
const FULL: usize = 8 << 10;

/// Lines that are written together.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// Where each line ends, in order.
    ends: VecDeque<usize>,
    /// Whether the beginning of the first line was written before.
    is_begun: bool,
}

/// Lines could not be written, and are not written later.
#[derive(Debug)]
pub struct LostLines {
    /// How many lines were lost.
    pub lines: u64,
    /// The reason.
    pub error: io::Error,
}

impl LineBuffer {
    /// Adds a line, which has its line feed.
    pub fn push(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
        self.ends.push_back(self.bytes.len());
    }

    /// Returns whether there are so many lines that they should be written.
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

    /// Writes all lines. The rest of a line whose beginning was written stays, so that it becomes
    /// whole once there is room again.
    ///
    /// # Errors
    /// The lines that could not be written; they are gone then.
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

    /// Forgets bytes that were written.
    fn advance(&mut self, count: usize) {
        self.bytes.drain(..count);
        let mut last = None;
        while let Some(end) = self.ends.pop_front_if(|end| *end <= count) {
            last = Some(end);
        }
        self.is_begun = last != Some(count);
        self.ends.iter_mut().for_each(|end| *end -= count);
    }

    /// Forgets the lines of which nothing was written.
    fn lose(&mut self, error: io::Error) -> LostLines {
        let kept = usize::from(self.is_begun).min(self.ends.len());
        let lines = (self.ends.len() - kept) as u64;
        self.ends.truncate(kept);
        self.bytes.truncate(self.ends.back().copied().unwrap_or(0));
        LostLines { lines, error }
    }
}
