//! The conversion of texts to the tensors of a sample.

use std::sync::Arc;

use tokenizers::Encoding;

use divisi_runtime::reading::ReadError;

use super::tokenizer::TextTokenizer;

/// The kind of a tensor: its content for each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenTensor {
    /// The token's number in the vocabulary.
    Ids,
    /// 1, or 0 after the end of the text.
    Mask,
    /// 0 in a text, 1 in the second text of a pair.
    Types,
    /// The token's position, from 0.
    Positions,
}

impl TokenTensor {
    /// Every kind.
    pub const ALL: [TokenTensor; 4] = [
        TokenTensor::Ids,
        TokenTensor::Mask,
        TokenTensor::Types,
        TokenTensor::Positions,
    ];

    /// Returns the usual name of such a tensor in Hugging Face exports.
    pub fn usual_name(self) -> &'static str {
        match self {
            TokenTensor::Ids => "input_ids",
            TokenTensor::Mask => "attention_mask",
            TokenTensor::Types => "token_type_ids",
            TokenTensor::Positions => "position_ids",
        }
    }

    /// Returns the value at a position, which may be after the end of the text.
    fn value(self, encoding: &Encoding, padding: u32, at: usize) -> u32 {
        let is_text = at < encoding.get_ids().len();
        match self {
            TokenTensor::Ids if is_text => encoding.get_ids()[at],
            TokenTensor::Ids => padding,
            TokenTensor::Mask => u32::from(is_text),
            TokenTensor::Types if is_text => encoding.get_type_ids()[at],
            TokenTensor::Types => 0,
            TokenTensor::Positions => u32::try_from(at).unwrap_or(u32::MAX),
        }
    }
}

/// Converts texts to samples: a tokenizer cuts them to a length, and the tensors are concatenated.
/// A row is padded to that length. If lengths vary, the text's own length comes first.
#[derive(Clone, Debug)]
pub struct TextInput {
    tokenizer: Arc<TextTokenizer>,
    tensors: Vec<TokenTensor>,
    /// Whether a row begins with its number of tokens.
    varies: bool,
}

impl TextInput {
    /// Creates the input of samples with these tensors in this order, each of dimensions
    /// `[length]`, or of the text's length if lengths vary.
    pub fn new(tokenizer: TextTokenizer, tensors: Vec<TokenTensor>, varies: bool) -> Self {
        TextInput {
            tokenizer: Arc::new(tokenizer),
            tensors,
            varies,
        }
    }

    /// Returns the tokenizer.
    pub fn tokenizer(&self) -> &TextTokenizer {
        &self.tokenizer
    }

    /// Returns the content of each tensor of a sample, in the order of the tensors.
    pub fn kinds(&self) -> &[TokenTensor] {
        &self.tensors
    }

    /// Returns the number of values of a sample.
    pub fn width(&self) -> usize {
        usize::from(self.varies) + self.tensors.len() * self.tokenizer.length()
    }

    /// Returns the number of tokens of a padded sample, or `None` if no mask determines it.
    pub(in crate::ensemble::samples) fn tokens_of(&self, row: &[f32]) -> Option<usize> {
        let length = self.tokenizer.length();
        let mask = self.tensors.iter().position(|t| *t == TokenTensor::Mask)?;
        let mask = row.get(mask * length..)?.get(..length)?;
        Some(mask.iter().rposition(|value| *value != 0.0)? + 1)
    }

    /// Appends the row of a text or a pair of texts to `rows`. Returns whether the text was
    /// truncated.
    ///
    /// # Errors
    /// As for [`TextTokenizer::encode`].
    pub fn write_row(
        &self,
        text: &str,
        pair: Option<&str>,
        rows: &mut Vec<f32>,
    ) -> Result<bool, ReadError> {
        let (encoding, cut) = self.tokenizer.encode(text, pair)?;
        let (padding, length) = (self.tokenizer.padding(), self.tokenizer.length());
        if self.varies {
            rows.push(encoding.get_ids().len() as f32);
        }
        for tensor in &self.tensors {
            let values = (0..length).map(|at| tensor.value(&encoding, padding, at));
            rows.extend(values.map(|value| value as f32));
        }
        Ok(cut)
    }
}
