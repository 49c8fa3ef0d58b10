//! A `tokenizer.json` of Hugging Face's tokenizers. The file may be damaged or hostile: it is read
//! within limits, and panics of the library become errors.

use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;
use tokenizers::{
    EncodeInput, Encoding, PostProcessor, Tokenizer, TruncationDirection, TruncationParams,
    TruncationStrategy,
};

use divisi_runtime::reading::ReadError;

use super::limits::{self, not_tokenizer};

/// The maximum number of bytes of a file. A larger file is treated as a mistake.
pub const MOST_TOKENIZER: u64 = 64 << 20;

/// The padding tokens if the file names none: those of BERT, RoBERTa and T5.
const PADDING: [&str; 2] = ["[PAD]", "<pad>"];

/// The maximum number of characters of the library's messages in an error.
const SHOWN: usize = 160;

/// The reason why there is no tokenizer of a length.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TokenizerError {
    /// The file is not a tokenizer, or its work is unbounded or not reproducible.
    #[error(transparent)]
    File(#[from] ReadError),
    /// The length is too short for the tokens that the tokenizer adds.
    #[error(transparent)]
    Length(ReadError),
}

/// A tokenizer that cuts texts to a length.
pub struct TextTokenizer {
    tokenizer: Tokenizer,
    length: usize,
    /// The largest id of its vocabulary.
    highest: u32,
    padding: u32,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`. It will cut texts to `length` tokens, including the tokens that it
    /// adds. The file's own length and padding are ignored, except for the padding id.
    ///
    /// # Errors
    /// The text is not a tokenizer, its work is unbounded, or the length is too short for the
    /// tokens that it adds.
    pub fn parse(text: &str, length: usize) -> Result<Self, TokenizerError> {
        limits::check(text)?;
        let read = || text.parse::<Tokenizer>().map_err(|e| shown(&e.to_string()));
        let read = caught(read).unwrap_or_else(Err);
        let mut tokenizer = read.map_err(not_tokenizer)?;
        let vocabulary = tokenizer.get_vocab(true);
        let Some(highest) = vocabulary.values().copied().max() else {
            return Err(not_tokenizer("its vocabulary is empty").into());
        };
        let written = tokenizer.get_padding().map(|padding| padding.pad_id);
        let known = || {
            PADDING
                .iter()
                .find_map(|name| vocabulary.get(*name).copied())
        };
        let padding = written.or_else(known).unwrap_or(0);
        if padding > highest {
            return Err(beyond(padding, highest).into());
        }
        tokenizer.with_padding(None);
        cut_to(&mut tokenizer, length)?;
        Ok(TextTokenizer {
            tokenizer,
            length,
            highest,
            padding,
        })
    }

    /// Returns the largest id of its vocabulary.
    pub fn highest(&self) -> u32 {
        self.highest
    }

    /// Returns the largest type of the tokens of a text or a pair.
    pub fn highest_type(&self) -> u32 {
        let tries = [None, Some("a")].map(|pair| self.encode("a", pair));
        let encodings = tries.iter().flatten();
        let types = encodings.flat_map(|(encoding, _)| encoding.get_type_ids());
        types.copied().max().unwrap_or(0)
    }

    /// Returns the tokenizer with another padding id.
    #[must_use]
    pub fn padded_with(self, padding: u32) -> Self {
        TextTokenizer { padding, ..self }
    }

    /// Returns the padding id.
    pub fn padding(&self) -> u32 {
        self.padding
    }

    /// Returns the number of tokens to which texts are cut.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the tokens of a text or a pair of texts, and whether the text was truncated.
    ///
    /// # Errors
    /// A text is empty, or the tokenizer fails on it.
    pub fn encode(&self, text: &str, pair: Option<&str>) -> Result<(Encoding, bool), ReadError> {
        self.encoded(text, pair, |input| self.tokenizer.encode_fast(input, true))
    }

    /// Returns for each token the part of the text, or of the pair of texts, that it stands for,
    /// without surrounding space. Tokens added by the tokenizer have their names.
    ///
    /// # Errors
    /// As for [`TextTokenizer::encode`].
    pub fn pieces(&self, text: &str, pair: Option<&str>) -> Result<Vec<String>, ReadError> {
        let (encoding, _) = self.encoded(text, pair, |input| self.tokenizer.encode(input, true))?;
        let added = encoding.get_special_tokens_mask();
        let tokens = encoding.get_tokens().iter().zip(encoding.get_offsets());
        let piece = |(at, (name, &(first, end))): (usize, (&String, &(usize, usize)))| {
            let of = match encoding.token_to_sequence(at) {
                Some(1) => pair.unwrap_or_default(),
                _ => text,
            };
            let own = added.get(at) == Some(&0);
            let found = of.get(first..end).filter(|_| own && first < end);
            found.map_or(name.clone(), |found| found.trim().to_owned())
        };
        Ok(tokens.enumerate().map(piece).collect())
    }

    fn encoded(
        &self,
        text: &str,
        pair: Option<&str>,
        encode: impl FnOnce(EncodeInput<'_>) -> tokenizers::Result<Encoding>,
    ) -> Result<(Encoding, bool), ReadError> {
        if text.trim().is_empty() {
            return Err(ReadError::new("expected a non-empty text"));
        }
        let (text, cut) = limits::beginning(text, self.length);
        let pair = pair.map(|pair| limits::beginning(pair, self.length));
        let input: EncodeInput<'_> = match pair {
            Some((pair, _)) => (text, pair).into(),
            None => text.into(),
        };
        let encoded = caught(|| encode(input)).map(|made| made.map_err(|e| shown(&e.to_string())));
        let encoding = encoded.unwrap_or_else(Err).map_err(failed)?;
        let cut = cut || pair.is_some_and(|(_, cut)| cut);
        self.check(&encoding)?;
        let cut = cut || !encoding.get_overflowing().is_empty();
        Ok((encoding, cut))
    }

    /// Checks constraints that the tokenizer's own rules may violate.
    fn check(&self, encoding: &Encoding) -> Result<(), ReadError> {
        let (ids, types) = (encoding.get_ids(), encoding.get_type_ids());
        if ids.is_empty() {
            return Err(ReadError::new("the tokenizer finds no token in the text"));
        }
        if ids.len() > self.length || types.len() != ids.len() {
            let why = format!("{} tokens, but only {} fit", ids.len(), self.length);
            return Err(failed(why));
        }
        match ids.iter().copied().find(|id| *id > self.highest) {
            Some(found) => Err(beyond(found, self.highest)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for TextTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TextTokenizer");
        shown.field("length", &self.length);
        shown
            .field("highest", &self.highest)
            .finish_non_exhaustive()
    }
}

/// Cuts texts to `length` tokens: the longer text of a pair first, as Hugging Face's
/// `truncation=True` does.
fn cut_to(tokenizer: &mut Tokenizer, length: usize) -> Result<(), TokenizerError> {
    let processor = tokenizer.get_post_processor();
    let added = processor.map_or(0, |p| p.added_tokens(false).max(p.added_tokens(true)));
    // Room for one token of each text of a pair.
    let least = added.saturating_add(2);
    if length < least {
        let expected =
            format_args!("at least {least}, since the tokenizer adds {added} tokens of its own");
        let short = ReadError::expected(expected, length);
        return Err(TokenizerError::Length(short));
    }
    let params = TruncationParams {
        direction: TruncationDirection::Right,
        max_length: length,
        strategy: TruncationStrategy::LongestFirst,
        stride: 0,
    };
    let cut = tokenizer.with_truncation(Some(params));
    cut.map_err(|e| not_tokenizer(shown(&e.to_string())))?;
    Ok(())
}

fn failed(reason: impl Display) -> ReadError {
    ReadError::new(reason).at("the tokenizer fails")
}

/// Returns the error of a token that is not in the vocabulary. A tokenizer's own rules may add one.
fn beyond(found: u32, most: u32) -> ReadError {
    ReadError::new(format_args!(
        "the tokenizer makes token {found}, but its vocabulary ends at {most}"
    ))
}

/// Runs library code that may panic, because it unwraps fields that a damaged file lacks.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // A panic changes nothing in the tokenizer except its cache of words, and its lock is never
    // poisoned in the middle of an entry.
    let done = catch_unwind(AssertUnwindSafe(work));
    done.map_err(|_| "the library panicked".to_owned())
}

/// Returns the beginning of the library's message for a terminal.
fn shown(text: &str) -> String {
    let safe = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(SHOWN).map(safe).collect()
}
