//! Texts and their rows, collected one by one.

use divisi_runtime::reading::ReadError;

use crate::ensemble::samples::error::{many_samples, no_memory};
use crate::ensemble::samples::form::MOST_BYTES;
use crate::ensemble::samples::rows::Samples;

use super::input::TextInput;

/// The text of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleText {
    /// The text, or the first text of a pair.
    pub text: String,
    /// The second text of a pair.
    pub pair: Option<String>,
    /// Whether it was truncated.
    pub is_cut: bool,
}

/// The samples read.
pub(in crate::ensemble::samples) struct TextRows<'a> {
    input: &'a TextInput,
    values: Vec<f32>,
    texts: Vec<SampleText>,
}

impl<'a> TextRows<'a> {
    pub(in crate::ensemble::samples) fn new(input: &'a TextInput) -> Self {
        TextRows {
            input,
            values: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// Returns the number of samples.
    pub(in crate::ensemble::samples) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Adds a sample. An empty second text counts as absent.
    ///
    /// # Errors
    /// The text is not a valid sample, or there is not enough memory.
    pub(in crate::ensemble::samples) fn take(
        &mut self,
        text: &str,
        pair: Option<&str>,
    ) -> Result<(), ReadError> {
        self.reserve()?;
        let pair = pair.filter(|pair| !pair.trim().is_empty());
        let is_cut = self.input.write_row(text, pair, &mut self.values)?;
        self.texts.push(SampleText {
            text: text.to_owned(),
            pair: pair.map(str::to_owned),
            is_cut,
        });
        Ok(())
    }

    /// Allocates the memory of a row. A short text becomes a long row.
    fn reserve(&mut self) -> Result<(), ReadError> {
        let width = self.input.width();
        let row = (width * size_of::<f32>()).max(1) as u64;
        let most = usize::try_from(MOST_BYTES / row).unwrap_or(usize::MAX);
        let found = self.len() + 1;
        if found > most {
            return Err(many_samples(most, found));
        }
        let taken = self.values.try_reserve(width);
        taken.map_err(|_| no_memory(found))
    }

    /// Returns the samples.
    ///
    /// # Errors
    /// There are no samples.
    pub(in crate::ensemble::samples) fn finish(mut self) -> Result<Samples, ReadError> {
        self.values.shrink_to_fit();
        let samples = Samples::new(self.values, self.input.width(), None)?;
        Ok(samples.with_texts(self.texts))
    }
}
