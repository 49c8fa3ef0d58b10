//! The floats of a constant.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::network::{EncodedPlace, EncodedValues};

/// Floats in memory, or their place in the model's file until the first read. Most weights are
/// decoded only when the network is lowered, and never here.
#[derive(Clone, Debug)]
pub(super) enum Floats {
    Decoded(Vec<f32>),
    InFile(EncodedValues),
    /// One number many times.
    Filled(Arc<FilledFloats>),
}

/// Floats that are all the same number.
#[derive(Debug)]
pub(super) struct FilledFloats {
    value: f32,
    count: usize,
    /// All values, after the first read.
    kept: OnceLock<Vec<f32>>,
}

impl FilledFloats {
    fn kept(&self) -> &[f32] {
        self.kept.get_or_init(|| vec![self.value; self.count])
    }
}

impl Floats {
    /// Returns `count` copies of a number.
    pub(super) fn filled(value: f32, count: usize) -> Self {
        let kept = OnceLock::new();
        Floats::Filled(Arc::new(FilledFloats { value, count, kept }))
    }

    /// Returns the number of floats that the first read would make.
    pub(super) fn unmade(&self) -> usize {
        match self {
            Floats::Filled(filled) if filled.kept.get().is_none() => filled.count,
            _ => 0,
        }
    }

    /// Returns the number of floats.
    pub(super) fn len(&self) -> usize {
        match self {
            Floats::Decoded(values) => values.len(),
            Floats::InFile(values) => values.len(),
            Floats::Filled(filled) => filled.count,
        }
    }

    /// Returns the place in the file, or `None` if the values are in memory.
    pub(super) fn place(&self) -> Option<EncodedPlace> {
        match self {
            Floats::InFile(values) => Some(values.place()),
            Floats::Decoded(_) | Floats::Filled(_) => None,
        }
    }

    /// Returns whether all values are finite.
    pub(super) fn are_finite(&self) -> bool {
        match self {
            Floats::Decoded(values) => are_finite(values),
            Floats::InFile(values) => values.are_finite(),
            Floats::Filled(filled) => filled.value.is_finite(),
        }
    }
}

impl Deref for Floats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Floats::Decoded(values) => values,
            Floats::InFile(values) => values.kept(),
            Floats::Filled(filled) => filled.kept(),
        }
    }
}

impl From<Vec<f32>> for Floats {
    fn from(values: Vec<f32>) -> Self {
        Floats::Decoded(values)
    }
}

impl From<Floats> for Vec<f32> {
    fn from(floats: Floats) -> Self {
        match floats {
            Floats::Decoded(values) => values,
            other => other.to_vec(),
        }
    }
}

impl FromIterator<f32> for Floats {
    fn from_iter<I: IntoIterator<Item = f32>>(values: I) -> Self {
        Floats::Decoded(values.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Floats {
    type Item = &'a f32;
    type IntoIter = std::slice::Iter<'a, f32>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Floats {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

/// Values that are checked without a branch between them.
const CHECKED: usize = 1024;

/// Returns whether all values are finite.
pub(super) fn are_finite(values: &[f32]) -> bool {
    let mut runs = values.chunks(CHECKED);
    runs.all(|run| run.iter().fold(true, |all, v| all & v.is_finite()))
}
