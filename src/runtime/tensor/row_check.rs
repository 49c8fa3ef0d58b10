//! Checks samples before a network runs them. Ids without a row in their table would become NaN
//! inside, and a sample whose mask is 0 everywhere has no answer.

use std::ops::Range;

use thiserror::Error;

use super::ids::{IdRange, IdRanges};
use super::lengths::Lengths;
use super::signature::{Signature, TensorSpec};

/// The check of samples as rows. Rows that hold only floats need no check and are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowCheck {
    width: usize,
    lengths: Option<Lengths>,
    inputs: Vec<CheckedInput>,
}

/// An input that holds ids or masks padding.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CheckedInput {
    spec: TensorSpec,
    /// The dimensions as they lie in a row.
    dims: Vec<usize>,
    /// The values in a row.
    run: Range<usize>,
    is_mask: bool,
}

/// A sample that no network can answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SampleFault {
    /// An integer that is not a row of its lookup table.
    #[error(
        "input `{input}` of sample {sample} has {id} at position {position}; the model's table has {range}"
    )]
    Id {
        /// The input's name.
        input: String,
        /// The sample, from 0.
        sample: usize,
        /// The position in the sample's tensor, from 0.
        position: usize,
        /// The value.
        id: String,
        /// The ids that can be looked up.
        range: IdRange,
    },
    /// The mask hides the whole sample.
    #[error("mask `{input}` of sample {sample} is 0 everywhere; expected at least one other value")]
    Masked {
        /// The mask's name.
        input: String,
        /// The sample, from 0.
        sample: usize,
    },
}

impl RowCheck {
    /// Returns the check of samples of a signature.
    pub fn new(signature: &Signature) -> Self {
        let most = signature.largest_length();
        let mask = signature.lengths.as_ref().and_then(Lengths::mask);
        let mut first = signature.leading_values();
        let inputs = signature.inputs.iter().filter_map(|spec| {
            let start = first;
            first += spec.elements_at(most).unwrap_or(0);
            let is_mask = mask == Some(spec.name.as_str());
            (spec.ids.is_some() || is_mask).then(|| CheckedInput {
                spec: spec.clone(),
                dims: spec.dims_at(most),
                run: start..first,
                is_mask,
            })
        });
        RowCheck {
            inputs: inputs.collect(),
            width: signature.input_width(most),
            lengths: signature.lengths.clone(),
        }
    }

    /// Returns whether all rows pass.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Checks samples, row after row.
    ///
    /// # Errors
    /// An id has no row in its table, or a mask is 0 everywhere; the first such sample is named.
    pub fn check(&self, rows: &[f32]) -> Result<(), SampleFault> {
        if self.is_empty() {
            return Ok(());
        }
        let rows = rows.chunks_exact(self.width.max(1)).enumerate();
        for (sample, row) in rows {
            let length = match &self.lengths {
                None => 0,
                // The network refuses the sample by its length.
                Some(lengths) => match lengths.row_length(row) {
                    Some(length) => length,
                    None => continue,
                },
            };
            for input in &self.inputs {
                input.check(sample, &row[input.run.clone()], length)?;
            }
        }
        Ok(())
    }
}

impl CheckedInput {
    fn check(&self, sample: usize, values: &[f32], length: usize) -> Result<(), SampleFault> {
        let input = || self.spec.name.clone();
        let in_sample = |at: usize| self.position(at, length).is_some();
        let unmasked = |(at, value): (usize, &f32)| *value != 0.0 && in_sample(at);
        if self.is_mask && !values.iter().enumerate().any(unmasked) {
            let input = input();
            return Err(SampleFault::Masked { input, sample });
        }
        // The zeros after a sample are not ids.
        let counts = |at: usize| values[at] != 0.0 || in_sample(at);
        let ids = self.spec.ids.as_ref();
        match ids.and_then(|ids: &IdRanges| ids.first_outside(values, counts)) {
            None => Ok(()),
            Some((at, range)) => Err(SampleFault::Id {
                input: input(),
                sample,
                position: self.position(at, length).unwrap_or(at),
                id: values[at].to_string(),
                range,
            }),
        }
    }

    /// Returns the position, in a sample of `length`, of value `at` of a row, or `None` for
    /// padding.
    fn position(&self, at: usize, length: usize) -> Option<usize> {
        let own = self.spec.dims_at(length);
        let (mut rest, mut position, mut stride) = (at, 0, 1);
        for (most, own) in self.dims.iter().zip(&own).rev() {
            let along = rest % most;
            rest /= most;
            if along >= *own {
                return None;
            }
            position += along * stride;
            stride *= own;
        }
        Some(position)
    }
}
