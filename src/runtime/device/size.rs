//! Sizes in bytes, as text.

use thiserror::Error;

/// A text is no size in bytes.
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

/// Reads a size such as `512MiB`, `2 GiB` or `1000000`. Units are KiB, MiB, GiB and TiB, or
/// K, M, G and T for the same.
///
/// # Errors
/// The text is no positive number, or has another unit.
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
