//! Ranges of values, and the numbers that bytes represent in them.

use crate::reading::ReadError;

/// The largest byte of a value. With 7 bits, sums of two products are never too large for 16 bits.
pub const MOST_BYTE: f32 = 127.0;

/// Returns the distance between neighbouring numbers of bytes from 0 to [`MOST_BYTE`] over a range;
/// 0 or infinite if float32 cannot represent it.
pub(in crate::compute) fn byte_step([low, high]: [f32; 2]) -> f32 {
    high / MOST_BYTE - low / MOST_BYTE
}

/// The least and the greatest number that bytes of a value represent: finite, and 0 lies between
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    low: f32,
    high: f32,
}

impl ValueRange {
    /// The range of a value that is always 0.
    pub const ZERO: ValueRange = ValueRange {
        low: 0.0,
        high: 0.0,
    };

    /// Creates the range from `low` to `high`.
    ///
    /// # Errors
    /// One is not finite, `low` is above 0, or `high` below.
    pub fn new(low: f32, high: f32) -> Result<Self, ReadError> {
        let is_range = low.is_finite() && high.is_finite() && low <= 0.0 && high >= 0.0;
        match is_range {
            true => Ok(ValueRange { low, high }),
            false => Err(ReadError::expected(
                "finite numbers around 0, the lower first",
                format_args!("{low} and {high}"),
            )),
        }
    }

    /// Returns the least number, at most 0.
    pub const fn low(self) -> f32 {
        self.low
    }

    /// Returns the greatest number, at least 0.
    pub const fn high(self) -> f32 {
        self.high
    }

    /// Returns the distance between neighbouring numbers of bytes, or 0 if it is too small for
    /// float32 to divide by.
    pub fn scale(self) -> f32 {
        let scale = byte_step([self.low, self.high]);
        match (1.0 / scale).is_finite() {
            true => scale,
            false => 0.0,
        }
    }

    /// Returns the byte of 0.
    pub fn zero_point(self) -> f32 {
        match self.scale() {
            0.0 => 0.0,
            scale => (-self.low / scale).round_ties_even().min(MOST_BYTE),
        }
    }

    /// Returns the function that rounds numbers to the nearest one that a byte represents, half to
    /// even.
    pub(super) fn rounding(self) -> impl Fn(f32) -> f32 {
        let (scale, zero) = (self.scale(), self.zero_point());
        move |value| match scale {
            0.0 => 0.0,
            scale => {
                let byte = (value / scale).round_ties_even() + zero;
                (byte.clamp(0.0, MOST_BYTE) - zero) * scale
            }
        }
    }
}
