//! The lengths of samples whose tensors have a dimension that varies.
//!
//! All varying dimensions of a sample are one and the same length, as the tokens of a sentence
//! are for its ids and its mask. A sample's row has the length first and then every tensor, padded
//! up to the largest length, so that all rows are equally wide. The padding is 0, except that the
//! ids of texts may have another value there.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::reading::ReadError;

use super::signature::{Dimension, TensorSpec};
use super::value::MOST_EXACT;

/// The most buckets; a network is lowered once for each.
const MOST_BUCKETS: usize = 64;

/// The largest length that a float32 value of a row represents exactly.
const MOST_LENGTH: usize = MOST_EXACT as usize;

/// The lengths that samples may have, and which of them a network is lowered for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenLengths")]
pub struct Lengths {
    /// The largest.
    most: usize,
    /// The lengths that samples are padded to, ascending up to the largest. Empty if samples are
    /// not padded.
    buckets: Vec<usize>,
    /// The input that is 0 at the padding of a sample.
    mask: Option<String>,
    /// The input whose padding is not 0, and its value there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fill: Option<(String, u32)>,
}

impl Lengths {
    /// Creates lengths up to `most` without padding.
    ///
    /// # Errors
    /// `most` is below 2 or too large.
    pub fn exact(most: usize) -> Result<Self, ReadError> {
        if !(2..=MOST_LENGTH).contains(&most) {
            let expected = format_args!("a largest length of 2 to {MOST_LENGTH}");
            return Err(ReadError::expected(expected, most));
        }
        Ok(Lengths {
            most,
            buckets: Vec::new(),
            mask: None,
            fill: None,
        })
    }

    /// Creates lengths up to the last bucket. Samples are padded to the next bucket; the input
    /// `mask` is 0 at the padding.
    ///
    /// # Errors
    /// There are no buckets or too many, they do not ascend, or the last is out of range.
    pub fn padded(buckets: Vec<usize>, mask: String) -> Result<Self, ReadError> {
        if !(1..=MOST_BUCKETS).contains(&buckets.len()) {
            let expected = format_args!("1 to {MOST_BUCKETS} buckets");
            return Err(ReadError::expected(expected, buckets.len()));
        }
        if buckets[0] == 0 || !buckets.is_sorted_by(|a, b| a < b) {
            let expected = "buckets of at least 1 in ascending order";
            return Err(ReadError::expected(expected, format_args!("{buckets:?}")));
        }
        let exact = Lengths::exact(buckets[buckets.len() - 1])?;
        Ok(Lengths {
            buckets,
            mask: Some(mask),
            ..exact
        })
    }

    /// Returns the same lengths without padding.
    #[must_use]
    pub fn unpadded(&self) -> Self {
        Lengths {
            buckets: Vec::new(),
            mask: None,
            ..self.clone()
        }
    }

    /// Returns the same lengths for samples padded with `value` in their tensor `input`. All other
    /// tensors are padded with 0.
    #[must_use]
    pub fn filled(self, input: &str, value: u32) -> Self {
        let fill = (value > 0).then(|| (input.to_owned(), value));
        Lengths { fill, ..self }
    }

    /// Returns the padding value of the tensor `input`.
    pub fn fill_of(&self, input: &str) -> f32 {
        let fill = self.fill.as_ref().filter(|(name, _)| name == input);
        fill.map_or(0.0, |(_, value)| *value as f32)
    }

    /// Returns buckets up to `most`: 8, then 16 by 16 up to 128, then four for each doubling, so
    /// that little of a sample is padding.
    pub fn usual_buckets(most: usize) -> Vec<usize> {
        let next = |&last: &usize| match last {
            8 => Some(16),
            _ => Some(last + (last + 1).next_power_of_two().max(128) / 8),
        };
        let below = std::iter::successors(Some(8), next).take_while(|bucket| *bucket < most);
        below.chain([most]).collect()
    }

    /// Returns the largest length.
    pub fn largest(&self) -> usize {
        self.most
    }

    /// Returns the input that is 0 at the padding of a sample, or `None` if samples are not padded.
    pub fn mask(&self) -> Option<&str> {
        self.mask.as_deref()
    }

    /// Returns the lengths that samples are padded to, ascending. Empty if samples are not padded.
    pub fn buckets(&self) -> &[usize] {
        &self.buckets
    }

    /// Returns the length at which a network runs samples of `length`, or `None` if samples cannot
    /// have that length.
    pub fn bucket(&self, length: usize) -> Option<usize> {
        if !(1..=self.most).contains(&length) {
            return None;
        }
        let next = self.buckets.iter().find(|bucket| **bucket >= length);
        Some(next.copied().unwrap_or(length))
    }

    /// Returns the length of the sample in a row, or `None` if the row's first value is not a
    /// length.
    pub fn row_length(&self, row: &[f32]) -> Option<usize> {
        let written = *row.first()?;
        let fits = written.fract() == 0.0 && (1.0..=self.most as f32).contains(&written);
        fits.then_some(written as usize)
    }

    /// Returns a length other than the largest, at which a network can be tried.
    pub fn another(&self) -> usize {
        let smaller = self.buckets.iter().copied().find(|b| *b > 1);
        let smaller = smaller.filter(|bucket| *bucket < self.most);
        smaller.unwrap_or(self.most.div_ceil(2))
    }
}

/// `1 to 32, padded to 8, 16, 32 where attention_mask is 0`.
impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1 to {}", self.most)?;
        let Some(mask) = &self.mask else {
            return f.write_str(", never padded");
        };
        let buckets: Vec<String> = self.buckets.iter().map(ToString::to_string).collect();
        write!(f, ", padded to {} where {mask} is 0", buckets.join(", "))
    }
}

/// Lengths as they are stored.
#[derive(Deserialize)]
struct WrittenLengths {
    most: usize,
    buckets: Vec<usize>,
    mask: Option<String>,
    #[serde(default)]
    fill: Option<(String, u32)>,
}

impl TryFrom<WrittenLengths> for Lengths {
    type Error = ReadError;

    fn try_from(written: WrittenLengths) -> Result<Self, ReadError> {
        let lengths = match (written.mask, written.buckets.last()) {
            (None, None) => Lengths::exact(written.most),
            (Some(mask), Some(last)) if *last == written.most => {
                Lengths::padded(written.buckets, mask)
            }
            _ => Err(ReadError::new(
                "buckets need an input that masks padding, and a mask needs buckets",
            )),
        };
        Ok(match written.fill {
            Some((input, value)) => lengths?.filled(&input, value),
            None => lengths?,
        })
    }
}

impl TensorSpec {
    /// Returns whether a dimension is the sample's length.
    pub fn varies(&self) -> bool {
        self.dims.contains(&Dimension::Varies)
    }

    /// Returns the dimensions of the tensor in a sample of `length`.
    pub fn dims_at(&self, length: usize) -> Vec<usize> {
        let sizes = self.dims.iter().map(|d| d.size().unwrap_or(length));
        sizes.collect()
    }

    /// Returns the number of values in a sample of `length`, or `None` if that is too large.
    pub fn elements_at(&self, length: usize) -> Option<usize> {
        let dims = self.dims_at(length);
        dims.iter()
            .try_fold(1usize, |all, &size| all.checked_mul(size))
    }
}

/// Copies the first `part` values along each axis of a tensor of dimensions `of` into one of
/// dimensions `into`.
pub(super) fn copy_part(
    from: &[f32],
    of: &[usize],
    part: &[usize],
    to: &mut [f32],
    into: &[usize],
) {
    let ([_, of @ ..], [count, part @ ..], [_, into @ ..]) = (of, part, into) else {
        to[0] = from[0];
        return;
    };
    let steps: [usize; 2] = [of, into].map(|dims| dims.iter().product());
    if of == part && part == into {
        let values = count * steps[0];
        return to[..values].copy_from_slice(&from[..values]);
    }
    for at in 0..*count {
        let (from, to) = (&from[at * steps[0]..], &mut to[at * steps[1]..]);
        copy_part(from, of, part, to, into);
    }
}
