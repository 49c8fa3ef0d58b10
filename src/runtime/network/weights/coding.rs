//! How bytes of a file represent the values of a parameter: as float32, or as integers of one byte
//! with scales and zero points, as quantisers leave weights.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// How bytes represent values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ValueCoding {
    /// Float32 in little-endian order.
    Floats,
    /// Integers of one byte.
    Integers(Arc<IntegerScales>),
}

/// The numbers that integers of one byte represent: `(integer − zero point) · scale`.
#[derive(Clone, Debug)]
pub(crate) struct IntegerScales {
    /// Whether the integers have a sign.
    is_signed: bool,
    /// Values from one scale to the next.
    inner: usize,
    /// Scales and zero points. After the last one, the first one is used again.
    steps: Vec<IntegerStep>,
}

/// The largest multiple of a step, of one sign.
const MOST_MULTIPLE: f32 = 127.0;

/// Scales whose multiples are as exact as floats can be.
const USUAL: Range<f32> = 1e-30..1e30;

/// A scale and its zero point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntegerStep {
    pub scale: f32,
    pub zero: f32,
}

impl IntegerStep {
    /// Returns the number that an integer represents.
    fn number(self, integer: f32) -> f32 {
        (integer - self.zero) * self.scale
    }
}

impl IntegerScales {
    /// Creates the scales of integers: the first one holds for `inner` integers, and so on. Returns
    /// `None` if there are no scales.
    pub(crate) fn new(is_signed: bool, inner: usize, steps: Vec<IntegerStep>) -> Option<Self> {
        (inner > 0 && !steps.is_empty()).then_some(IntegerScales {
            is_signed,
            inner,
            steps,
        })
    }

    /// Returns the least and the largest integer.
    fn bounds(&self) -> (f32, f32) {
        match self.is_signed {
            true => (-128.0, 127.0),
            false => (0.0, 255.0),
        }
    }

    /// Returns whether all integers stand for finite numbers.
    fn are_finite(&self) -> bool {
        let (least, most) = self.bounds();
        let mut steps = self.steps.iter();
        steps.all(|step| step.number(least).is_finite() && step.number(most).is_finite())
    }

    /// Returns whether rows of `each` values are whole multiples of one step each, at most 127,
    /// judging by the integers alone. If a matrix with lines of `columns` values was transposed,
    /// its columns are the rows.
    fn are_stepped(&self, bytes: &[u8], each: usize, columns: Option<usize>) -> bool {
        let is_of_rows = match columns {
            None => each > 0 && self.inner.is_multiple_of(each),
            Some(columns) => (self.inner, self.steps.len()) == (1, columns),
        };
        let zero = self.steps[0].zero;
        let usual = |step: &IntegerStep| {
            step.zero == zero && zero.fract() == 0.0 && USUAL.contains(&step.scale.abs())
        };
        let single = self.steps.len() == 1;
        (is_of_rows || single)
            && self.steps.iter().all(usual)
            && self.largest_difference(bytes, zero) <= MOST_MULTIPLE
    }

    /// Returns the largest difference of an integer from `zero`.
    fn largest_difference(&self, bytes: &[u8], zero: f32) -> f32 {
        // Flipping the sign bit puts signed integers into the order of unsigned bytes.
        let (turned, least) = match self.is_signed {
            true => (0x80, -128.0),
            false => (0, 0.0),
        };
        let ends = bytes
            .iter()
            .fold((u8::MAX, u8::MIN), |(least, most), byte| {
                (least.min(byte ^ turned), most.max(byte ^ turned))
            });
        let ends = [ends.0, ends.1].map(|end| (f32::from(end) + least - zero).abs());
        ends[0].max(ends[1])
    }

    /// Decodes bytes to the same number of floats. The first byte is value number `first`.
    fn decode(&self, bytes: &[u8], first: usize, to: &mut [f32]) {
        match self.is_signed {
            true => self.decode_by(bytes, first, to, |byte| f32::from(byte.cast_signed())),
            false => self.decode_by(bytes, first, to, f32::from),
        }
    }

    fn decode_by(
        &self,
        mut bytes: &[u8],
        mut first: usize,
        mut to: &mut [f32],
        integer: impl Fn(u8) -> f32,
    ) {
        while !to.is_empty() && !bytes.is_empty() {
            let at = first / self.inner % self.steps.len();
            let run = match self.inner {
                1 => self.steps.len() - at,
                inner => inner - first % inner,
            };
            let run = run.min(to.len()).min(bytes.len());
            let (from, left) = bytes.split_at(run);
            let (some, rest) = to.split_at_mut(run);
            match (self.inner, self.steps[at]) {
                (1, _) => {
                    for ((to, &byte), step) in some.iter_mut().zip(from).zip(&self.steps[at..]) {
                        *to = step.number(integer(byte));
                    }
                }
                (_, step) => {
                    for (to, &byte) in some.iter_mut().zip(from) {
                        *to = step.number(integer(byte));
                    }
                }
            }
            (bytes, to, first) = (left, rest, first + run);
        }
    }
}

impl PartialEq for IntegerScales {
    /// Returns whether both have the same bits.
    fn eq(&self, other: &Self) -> bool {
        (self.is_signed, self.inner) == (other.is_signed, other.inner)
            && self.bits().eq(other.bits())
    }
}

impl Eq for IntegerScales {}

impl Hash for IntegerScales {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.is_signed, self.inner).hash(state);
        self.bits().for_each(|bits| bits.hash(state));
    }
}

impl IntegerScales {
    fn bits(&self) -> impl Iterator<Item = [u32; 2]> {
        let steps = self.steps.iter();
        steps.map(|step| [step.scale.to_bits(), step.zero.to_bits()])
    }
}

impl ValueCoding {
    /// Returns the bytes of a value.
    pub(super) fn size(&self) -> usize {
        match self {
            ValueCoding::Floats => size_of::<f32>(),
            ValueCoding::Integers(_) => 1,
        }
    }

    /// Decodes bytes until `to` is full. The first value is number `first` of `bytes`.
    pub(super) fn decode(&self, bytes: &[u8], first: usize, to: &mut [f32]) {
        let bytes = bytes.get(first * self.size()..).unwrap_or_default();
        match self {
            ValueCoding::Floats => {
                for (to, bytes) in to.iter_mut().zip(bytes.as_chunks().0) {
                    *to = f32::from_le_bytes(*bytes);
                }
            }
            ValueCoding::Integers(scales) => scales.decode(bytes, first, to),
        }
    }

    /// Returns whether rows of `each` values are certain, without decoding, to be whole multiples
    /// of one step each, at most 127. If a matrix with lines of `columns` values was transposed,
    /// its columns are the rows.
    pub(super) fn are_stepped(&self, bytes: &[u8], each: usize, columns: Option<usize>) -> bool {
        match self {
            ValueCoding::Floats => false,
            ValueCoding::Integers(scales) => scales.are_stepped(bytes, each, columns),
        }
    }

    /// Returns whether values are finite whatever their bytes.
    pub(super) fn are_finite(&self) -> bool {
        match self {
            ValueCoding::Floats => false,
            ValueCoding::Integers(scales) => scales.are_finite(),
        }
    }
}

#[cfg(test)]
#[path = "../../../../tests/runtime/units/network/weights/coding.rs"]
mod tests;
