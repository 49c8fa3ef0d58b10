//! The bounds of a tokenizer's work, which its file could lift: how far its steps lengthen a
//! text, how long the words are that it takes apart, and that it makes the same of a text each
//! time.

use serde_json::Value;

use super::error::TextError;

/// The most times that the steps of a tokenizer may lengthen a text. ALBERT's six reach 1452 by
/// the figures of [`growth`].
const MOST_GROWTH: usize = 4096;

/// The most steps of normalising a text, of taking it apart, and of adding tokens to it.
const MOST_STEPS: usize = 64;

/// The most characters of a word that WordPiece takes apart: the time grows with the cube.
/// BERT's 100 is usual.
const MOST_WORD: u64 = 1000;

/// The most bytes of a token of Unigram: the time grows with the square. SentencePiece's 16
/// characters are usual.
const MOST_TOKEN: usize = 512;

/// The bytes of a text that are looked at for each token that fits, and the least. Tokens of
/// natural languages have three to five.
const BYTES_OF_TOKEN: usize = 64;
const LEAST_BYTES: usize = 16 << 10;

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
    match of_model(&file["model"]).or_else(|| of_steps(&file)) {
        Some(why) => Err(TextError::Unbounded(why)),
        None => Ok(()),
    }
}

/// Returns the field of a model whose work would have no bound or not repeat, and what was
/// expected.
fn of_model(model: &Value) -> Option<String> {
    let word = model["max_input_chars_per_word"].as_u64();
    if let Some(found) = word.filter(|found| *found > MOST_WORD) {
        return Some(format!(
            "model.max_input_chars_per_word: expected at most {MOST_WORD}, found {found}"
        ));
    }
    if model["dropout"].as_f64().is_some_and(|share| share > 0.0) {
        let why = "model.dropout: expected none, since a text would get different tokens each time";
        return Some(why.into());
    }
    // Unigram's is a list of tokens with their scores.
    let listed = model["vocab"].as_array().into_iter().flatten();
    let mut tokens = listed.filter_map(|entry| entry[0].as_str());
    let is_long = tokens.any(|token| token.len() > MOST_TOKEN);
    is_long.then(|| format!("model.vocab: expected tokens of at most {MOST_TOKEN} bytes"))
}

/// Returns the steps before and after the model that are too many, or lengthen a text too far.
fn of_steps(file: &Value) -> Option<String> {
    let parts = ["normalizer", "pre_tokenizer", "post_processor"];
    if let Some(part) = parts.iter().find(|part| steps(&file[**part]) > MOST_STEPS) {
        return Some(format!("{part}: expected at most {MOST_STEPS} steps"));
    }
    (growth(&file["normalizer"]) > MOST_GROWTH).then(|| {
        format!("normalizer: expected steps that lengthen a text at most {MOST_GROWTH} times")
    })
}

/// Returns the number of steps that a step consists of.
fn steps(step: &Value) -> usize {
    let lists = ["normalizers", "pretokenizers", "processors"];
    let lists = lists.iter().filter_map(|name| step[*name].as_array());
    1 + lists.flatten().map(steps).sum::<usize>()
}

/// Returns the most times that a step of normalisation lengthens a text, in bytes. Steps are
/// told by their fields, since old files have no types. The figures of Unicode's forms are
/// those of its FAQ on normalisation.
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
        Some("Lowercase" | "ByteLevel") => 2,
        Some("NFC" | "NFD") => 3,
        Some("NFKC" | "NFKD") => 11,
        // BERT's takes accents off, lowers letters and puts spaces around others: 3 × 2 × 2.
        _ => 12,
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
