//! The values of options, and the expected values of each option.

use std::fmt;
use std::time::Duration;

use toml::de::DeValue;

/// A value of an option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConfigValue {
    Text(String),
    Number(f64),
    Flag(bool),
    Time(Duration),
}

/// The accepted values of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ExpectedValue {
    /// One of these words.
    Words(&'static [&'static str]),
    /// The name of a theme, built in or in a file.
    Theme,
    /// Any text; holds its meaning.
    Text(&'static str),
    Flag,
    /// A whole number within these bounds.
    Whole(u32, u32),
    /// A number within these bounds.
    Number(f64, f64),
    /// A time with its unit, within these bounds in seconds.
    Time(f64, f64),
}

impl ExpectedValue {
    /// Reads a value.
    ///
    /// # Errors
    /// The value is not of the expected kind, or out of bounds.
    pub(crate) fn read(
        self,
        found: &DeValue<'_>,
        themes: &[String],
    ) -> Result<ConfigValue, String> {
        let wrong = || format!("expected {}, found {}", self.words(themes), shown(found));
        self.take(found, themes).ok_or_else(wrong)
    }

    fn take(self, found: &DeValue<'_>, themes: &[String]) -> Option<ConfigValue> {
        let text = found.as_str();
        let number = number(found);
        let owned = |t: &str| ConfigValue::Text(t.to_owned());
        match self {
            ExpectedValue::Words(words) => text.filter(|t| words.contains(t)).map(owned),
            ExpectedValue::Theme => text
                .filter(|t| *t == "auto" || themes.iter().any(|n| n == t))
                .map(owned),
            ExpectedValue::Text(_) => text.map(owned),
            ExpectedValue::Flag => found.as_bool().map(ConfigValue::Flag),
            ExpectedValue::Whole(least, most) => number
                .filter(|n| n.fract() == 0.0 && (f64::from(least)..=f64::from(most)).contains(n))
                .map(ConfigValue::Number),
            ExpectedValue::Number(least, most) => {
                let within = number.filter(|n| (least..=most).contains(n));
                within.map(ConfigValue::Number)
            }
            ExpectedValue::Time(least, most) => {
                let time = text.and_then(|t| time(t).ok());
                let within = time.filter(|t| (least..=most).contains(&t.as_secs_f64()));
                within.map(ConfigValue::Time)
            }
        }
    }

    /// Describes the values, for errors and default files.
    pub(crate) fn words(self, themes: &[String]) -> String {
        match self {
            ExpectedValue::Words(words) => either(words),
            ExpectedValue::Theme => {
                let names: Vec<&str> = themes.iter().map(String::as_str).collect();
                format!(
                    "auto, {} or the name of a file in themes/",
                    names.join(", ")
                )
            }
            ExpectedValue::Text(what) => what.to_owned(),
            ExpectedValue::Flag => "true or false".to_owned(),
            ExpectedValue::Whole(least, most) => format!("a whole number from {least} to {most}"),
            ExpectedValue::Number(least, most) => format!("a number from {least} to {most}"),
            ExpectedValue::Time(least, most) => format!(
                "a time such as \"30s\" or \"500ms\", from {} to {}",
                ConfigValue::Time(Duration::from_secs_f64(least)),
                ConfigValue::Time(Duration::from_secs_f64(most))
            ),
        }
    }
}

fn either(words: &[&str]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        words => words.join(", "),
    }
}

fn number(found: &DeValue<'_>) -> Option<f64> {
    match found {
        DeValue::Integer(n) => n.to_string().replace('_', "").parse().ok(),
        DeValue::Float(n) => n.as_str().replace('_', "").parse().ok(),
        _ => None,
    }
}

/// Formats a value for an error.
fn shown(found: &DeValue<'_>) -> String {
    match found {
        DeValue::String(text) => format!("`{text}`"),
        DeValue::Integer(n) => format!("`{n}`"),
        DeValue::Float(n) => format!("`{}`", n.as_str()),
        DeValue::Boolean(flag) => format!("`{flag}`"),
        other => format!("a {}", other.type_str()),
    }
}

/// Parses a time: `30s`, `500ms`, `2min`.
///
/// # Errors
/// The text is not a number with a unit of time.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = text[..text.len() - unit.len()].parse::<f64>().ok();
    let scale = match unit.trim() {
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "min" | "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let seconds = number.zip(scale).map(|(n, s)| n * s);
    let seconds = seconds.filter(|s| (0.0..=1e9).contains(s));
    let wrong = || format!("expected a time such as 30s, 500ms or 2min, found `{text}`");
    seconds.map(Duration::from_secs_f64).ok_or_else(wrong)
}

impl fmt::Display for ConfigValue {
    /// Writes the value in the notation of files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigValue::Text(text) => write!(f, "{text:?}"),
            ConfigValue::Number(number) => write!(f, "{number}"),
            ConfigValue::Flag(flag) => write!(f, "{flag}"),
            ConfigValue::Time(time) if time.subsec_nanos() != 0 => {
                write!(f, "\"{}ms\"", time.as_secs_f64() * 1e3)
            }
            ConfigValue::Time(time) => write!(f, "\"{}s\"", time.as_secs()),
        }
    }
}
