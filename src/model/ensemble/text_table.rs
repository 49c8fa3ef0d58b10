//! The manifest table for the conversion of texts to samples.

use serde::Deserialize;
use toml::Spanned;

/// The table `input.text`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextTable {
    /// The file of the tokenizer.
    pub tokenizer: Spanned<String>,
    /// The number of tokens to which texts are cut or padded.
    pub length: Spanned<i64>,
    /// The padding id. Defaults to the tokenizer's.
    pub padding_id: Option<Spanned<i64>>,
    /// The names of the tensors for the tokens' ids, the mask, types and positions.
    pub ids: Option<String>,
    pub mask: Option<String>,
    pub types: Option<String>,
    pub positions: Option<String>,
}
