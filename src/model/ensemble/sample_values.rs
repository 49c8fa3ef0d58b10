//! The values of samples in their original memory: as numbers, or as bytes from the network.

use std::borrow::Cow;
use std::ops::Range;

use super::sample_pieces::{PiecedValues, SamplePiece};

/// The number of values checked for being finite at a time: small enough to stop early, large
/// enough for vector instructions.
const LOOKED_AT: usize = 1024;

/// The values of samples, row by row, in their owner's memory.
#[derive(Clone, Copy, Debug)]
pub enum SampleValues<'a> {
    /// Numbers.
    Floats(&'a [f32]),
    /// Float32 in little-endian bytes, at any address.
    Bytes(&'a [[u8; 4]]),
    /// Numbers or bytes in several pieces.
    Pieces(PiecedValues<'a>),
}

impl<'a> From<&'a [f32]> for SampleValues<'a> {
    fn from(values: &'a [f32]) -> Self {
        SampleValues::Floats(values)
    }
}

impl<'a> SampleValues<'a> {
    /// Takes little-endian bytes. If the machine's layout matches, they are used as numbers in
    /// place.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        if cfg!(target_endian = "little")
            && let Ok(values) = bytemuck::try_cast_slice(bytes)
        {
            return SampleValues::Floats(values);
        }
        SampleValues::Bytes(bytes.as_chunks().0)
    }

    /// Takes the values of all pieces.
    pub fn of_pieces(pieces: &'a [SamplePiece]) -> Self {
        match pieces {
            [single] => single.values(),
            pieces => SampleValues::Pieces(PiecedValues::from_pieces(pieces)),
        }
    }

    /// Returns the number of values.
    pub fn len(self) -> usize {
        match self {
            SampleValues::Floats(values) => values.len(),
            SampleValues::Bytes(values) => values.len(),
            SampleValues::Pieces(values) => values.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns a range of values, or `None` if the range is out of bounds.
    pub fn get(self, range: Range<usize>) -> Option<Self> {
        Some(match self {
            SampleValues::Floats(values) => SampleValues::Floats(values.get(range)?),
            SampleValues::Bytes(values) => SampleValues::Bytes(values.get(range)?),
            SampleValues::Pieces(values) => SampleValues::Pieces(values.get(range)?),
        })
    }

    /// Splits them before value `at`. The second part is empty if there are fewer values.
    pub fn split_at(self, at: usize) -> (Self, Self) {
        let length = self.len();
        let at = at.min(length);
        let part = |range| self.get(range).unwrap_or(SampleValues::Floats(&[]));
        (part(0..at), part(at..length))
    }

    /// Returns the numbers. Copies them if they are bytes or in pieces.
    pub fn floats(self) -> Cow<'a, [f32]> {
        match self {
            SampleValues::Floats(values) => values.into(),
            SampleValues::Bytes(values) => values.iter().map(|v| f32::from_le_bytes(*v)).collect(),
            SampleValues::Pieces(values) => {
                let mut floats = vec![0.0; values.len()];
                self.map_to(&mut floats, |v| v);
                floats.into()
            }
        }
    }

    /// Returns the position of the first value that is NaN or infinite, or `None` if all values are
    /// finite.
    pub fn first_not_finite(self) -> Option<usize> {
        match self {
            SampleValues::Floats(values) => first_not_finite(values, |v| *v),
            SampleValues::Bytes(values) => first_not_finite(values, |v| f32::from_le_bytes(*v)),
            SampleValues::Pieces(values) => {
                let mut before = 0;
                values.runs().find_map(|run| {
                    let found = run.first_not_finite().map(|at| before + at);
                    before += run.len();
                    found
                })
            }
        }
    }

    /// Writes the result of `map` for each value, up to the length of `to`.
    #[inline]
    pub(super) fn map_to(self, to: &mut [f32], map: impl Fn(f32) -> f32) {
        let SampleValues::Pieces(values) = self else {
            return self.map_run(to, map);
        };
        let mut rest = to;
        for run in values.runs() {
            let (now, later) = rest.split_at_mut(run.len().min(rest.len()));
            rest = later;
            run.map_run(now, &map);
        }
    }

    /// Writes the result of `map` for each value of one piece, up to the length of `to`.
    #[inline]
    fn map_run(self, to: &mut [f32], map: impl Fn(f32) -> f32) {
        match self {
            SampleValues::Floats(values) => {
                to.iter_mut().zip(values).for_each(|(t, v)| *t = map(*v));
            }
            SampleValues::Bytes(values) => {
                let pairs = to.iter_mut().zip(values);
                pairs.for_each(|(t, v)| *t = map(f32::from_le_bytes(*v)));
            }
            // A run of pieces is never in pieces itself.
            SampleValues::Pieces(_) => {}
        }
    }
}

fn first_not_finite<T>(values: &[T], float: impl Fn(&T) -> f32) -> Option<usize> {
    for (run, values) in values.chunks(LOOKED_AT).enumerate() {
        // No early exit, so that the compiler vectorises this.
        let finite = values
            .iter()
            .fold(true, |all, v| all & float(v).is_finite());
        if !finite {
            let at = values.iter().position(|v| !float(v).is_finite())?;
            return Some(run * LOOKED_AT + at);
        }
    }
    None
}
