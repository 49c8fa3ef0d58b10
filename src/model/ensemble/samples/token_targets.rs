//! Targets of tokens: one for each token of a sample.

use divisi_runtime::reading::ReadError;

use super::form::SampleForm;
use super::rows::Samples;
use super::targets::{IGNORED, TargetForm, Targets};

/// The target of a token past the end of a row that is shorter than the longest sample.
pub(super) const MISSING: f32 = f32::NAN;

impl Samples {
    /// Returns the samples with targets only for the tokens that each sample has, if answers are
    /// tokens. Other tokens are not counted.
    ///
    /// # Errors
    /// A sample has more tokens than targets.
    pub(super) fn with_tokens_counted(mut self, form: &SampleForm<'_>) -> Result<Self, ReadError> {
        let are_tokens =
            matches!(form.targets(), TargetForm::Rows(columns) if columns.are_tokens());
        let Some(Targets::Rows { width, mut values }) = self.take_targets(are_tokens) else {
            return Ok(self);
        };
        for (row, targets) in values.chunks_exact_mut(width.max(1)).enumerate() {
            let tokens = form.tokens_of(self.row(row)).unwrap_or(width).min(width);
            let (own, others) = targets.split_at_mut(tokens);
            if let Some(found) = own.iter().position(|target| target.is_nan()) {
                let expected = format_args!("a class for each of {tokens} tokens");
                let wrong = ReadError::expected(expected, found);
                return Err(wrong.at(format_args!("targets, row {row}")));
            }
            others.fill(IGNORED);
        }
        self.with_targets(Targets::Rows { width, values })
    }
}
