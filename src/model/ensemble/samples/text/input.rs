//! How texts become the tensors of a sample.

use std::sync::Arc;

use tokenizers::Encoding;

use super::error::TextError;
use super::tokenizer::TextTokenizer;

/// A kind of tensor, by what it holds of each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenTensor {
    /// Its number in the vocabulary.
    Ids,
    /// 1, and 0 after the end of the text.
    Mask,
    /// 0 in a text, 1 in the second one of a pair.
    Types,
    /// Its position, from 0.
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

    /// Returns the name of such a tensor in what Hugging Face's models export.
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

/// How texts become samples: cut to a length by a tokenizer, a tensor after another. A row is
/// padded to that length; its text's own length comes first if lengths vary.
#[derive(Clone, Debug)]
pub struct TextInput {
    tokenizer: Arc<TextTokenizer>,
    tensors: Vec<TokenTensor>,
    /// Whether a row has the number of its tokens first.
    varies: bool,
}

impl TextInput {
    /// Creates the input of samples that consist of these tensors in this order, each
    /// `[length]`, or, where lengths vary, as long as the text.
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

    /// Returns what each tensor of a sample holds, in the order of the tensors.
    pub fn kinds(&self) -> &[TokenTensor] {
        &self.tensors
    }

    /// Returns the number of values of a sample.
    pub fn width(&self) -> usize {
        usize::from(self.varies) + self.tensors.len() * self.tokenizer.length()
    }

    /// Returns the tokens of a sample that is padded to the length that longer ones are cut to, or
    /// `None` if no mask tells them.
    pub(in crate::ensemble::samples) fn tokens_of(&self, row: &[f32]) -> Option<usize> {
        let length = self.tokenizer.length();
        let mask = self.tensors.iter().position(|t| *t == TokenTensor::Mask)?;
        let mask = row.get(mask * length..)?.get(..length)?;
        Some(mask.iter().rposition(|value| *value != 0.0)? + 1)
    }

    /// Appends the row of a text or a pair of texts to `rows`. Returns whether tokens were cut
    /// off.
    ///
    /// # Errors
    /// As for [`TextTokenizer::encode`].
    pub fn write_row(
        &self,
        text: &str,
        pair: Option<&str>,
        rows: &mut Vec<f32>,
    ) -> Result<bool, TextError> {
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
