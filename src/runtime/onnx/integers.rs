//! The integers of a constant.

use std::ops::Deref;
use std::sync::OnceLock;

use prost::bytes::Bytes;

use crate::network::{EncodedValues, IntegerScales, IntegerStep};

/// Integers in the widest type, or the bytes of a file until the first read. Most weights of one
/// byte are decoded only when the network is lowered, and never here.
#[derive(Clone, Debug)]
pub(super) enum Integers {
    Decoded(Vec<i64>),
    Bytes(ByteIntegers),
}

/// Integers of one byte each.
#[derive(Clone, Debug)]
pub(super) struct ByteIntegers {
    bytes: Bytes,
    is_signed: bool,
    /// All values, after the first read.
    kept: OnceLock<Vec<i64>>,
}

impl ByteIntegers {
    fn integer(&self, byte: u8) -> i64 {
        match self.is_signed {
            true => byte.cast_signed().into(),
            false => byte.into(),
        }
    }

    fn kept(&self) -> &[i64] {
        let all = || self.bytes.iter().map(|byte| self.integer(*byte)).collect();
        self.kept.get_or_init(all)
    }
}

impl Integers {
    /// Returns the numbers that integers of one byte represent, `(integer − zero) · scale`, without
    /// decoding them, or `None` for other integers. The first scale and zero point hold for `inner`
    /// values, and so on.
    pub(super) fn numbers(
        &self,
        inner: usize,
        scales: &[f32],
        zeros: &[f32],
    ) -> Option<EncodedValues> {
        let Integers::Bytes(held) = self else {
            return None;
        };
        let count = scales.len().max(zeros.len());
        let each = |all: &[f32], at: usize| all.get(at).or(all.first()).copied();
        let step = |at| {
            Some(IntegerStep {
                scale: each(scales, at)?,
                zero: each(zeros, at)?,
            })
        };
        let steps = (0..count).map(step).collect::<Option<_>>()?;
        let scales = IntegerScales::new(held.is_signed, inner, steps)?;
        Some(EncodedValues::of_integers(held.bytes.clone(), scales))
    }

    /// Returns integers of one byte.
    pub(super) fn of_bytes(bytes: Bytes, is_signed: bool) -> Self {
        let kept = OnceLock::new();
        Integers::Bytes(ByteIntegers {
            bytes,
            is_signed,
            kept,
        })
    }

    /// Returns the number of integers.
    pub(super) fn len(&self) -> usize {
        match self {
            Integers::Decoded(values) => values.len(),
            Integers::Bytes(held) => held.bytes.len(),
        }
    }

    /// Returns the integers as floats, rounded.
    pub(super) fn to_floats(&self) -> Vec<f32> {
        match self {
            Integers::Decoded(values) => values.iter().map(|v| *v as f32).collect(),
            Integers::Bytes(held) => {
                let bytes = held.bytes.iter();
                bytes.map(|byte| held.integer(*byte) as f32).collect()
            }
        }
    }
}

impl Deref for Integers {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        match self {
            Integers::Decoded(values) => values,
            Integers::Bytes(held) => held.kept(),
        }
    }
}

impl From<Vec<i64>> for Integers {
    fn from(values: Vec<i64>) -> Self {
        Integers::Decoded(values)
    }
}

impl FromIterator<i64> for Integers {
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        Integers::Decoded(values.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Integers {
    type Item = &'a i64;
    type IntoIter = std::slice::Iter<'a, i64>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Integers {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}
