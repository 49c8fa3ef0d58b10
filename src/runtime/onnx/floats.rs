//! The floats of a constant.

use std::ops::Deref;

use crate::network::EncodedValues;

/// Floats in memory, or where they lie in the model's file until somebody reads them: most of a
/// network's weights are laid out by their steps, and never here.
#[derive(Clone, Debug)]
pub(super) enum Floats {
    Decoded(Vec<f32>),
    InFile(EncodedValues),
}

impl Floats {
    /// Returns the number of floats.
    pub(super) fn len(&self) -> usize {
        match self {
            Floats::Decoded(values) => values.len(),
            Floats::InFile(values) => values.len(),
        }
    }

    /// Whether all are finite.
    pub(super) fn are_finite(&self) -> bool {
        match self {
            Floats::Decoded(values) => are_finite(values),
            Floats::InFile(values) => values.are_finite(),
        }
    }
}

impl Deref for Floats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Floats::Decoded(values) => values,
            Floats::InFile(values) => values.kept(),
        }
    }
}

impl From<Vec<f32>> for Floats {
    fn from(values: Vec<f32>) -> Self {
        Floats::Decoded(values)
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

/// Whether all values are finite.
pub(super) fn are_finite(values: &[f32]) -> bool {
    let mut runs = values.chunks(CHECKED);
    runs.all(|run| run.iter().fold(true, |all, v| all & v.is_finite()))
}
