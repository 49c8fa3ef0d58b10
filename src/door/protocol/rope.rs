//! Bytes in the pieces in which they were received.

use bytes::{Bytes, BytesMut};

use super::growing::GrowingBytes;

/// Bytes in several pieces, one after another.
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

/// Ropes are equal if their bytes are, however they lie.
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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pieces().all(Bytes::is_empty)
    }

    /// Iterates over the pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// Appends a piece; an empty one is left out.
    pub fn push(&mut self, piece: Bytes) {
        match (self.first.is_empty(), piece.is_empty()) {
            (true, _) => self.first = piece,
            (false, false) => self.rest.push(piece),
            (false, true) => {}
        }
    }

    /// Takes the first `count` bytes off, or all if there are fewer.
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

/// Gathers pieces as they come. Small ones are copied together, so that neither they nor the memory
/// that they lie in are many. All of a very large body are.
#[derive(Debug, Default)]
pub(crate) struct RopeGatherer {
    /// A very large body.
    large: Option<GrowingBytes>,
    whole: ByteRope,
    /// Small pieces, copied.
    tail: BytesMut,
    bytes: usize,
}

/// A piece of as many bytes stays where it is: at least half of what is read at once, so that half of
/// the memory that it keeps is in use.
const STAYS: usize = 32 << 10;

/// A body of as many bytes is copied into memory of its own, which goes back to the system as a whole.
const LARGE: u64 = 16 << 20;

impl RopeGatherer {
    /// Creates one for so many bytes, if they come.
    pub(crate) fn expecting(bytes: u64) -> Self {
        let large = usize::try_from(bytes).ok().filter(|_| bytes >= LARGE);
        RopeGatherer {
            large: large.map(GrowingBytes::with_capacity),
            ..RopeGatherer::default()
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Appends a piece.
    pub(crate) fn push(&mut self, piece: Bytes) {
        if let Some(large) = &mut self.large {
            self.bytes += piece.len();
            return large.extend_from_slice(&piece);
        }
        let stays = self.bytes == 0 || piece.len() >= STAYS;
        self.bytes += piece.len();
        if stays || self.tail.len() + piece.len() > STAYS {
            self.end_tail();
        }
        match stays {
            true => self.whole.push(piece),
            false => self.tail.extend_from_slice(&piece),
        }
    }

    fn end_tail(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        self.whole.push(tail.freeze());
    }

    /// Returns all of it.
    pub(crate) fn finish(mut self) -> ByteRope {
        if let Some(large) = self.large {
            return large.freeze().into();
        }
        self.end_tail();
        self.whole
    }
}
