//! The errors of tokenizers and texts.

use thiserror::Error;

/// Why a file is no tokenizer, or a text no sample.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TextError {
    /// The file is no tokenizer.
    #[error("expected a tokenizer.json of Hugging Face's tokenizers: {0}")]
    Unreadable(String),
    /// The file is a tokenizer whose work would have no bound, or not repeat.
    #[error("{0}")]
    Unbounded(String),
    /// Samples are too short for the tokenizer.
    #[error(
        "expected at least {least}, since the tokenizer adds {added} tokens of its own, found {found}"
    )]
    Short {
        /// The least length.
        least: usize,
        /// Tokens that it adds to a pair of texts.
        added: usize,
        /// The length.
        found: usize,
    },
    /// A text without a character but spaces.
    #[error("expected a non-empty text")]
    Empty,
    /// The tokenizer makes nothing of a text.
    #[error("the tokenizer finds no token in the text")]
    NoTokens,
    /// The tokenizer fails on a text.
    #[error("the tokenizer fails: {0}")]
    Failed(String),
    /// A token that is not in the vocabulary, which a tokenizer's own rules may add.
    #[error("the tokenizer makes token {found}, but its vocabulary ends at {most}")]
    Beyond {
        /// The token's id.
        found: u32,
        /// The largest id of the vocabulary.
        most: u32,
    },
}
