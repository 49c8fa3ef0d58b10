//! The errors of tokenizers and texts.

use thiserror::Error;

/// The reason why a file is not a tokenizer, or a text not a sample.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TextError {
    /// The file is not a tokenizer.
    #[error("expected a tokenizer.json of Hugging Face's tokenizers: {0}")]
    Unreadable(String),
    /// The file is a tokenizer whose work is unbounded or not reproducible.
    #[error("{0}")]
    Unbounded(String),
    /// Samples are too short for the tokenizer.
    #[error(
        "expected at least {least}, since the tokenizer adds {added} tokens of its own, found {found}"
    )]
    Short {
        /// The minimum length.
        least: usize,
        /// The number of tokens that it adds to a pair of texts.
        added: usize,
        /// The length.
        found: usize,
    },
    /// The text is empty or consists of spaces.
    #[error("expected a non-empty text")]
    Empty,
    /// The tokenizer returns no tokens for a text.
    #[error("the tokenizer finds no token in the text")]
    NoTokens,
    /// The tokenizer fails on a text.
    #[error("the tokenizer fails: {0}")]
    Failed(String),
    /// A token is not in the vocabulary. A tokenizer's own rules may add such a token.
    #[error("the tokenizer makes token {found}, but its vocabulary ends at {most}")]
    Beyond {
        /// The token's id.
        found: u32,
        /// The largest id of the vocabulary.
        most: u32,
    },
}
