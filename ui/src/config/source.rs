//! The text of a configuration file, and errors with their place in one or several files.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use thiserror::Error;
use toml::de::DeTable;

use super::values::UnexpectedValue;

/// The text of a file.
#[derive(Clone, Debug)]
pub struct ConfigSource<'a> {
    /// The path of the file.
    pub path: &'a Path,
    /// Its contents.
    pub text: &'a str,
}

/// An error in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, or the option of the command line.
    pub path: PathBuf,
    /// Line and column, from 1, or `None` for the whole file.
    pub place: Option<(usize, usize)>,
    /// The key with its table: `console.theme`.
    pub key: String,
    /// The problem.
    pub problem: Box<ConfigProblem>,
}

/// A problem in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigProblem {
    /// The file exists and cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The text is not TOML, or not of the expected form.
    #[error("{0}")]
    Syntax(String),
    /// An unknown table or key.
    #[error("no such key{}", suggestion(.nearest.as_deref(), .known))]
    UnknownKey {
        /// The most similar known name.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A value that the option does not accept.
    #[error(transparent)]
    Value(#[from] UnexpectedValue),
    /// A theme that does not exist.
    #[error("expected auto, {}, found `{found}`", .known.join(", "))]
    UnknownTheme {
        /// The requested name.
        found: String,
        /// The names of all themes.
        known: Vec<String>,
    },
    /// Any other problem, in the words of its parser or check.
    #[error("{0}")]
    Refused(String),
}

fn suggestion(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!(": expected one of {}", known.join(", ")),
    }
}

impl From<&str> for ConfigProblem {
    fn from(text: &str) -> Self {
        ConfigProblem::Refused(text.to_owned())
    }
}

impl From<String> for ConfigProblem {
    fn from(text: String) -> Self {
        ConfigProblem::Refused(text)
    }
}

impl std::error::Error for ConfigError {}

/// The first error of each file with errors, in reading order.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{first}{}", .others.iter().map(|e| format!("\n{e}")).collect::<String>())]
pub struct ConfigErrors {
    /// The error of the first file.
    pub first: ConfigError,
    /// The errors of the other files.
    pub others: Vec<ConfigError>,
}

/// Collects the errors of files while reading continues.
#[derive(Debug, Default)]
pub(super) struct ErrorCollection(Vec<ConfigError>);

impl ErrorCollection {
    /// Returns the value, or keeps the error and returns `None`.
    pub(super) fn pass<T>(&mut self, read: Result<T, ConfigError>) -> Option<T> {
        read.map_err(|error| self.0.push(error)).ok()
    }

    /// Checks that there are no errors.
    ///
    /// # Errors
    /// All collected errors.
    pub(super) fn check(self) -> Result<(), ConfigErrors> {
        let mut errors = self.0.into_iter();
        let Some(first) = errors.next() else {
            return Ok(());
        };
        let others = errors.collect();
        Err(ConfigErrors { first, others })
    }
}

impl ConfigError {
    /// Returns the error of a file that exists and cannot be read.
    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        ConfigError {
            path: path.to_owned(),
            place: None,
            key: String::new(),
            problem: Box::new(ConfigProblem::Unreadable(error.to_string())),
        }
    }

    /// Returns the error for one line of a screen: the file name has no folder.
    pub fn brief(&self) -> String {
        let name = self.path.file_name().map(PathBuf::from);
        let path = name.unwrap_or_else(|| self.path.clone());
        let short = ConfigError {
            path,
            ..self.clone()
        };
        short.to_string()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl<'a> ConfigSource<'a> {
    /// Parses the text into tables.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn tables(&self) -> Result<DeTable<'a>, ConfigError> {
        let parsed = DeTable::parse(self.text);
        let tables = parsed.map_err(|e| {
            let what = ConfigProblem::Syntax(e.message().replace('\n', ", "));
            self.error(e.span().unwrap_or(0..0), "", what)
        })?;
        Ok(tables.into_inner())
    }

    /// Returns an error at a part of the text.
    pub fn error(
        &self,
        span: Range<usize>,
        key: &str,
        problem: impl Into<ConfigProblem>,
    ) -> ConfigError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        ConfigError {
            path: self.path.to_owned(),
            place: Some((line, before[start..].chars().count() + 1)),
            key: key.to_owned(),
            problem: Box::new(problem.into()),
        }
    }
}

/// Returns the most similar known name.
pub(crate) fn nearest<'k>(found: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.min_by_key(|k| distance(found, k));
    near.filter(|k| distance(found, k) <= (k.len() / 3).max(2))
}

/// Returns the problem of a key that is not among `known`.
pub(super) fn unknown<'k>(
    found: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> ConfigProblem {
    ConfigProblem::UnknownKey {
        nearest: nearest(found, known.clone()).map(str::to_owned),
        known: known.map(str::to_owned).collect(),
    }
}

/// Returns the number of characters to insert, remove or replace (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}
