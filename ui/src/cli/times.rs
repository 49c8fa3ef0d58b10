//! Times as values of options: `30ms`, `2s`, or a number in the option's own unit.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::time;

/// A day: the longest time that an option takes.
const DAY: f64 = 86_400.0;

/// Parses a time. A number without a unit is in milliseconds.
pub(crate) fn parse_millis(text: &str) -> Result<Duration, String> {
    parse(text, "ms", 1e-6..=3_600.0)
}

/// Parses a time. A number without a unit is in seconds.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    parse(text, "s", 0.1..=DAY)
}

fn parse(text: &str, unit: &str, seconds: RangeInclusive<f64>) -> Result<Duration, String> {
    let has_unit = text.trim().parse::<f64>().is_err();
    let parsed = match has_unit {
        true => time(text),
        false => time(&format!("{}{unit}", text.trim())),
    };
    let parsed = parsed.ok().filter(|t| seconds.contains(&t.as_secs_f64()));
    parsed.ok_or_else(|| {
        let (least, most) = (in_words(*seconds.start()), in_words(*seconds.end()));
        format!("expected a time from {least} to {most}, such as 30ms or 2s, found `{text}`")
    })
}

fn in_words(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{}ms", (s * 1e6).round() / 1e3),
        s => format!("{s}s"),
    }
}
