//! Texts as samples: reads files of texts, and converts texts to the tensors of a network with a
//! tokenizer.

mod files;
mod input;
mod limits;
mod rows;
mod tokenizer;

pub use input::{TextInput, TokenTensor};
pub use rows::SampleText;
pub use tokenizer::{MOST_TOKENIZER, TextTokenizer, TokenizerError};

pub(super) use files::{csv, lines};
pub(super) use rows::TextRows;
