//! Numbers of fewer bits, in which a value is kept from the step that makes it to its readers.

use crate::network::Activation;

/// Numbers of fewer bits than float32, in which the arena can hold a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ReducedNumbers {
    /// Brain floats.
    Bf16,
    /// Bytes.
    Bytes(ByteNumbers),
}

/// The numbers that bytes from 0 to `most` represent: `(byte − zero point) · scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ByteNumbers {
    /// A normal number above 0.
    pub scale: f32,
    /// A whole number from 0 to `most`.
    pub zero_point: f32,
    /// 127 or 255.
    pub most: f32,
}

impl ByteNumbers {
    /// Returns the numbers that a function rounds to, or `None` if they are not the numbers of 256
    /// bytes.
    pub(super) fn from_activation(activation: Option<Activation>) -> Option<Self> {
        let Some(Activation::FakeQuantise { scale, least, most }) = activation else {
            return None;
        };
        (most - least == 255.0).then_some(ByteNumbers {
            scale,
            zero_point: -least,
            most: 255.0,
        })
    }
}

impl ReducedNumbers {
    /// Returns the bytes of a number.
    pub(super) const fn bytes(self) -> usize {
        match self {
            ReducedNumbers::Bf16 => 2,
            ReducedNumbers::Bytes(_) => 1,
        }
    }

    /// Returns how many numbers are multiplied at a time.
    pub(super) const fn group(self) -> usize {
        4 / self.bytes()
    }

    /// Returns the byte of 0 that fills a float four times, or 0 of numbers whose 0 has no bits.
    pub(super) const fn zero_point(self) -> u8 {
        match self {
            ReducedNumbers::Bf16 => 0,
            ReducedNumbers::Bytes(numbers) => numbers.zero_point as u8,
        }
    }
}

/// The forms of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ValueForm {
    pub float: bool,
    pub reduced: Option<ReducedNumbers>,
}

impl ValueForm {
    /// Only floats.
    pub(super) const FLOATS: ValueForm = ValueForm {
        float: true,
        reduced: None,
    };

    /// Returns the forms that are in either.
    pub(super) fn or(self, other: ValueForm) -> ValueForm {
        ValueForm {
            float: self.float || other.float,
            reduced: self.reduced.or(other.reduced),
        }
    }
}
