//! The bounds of a tokenizer's work, which its file could lift: how far its steps lengthen a
//! text, how long the words are that it takes apart, and that it makes the same of a text each
//! time.

use serde_json::Value;

use super::error::TextError;

/// The most times that the steps of a tokenizer may lengthen a text. The compatibility forms of
/// Unicode reach 11 in UTF-8 (U+FDFA), and files combine two or three steps.
const MOST_GROWTH: usize = 1024;

/// The most characters of a word that WordPiece takes apart: the time grows with the cube.
/// BERT's 100 is usual.
const MOST_WORD: u64 = 1000;

/// The bytes of a text that are looked at for each token that fits, and the least. Tokens of
/// natural languages have three to five.
const BYTES_OF_TOKEN: usize = 64;
const LEAST_BYTES: usize = 16 << 10;

/// The growth of steps that only Unicode's tables bound.
const OF_UNICODE: usize = 11;

/// Returns the beginning of a text that can fill a sample of `length` tokens, and whether the
/// text goes on.
pub(super) fn beginning(text: &str, length: usize) -> (&str, bool) {
    let most = length.saturating_mul(BYTES_OF_TOKEN).max(LEAST_BYTES);
    let end = text.floor_char_boundary(most);
    (&text[..end], end < text.len())
}

/// Checks that the work of the tokenizer in `text` has bounds and repeats.
///
/// # Errors
/// The text is no JSON, or the tokenizer's work has no bound.
pub(super) fn check(text: &str) -> Result<(), TextError> {
    let parsed: Result<Value, _> = serde_json::from_str(text);
    let file = parsed.map_err(|e| TextError::Unreadable(e.to_string()))?;
    let word = file["model"]["max_input_chars_per_word"].as_u64();
    if let Some(found) = word.filter(|found| *found > MOST_WORD) {
        return Err(TextError::Unbounded(format!(
            "model.max_input_chars_per_word: expected at most {MOST_WORD}, found {found}"
        )));
    }
    if file["model"]["dropout"]
        .as_f64()
        .is_some_and(|share| share > 0.0)
    {
        let why = "model.dropout: expected none: the same text would have other tokens each time";
        return Err(TextError::Unbounded(why.into()));
    }
    let grown = growth(&file["normalizer"]);
    if grown > MOST_GROWTH {
        return Err(TextError::Unbounded(format!(
            "normalizer: expected steps that lengthen a text at most {MOST_GROWTH} times"
        )));
    }
    Ok(())
}

/// Returns the most times that a step of normalisation lengthens a text, in bytes. Steps are
/// told by their fields, since old files have no types.
fn growth(step: &Value) -> usize {
    let text = |field: &str| step[field].as_str();
    if let Some(steps) = step["normalizers"].as_array() {
        return steps.iter().map(growth).fold(1, usize::saturating_mul);
    }
    if let Some(table) = text("precompiled_charsmap") {
        return longest_replacement(table).max(1);
    }
    if let Some(added) = text("content").or(text("prepend")) {
        let pattern = step["pattern"]["String"].as_str().map_or(1, str::len);
        return 1 + added.len() / pattern.max(1);
    }
    match text("type") {
        Some("Strip" | "StripAccents" | "Nmt") => 1,
        None if step.is_null() => 1,
        _ => OF_UNICODE,
    }
}

/// Returns the bytes of the longest replacement of a table by SentencePiece: base64 of the size
/// of an index in four bytes, the index, and replacements that end in a zero.
fn longest_replacement(table: &str) -> usize {
    let table = base64::decode(table).unwrap_or_default();
    let size = table.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
    let first = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .saturating_add(4);
    let replacements = table.get(first..).unwrap_or_default();
    let longest = replacements.split(|b| *b == 0).map(<[u8]>::len).max();
    longest.unwrap_or(0)
}
