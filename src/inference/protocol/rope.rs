//! Bytes in their received pieces.

use bytes::{Bytes, BytesMut};

use super::growing::GrowingBytes;

/// Bytes in a sequence of pieces.
#[derive(Clone, Debug, Default)]
pub struct ByteRope {
    first: Bytes,
    rest: Vec<Bytes>,
}

impl From<Bytes> for ByteRope {
    fn from(first: Bytes) -> Self {
        ByteRope {
            first,
            rest: Vec::new(),
        }
    }
}

impl From<Vec<u8>> for ByteRope {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

/// Ropes are equal if their bytes are, whatever their pieces.
impl PartialEq for ByteRope {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.joined() == other.joined()
    }
}

impl Eq for ByteRope {}

impl ByteRope {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.pieces().map(Bytes::len).sum()
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.pieces().all(Bytes::is_empty)
    }

    /// Iterates over the pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// Appends a piece, unless it is empty.
    pub fn push(&mut self, piece: Bytes) {
        match (self.first.is_empty(), piece.is_empty()) {
            (true, _) => self.first = piece,
            (false, false) => self.rest.push(piece),
            (false, true) => {}
        }
    }

    /// Splits off the first `count` bytes, or all if there are fewer.
    #[must_use]
    pub fn split_to(&mut self, count: usize) -> ByteRope {
        let mut taken = ByteRope::default();
        let mut missing = count;
        for mut piece in std::mem::take(self).into_pieces() {
            let now = piece.split_to(missing.min(piece.len()));
            missing -= now.len();
            taken.push(now);
            self.push(piece);
        }
        taken
    }

    fn into_pieces(self) -> impl Iterator<Item = Bytes> {
        std::iter::once(self.first).chain(self.rest)
    }

    /// Returns the bytes in one piece, copied if there are several.
    pub fn joined(&self) -> Bytes {
        if self.rest.is_empty() {
            return self.first.clone();
        }
        let mut all = GrowingBytes::with_capacity(self.len());
        self.pieces().for_each(|piece| all.extend_from_slice(piece));
        all.freeze()
    }
}

/// Gathers received pieces. Small ones are copied together, which limits their number and their
/// memory. All pieces of a very large body are copied into one mapping.
#[derive(Debug, Default)]
pub struct RopeGatherer {
    /// The body, if at least [`LARGE`] bytes were received.
    large: Option<GrowingBytes>,
    /// The announced size of the body in bytes.
    announced: usize,
    whole: ByteRope,
    /// Copied small pieces.
    tail: BytesMut,
    bytes: usize,
}

/// A piece of at least this size is not copied: it is at least half of what is read at once, so
/// that at least half of the memory that it keeps is used.
const STAYS: usize = 32 << 10;

/// The size in bytes from which a body is copied into one mapping.
const LARGE: usize = 16 << 20;

impl RopeGatherer {
    /// Creates a gatherer for a body with an announced size of `bytes`, without allocating.
    pub fn announced(bytes: u64) -> Self {
        RopeGatherer {
            announced: usize::try_from(bytes).unwrap_or(0),
            ..RopeGatherer::default()
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: Bytes) {
        let is_first = self.bytes == 0;
        self.bytes += piece.len();
        if self.bytes >= LARGE {
            return self.large().extend_from_slice(&piece);
        }
        let stays = is_first || piece.len() >= STAYS;
        if stays || self.tail.len() + piece.len() > STAYS {
            self.end_tail();
        }
        match stays {
            true => self.whole.push(piece),
            false => self.tail.extend_from_slice(&piece),
        }
    }

    /// Returns the memory of a large body, after copying the earlier pieces into it.
    fn large(&mut self) -> &mut GrowingBytes {
        if self.large.is_none() {
            self.end_tail();
        }
        self.large.get_or_insert_with(|| {
            let before = std::mem::take(&mut self.whole);
            let mut large = GrowingBytes::with_capacity(self.announced.max(LARGE));
            before
                .pieces()
                .for_each(|piece| large.extend_from_slice(piece));
            large
        })
    }

    fn end_tail(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        self.whole.push(tail.freeze());
    }

    /// Returns all bytes.
    pub fn finish(mut self) -> ByteRope {
        if let Some(large) = self.large {
            return large.freeze().into();
        }
        self.end_tail();
        self.whole
    }
}

#[cfg(test)]
#[path = "../../../tests/inference/units/protocol/rope.rs"]
mod tests;
