//! Checks that a tokenizer's work is bounded and reproducible, which its file could violate: the
//! growth of a text by its steps, the length of words that it splits, and random results.

use std::fmt::Display;

use serde_json::Value;

use divisi_runtime::reading::ReadError;

/// The maximum factor by which the steps of a tokenizer may lengthen a text. ALBERT's six steps
/// reach 1452 by the figures of [`growth`].
const MOST_GROWTH: usize = 4096;

/// The maximum number of steps for normalising a text, for splitting it, and for adding tokens.
const MOST_STEPS: usize = 64;

/// The maximum number of characters of a word that WordPiece splits, because the time is cubic in
/// it. BERT's 100 is usual.
const MOST_WORD: u64 = 1000;

/// The maximum number of bytes of a Unigram token, because the time is quadratic in it.
/// SentencePiece's 16 characters are usual.
const MOST_TOKEN: usize = 512;

/// The number of bytes of a text that are read per token that fits, and the minimum number of
/// bytes. Tokens of natural languages have three to five bytes.
const BYTES_OF_TOKEN: usize = 64;
const LEAST_BYTES: usize = 16 << 10;

/// Returns the beginning of a text that can fill a sample of `length` tokens, and whether the text
/// continues.
pub(super) fn beginning(text: &str, length: usize) -> (&str, bool) {
    let most = length.saturating_mul(BYTES_OF_TOKEN).max(LEAST_BYTES);
    let end = text.floor_char_boundary(most);
    (&text[..end], end < text.len())
}

/// Returns the error of a file that is not a tokenizer.
pub(super) fn not_tokenizer(reason: impl Display) -> ReadError {
    ReadError::new(reason).at("expected a tokenizer.json of Hugging Face's tokenizers")
}

/// Checks that the work of the tokenizer in `text` is bounded and reproducible.
///
/// # Errors
/// The text is not valid JSON, or the tokenizer's work is unbounded or not reproducible.
pub(super) fn check(text: &str) -> Result<(), ReadError> {
    let parsed: Result<Value, _> = serde_json::from_str(text);
    let file = parsed.map_err(not_tokenizer)?;
    match of_model(&file["model"]).or_else(|| of_steps(&file)) {
        Some(why) => Err(ReadError::new(why)),
        None => Ok(()),
    }
}

/// Returns the field of a model that makes the work unbounded or not reproducible, with the
/// expected value.
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
    // Unigram's vocabulary is a list of tokens with their scores.
    let listed = model["vocab"].as_array().into_iter().flatten();
    let mut tokens = listed.filter_map(|entry| entry[0].as_str());
    let is_long = tokens.any(|token| token.len() > MOST_TOKEN);
    is_long.then(|| format!("model.vocab: expected tokens of at most {MOST_TOKEN} bytes"))
}

/// Returns the part whose steps are too many, or lengthen a text too much.
fn of_steps(file: &Value) -> Option<String> {
    let parts = ["normalizer", "pre_tokenizer", "post_processor"];
    if let Some(part) = parts.iter().find(|part| steps(&file[**part]) > MOST_STEPS) {
        return Some(format!("{part}: expected at most {MOST_STEPS} steps"));
    }
    (growth(&file["normalizer"]) > MOST_GROWTH).then(|| {
        format!("normalizer: expected steps that lengthen a text at most {MOST_GROWTH} times")
    })
}

/// Returns the number of steps in a step.
fn steps(step: &Value) -> usize {
    let lists = ["normalizers", "pretokenizers", "processors"];
    let lists = lists.iter().filter_map(|name| step[*name].as_array());
    1 + lists.flatten().map(steps).sum::<usize>()
}

/// Returns the maximum factor by which a step of normalisation lengthens a text, in bytes. Steps
/// are identified by their fields, because old files have no types. The figures of Unicode's forms
/// come from its FAQ on normalisation.
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
        // BERT's removes accents, lowers letters and puts spaces around other characters: 3 × 2 ×
        // 2.
        _ => 12,
    }
}

/// Returns the bytes of the longest replacement in a SentencePiece table: base64 of the size of an
/// index in four bytes, the index, and replacements that end with a zero.
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
