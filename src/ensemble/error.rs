//! What can be wrong with an ensemble's files.

use thiserror::Error;

use crate::words;

/// Names the file, the place in it, the field and what was expected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EnsembleError {
    #[error("{file}: {reason}")]
    File { file: String, reason: String },
    #[error("{file}:{line}: {message}")]
    Place {
        file: String,
        line: usize,
        message: String,
    },
}

/// The line (from 1) of a byte offset.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    1 + text.as_bytes()[..end]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

impl EnsembleError {
    /// A TOML error with its line.
    pub(super) fn toml(file: String, text: &str, error: &toml::de::Error) -> Self {
        let line = line_of(text, error.span().map_or(0, |s| s.start));
        let message = words::plain(error.message());
        let message = match field_in(text, line) {
            Some(field) if !message.contains(&format!("`{field}`")) => {
                format!("{field}: {message}")
            }
            _ => message,
        };
        EnsembleError::Place {
            file,
            line,
            message,
        }
    }
}

/// The field that a line of TOML sets, as far as it does.
fn field_in(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line.checked_sub(1)?)?.split_once('=')?;
    let key = key.trim();
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}
