//! Where a file's bytes are.

use std::ops::Range;

use super::map::Map;

/// Where a file's bytes are.
#[derive(Clone, Copy)]
pub(super) enum ByteSource<'a> {
    Bytes(&'a [u8]),
    Mapped(&'a Map),
}

/// Bytes that are read at once, before their pages may be let go: whole values of any
/// type.
const PIECE: usize = 4 << 20;

impl<'a> ByteSource<'a> {
    /// A place in pieces.
    pub fn pieces(self, place: &Range<usize>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let end = place.end;
        let starts = place.clone().step_by(PIECE);
        starts.map(move |start| self.look(start..end.min(start + PIECE)))
    }

    fn look(self, place: Range<usize>) -> &'a [u8] {
        match self {
            ByteSource::Bytes(bytes) => bytes.get(place).unwrap_or_default(),
            ByteSource::Mapped(map) => map.look(place),
        }
    }

    /// Whether float32 can be read where they are. A mapping begins at a page, so a place
    /// in it is as aligned as its offset.
    pub fn is_readable_in_place(self, place: &Range<usize>) -> bool {
        let aligned = place.start.is_multiple_of(align_of::<f32>());
        matches!(self, ByteSource::Mapped(_)) && cfg!(target_endian = "little") && aligned
    }
}
