//! The table of a manifest that says how texts become samples.

use serde::Deserialize;
use toml::Spanned;

/// The table `input.text`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextTable {
    /// The file of the tokenizer.
    pub tokenizer: Spanned<String>,
    /// The number of tokens that texts are cut or padded to.
    pub length: Spanned<i64>,
    /// The id behind the end of a text that is padded; that of the tokenizer if it is not written.
    pub padding_id: Option<Spanned<i64>>,
    /// The names of the tensors that hold the tokens' ids, the mask, types and positions.
    pub ids: Option<String>,
    pub mask: Option<String>,
    pub types: Option<String>,
    pub positions: Option<String>,
}
