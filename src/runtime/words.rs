//! Readable numbers, sizes and parser messages.

use std::borrow::Cow;

use thiserror::Error;

/// Returns a number as a person would write it: `1e300`, not three hundred digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e16).contains(&size) && size.is_finite() {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Returns a number with its digits in groups of three: `12 345`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Returns a number of things, in words: `1 tensor`, `2 tensors`.
pub fn counted(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}

/// Returns a text as one line: line breaks and other control characters, which could forge lines of a
/// log or steer a terminal, as their escapes (`\n`).
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_debug()),
            false => line.push(c),
        }
    }
    Cow::Owned(line)
}

/// Returns a text as a field of CSV, in quotes if it needs them. Control characters are escaped as
/// by [`one_line`].
pub fn csv_field(text: &str) -> Cow<'_, str> {
    let line = one_line(text);
    match line.contains([',', '"']) {
        true => Cow::Owned(format!("\"{}\"", line.replace('"', "\"\""))),
        false => line,
    }
}

/// Returns a message of TOML's parser with plain words instead of the names of Rust's types.
pub fn plain(message: &str) -> String {
    // The other lines name the place.
    let (said, place) = match message.trim().split_once('\n') {
        Some((said, place)) => (said, format!(" {}", place.replace('\n', " "))),
        None => (message.trim(), String::new()),
    };
    let starts = ["invalid type: ", "invalid value: "];
    let rest = starts.iter().find_map(|s| said.strip_prefix(s));
    match rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        None => format!("{said}{place}"),
        Some((found, expected)) => {
            let (expected, found) = (type_words(expected, found), found_value(found));
            format!("expected {expected}, found {found}{place}")
        }
    }
}

/// Returns the words for a Rust type.
fn type_words<'a>(expected: &'a str, found: &str) -> &'a str {
    let is_whole = found.starts_with("integer ");
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "u128" => match found.contains('-') {
            false if is_whole => "a smaller whole number",
            _ => "a whole number from 0",
        },
        "i8" | "i16" | "i32" | "i64" | "isize" | "i128" => match is_whole {
            true => "a whole number of at most 64 bits",
            false => "a whole number",
        },
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        // Some say the word themselves.
        other => other.strip_prefix("expected ").unwrap_or(other),
    }
}

/// Returns the found value without the name of its type.
fn found_value(found: &str) -> String {
    let quoted = found.split_once('`').and_then(|(kind, rest)| {
        let (value, _) = rest.rsplit_once('`')?;
        Some((kind.trim_end(), value))
    });
    match (quoted, found) {
        (Some(("floating point", value)), _) => {
            value.parse().map_or_else(|_| value.to_owned(), number)
        }
        (Some(("integer" | "boolean", value)), _) => value.to_owned(),
        (_, "map") => "a table".into(),
        (_, "sequence") => "a list".into(),
        (_, other) => other.strip_prefix("string ").unwrap_or(other).to_owned(),
    }
}

/// A text is not a size in bytes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected a size such as 512MiB, found `{found}`")]
pub struct SizeError {
    found: String,
}

/// Returns a size as text with a binary unit: `1.5 GiB`, `640 KiB`, `12 B`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ if value < 10.0 => format!("{value:.1} {}", UNITS[unit]),
        _ => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// Reads a size such as `512MiB`, `2 GiB` or `1000000`. Units are KiB, MiB, GiB and TiB; K, M, G
/// and T mean the same.
///
/// # Errors
/// The text is not a positive number, or has another unit.
pub fn parse_bytes(text: &str) -> Result<u64, SizeError> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let factor = match unit.trim() {
        "" | "B" => 1u64,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        _ => 0,
    };
    match number.parse::<f64>() {
        Ok(n) if factor > 0 && n > 0.0 => Ok((n * factor as f64) as u64),
        _ => Err(SizeError {
            found: text.to_owned(),
        }),
    }
}

#[cfg(test)]
#[path = "../../tests/runtime/units/words.rs"]
mod tests;
