//! The values of samples where they lie: as numbers, or as the bytes that a network brought.

use std::borrow::Cow;
use std::ops::Range;

/// How many values are looked at before it is decided whether all of them are finite: few enough
/// to stop early, enough for the compiler to look at many at once.
const LOOKED_AT: usize = 1024;

/// The values of samples, row after row, where their owner has them.
#[derive(Clone, Copy, Debug)]
pub enum SampleValues<'a> {
    /// Numbers.
    Floats(&'a [f32]),
    /// Float32 in little-endian bytes, at any address.
    Bytes(&'a [[u8; 4]]),
}

impl<'a> From<&'a [f32]> for SampleValues<'a> {
    fn from(values: &'a [f32]) -> Self {
        SampleValues::Floats(values)
    }
}

impl<'a> SampleValues<'a> {
    /// Takes little-endian bytes: as numbers where they lie as the machine has them.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        if cfg!(target_endian = "little")
            && let Ok(values) = bytemuck::try_cast_slice(bytes)
        {
            return SampleValues::Floats(values);
        }
        SampleValues::Bytes(bytes.as_chunks().0)
    }

    /// Returns how many there are.
    pub fn len(self) -> usize {
        match self {
            SampleValues::Floats(values) => values.len(),
            SampleValues::Bytes(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns some of them, or `None` if there are not as many.
    pub fn get(self, range: Range<usize>) -> Option<Self> {
        Some(match self {
            SampleValues::Floats(values) => SampleValues::Floats(values.get(range)?),
            SampleValues::Bytes(values) => SampleValues::Bytes(values.get(range)?),
        })
    }

    /// Divides them before value `at`; the second part is empty if there are fewer.
    pub fn split_at(self, at: usize) -> (Self, Self) {
        let at = at.min(self.len());
        match self {
            SampleValues::Floats(values) => {
                let (first, second) = values.split_at(at);
                (SampleValues::Floats(first), SampleValues::Floats(second))
            }
            SampleValues::Bytes(values) => {
                let (first, second) = values.split_at(at);
                (SampleValues::Bytes(first), SampleValues::Bytes(second))
            }
        }
    }

    /// Returns the numbers, copied if they are bytes.
    pub fn floats(self) -> Cow<'a, [f32]> {
        match self {
            SampleValues::Floats(values) => values.into(),
            SampleValues::Bytes(values) => values.iter().map(|v| f32::from_le_bytes(*v)).collect(),
        }
    }

    /// Returns the position of the first value that is NaN or infinite, or `None` if there is
    /// none.
    pub fn first_not_finite(self) -> Option<usize> {
        match self {
            SampleValues::Floats(values) => first_not_finite(values, |v| *v),
            SampleValues::Bytes(values) => first_not_finite(values, |v| f32::from_le_bytes(*v)),
        }
    }

    /// Writes what `map` makes of each value, as far as `to` has room.
    #[inline]
    pub(super) fn map_to(self, to: &mut [f32], map: impl Fn(f32) -> f32) {
        match self {
            SampleValues::Floats(values) => {
                to.iter_mut().zip(values).for_each(|(t, v)| *t = map(*v));
            }
            SampleValues::Bytes(values) => {
                let pairs = to.iter_mut().zip(values);
                pairs.for_each(|(t, v)| *t = map(f32::from_le_bytes(*v)));
            }
        }
    }
}

fn first_not_finite<T>(values: &[T], float: impl Fn(&T) -> f32) -> Option<usize> {
    for (run, values) in values.chunks(LOOKED_AT).enumerate() {
        // No early end, so that this becomes vectors.
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
