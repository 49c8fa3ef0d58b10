//! A file being checked, to say where in it something is wrong.

use super::super::error::{EnsembleError, line_of};
use super::super::files::Files;

/// A file being checked, to say where in it something is wrong.
pub(super) struct ManifestSource<'a> {
    pub files: &'a Files,
    pub file: &'a str,
    pub text: &'a str,
}

impl ManifestSource<'_> {
    /// What is wrong at a byte offset of the text.
    pub fn wrong(&self, offset: usize, message: impl Into<String>) -> EnsembleError {
        EnsembleError::Place {
            file: self.files.display(self.file),
            line: line_of(self.text, offset),
            message: message.into(),
        }
    }

    /// A whole number of at least 1 and at most `most`.
    pub fn count(
        &self,
        field: &str,
        value: &toml::Spanned<i64>,
        most: i64,
    ) -> Result<usize, EnsembleError> {
        let n = *value.get_ref();
        if (1..=most).contains(&n) {
            return Ok(n as usize);
        }
        Err(self.wrong(
            value.span().start,
            format!("{field}: expected a whole number from 1 to {most}, found {n}"),
        ))
    }
}
