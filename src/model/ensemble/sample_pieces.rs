//! The values of samples in several pieces of memory, as a large network request arrives: float32
//! in little-endian bytes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::sample_values::SampleValues;

/// Immutable memory with any owner.
pub type SharedMemory = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The number of bytes of a value.
const SIZE: usize = size_of::<f32>();

/// A piece of memory with complete values.
#[derive(Clone)]
pub struct SamplePiece {
    memory: SharedMemory,
    bytes: Range<usize>,
    /// The number of values in the pieces before it.
    first: usize,
}

impl SamplePiece {
    /// Returns the values of all memories, concatenated. A value that spans two memories is copied.
    /// An incomplete value at the end is dropped.
    pub fn from_memories(memories: impl IntoIterator<Item = SharedMemory>) -> Arc<[SamplePiece]> {
        let mut cut = PieceCutter::default();
        memories.into_iter().for_each(|memory| cut.take(memory));
        cut.pieces.into()
    }

    /// Returns its values.
    pub fn values(&self) -> SampleValues<'_> {
        let bytes = (*self.memory).as_ref().get(self.bytes.clone());
        SampleValues::of_bytes(bytes.unwrap_or_default())
    }

    fn end(&self) -> usize {
        self.first + self.bytes.len() / SIZE
    }
}

impl fmt::Debug for SamplePiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.first..self.end();
        f.debug_tuple("SamplePiece").field(&values).finish()
    }
}

/// Cuts memories into pieces of complete values.
#[derive(Default)]
struct PieceCutter {
    pieces: Vec<SamplePiece>,
    /// The first bytes of an incomplete value.
    begun: Vec<u8>,
}

impl PieceCutter {
    fn take(&mut self, memory: SharedMemory) {
        let bytes = (*memory).as_ref();
        let length = bytes.len();
        // A complete value takes no more bytes.
        let missing = (SIZE - self.begun.len()) % SIZE;
        let from = missing.min(length);
        self.begun.extend_from_slice(&bytes[..from]);
        if self.begun.len() == SIZE {
            let value = std::mem::take(&mut self.begun);
            self.push(Arc::new(value), 0..SIZE);
        }
        let whole = (length - from) / SIZE * SIZE;
        self.begun.extend_from_slice(&bytes[from + whole..]);
        self.push(memory, from..from + whole);
    }

    fn push(&mut self, memory: SharedMemory, bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let first = self.pieces.last().map_or(0, SamplePiece::end);
        self.pieces.push(SamplePiece {
            memory,
            bytes,
            first,
        });
    }
}

/// Some of the values in pieces.
#[derive(Clone, Copy, Debug)]
pub struct PiecedValues<'a> {
    pieces: &'a [SamplePiece],
    from: usize,
    to: usize,
}

impl<'a> PiecedValues<'a> {
    /// Returns all values of pieces, as [`SamplePiece::from_memories`] makes them.
    pub(super) fn from_pieces(pieces: &'a [SamplePiece]) -> Self {
        PiecedValues {
            pieces,
            from: 0,
            to: pieces.last().map_or(0, SamplePiece::end),
        }
    }

    /// Returns the number of values.
    pub(super) fn len(self) -> usize {
        self.to - self.from
    }

    /// Returns a range of values, or `None` if the range is out of bounds.
    pub(super) fn get(self, range: Range<usize>) -> Option<Self> {
        let fits = range.start <= range.end && range.end <= self.len();
        fits.then(|| PiecedValues {
            pieces: self.pieces,
            from: self.from + range.start,
            to: self.from + range.end,
        })
    }

    /// Iterates over the values of each piece, in order.
    pub(super) fn runs(self) -> impl Iterator<Item = SampleValues<'a>> {
        let first = self.pieces.partition_point(|p| p.end() <= self.from);
        let pieces = self.pieces.iter().skip(first);
        let pieces = pieces.take_while(move |piece| piece.first < self.to);
        pieces.filter_map(move |piece| {
            let from = self.from.max(piece.first) - piece.first;
            let to = self.to.min(piece.end()) - piece.first;
            piece.values().get(from..to)
        })
    }
}
