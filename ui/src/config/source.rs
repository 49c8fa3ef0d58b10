//! A configuration file's text, and what is wrong with it where.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

/// A file's text.
#[derive(Clone, Debug)]
pub struct ConfigSource<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub path: PathBuf,
    /// Counted from 1; none where the file as a whole is meant.
    pub place: Option<(usize, usize)>,
    /// The key with its table before it: `console.theme`.
    pub key: String,
    pub what: String,
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    /// The same in one line of a screen: the file without its folder.
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
        write!(f, ": {}", self.what)
    }
}

impl<'a> ConfigSource<'a> {
    /// Its tables.
    ///
    /// # Errors
    /// It is no TOML; says where.
    pub fn tables(&self) -> Result<DeTable<'a>, ConfigError> {
        let parsed = DeTable::parse(self.text);
        let tables = parsed.map_err(|e| {
            let what = e.message().replace('\n', ", ");
            self.wrong(e.span().unwrap_or(0..0), "", what)
        })?;
        Ok(tables.into_inner())
    }

    /// Something wrong at a part of the text.
    pub fn wrong(&self, span: Range<usize>, key: &str, what: impl Into<String>) -> ConfigError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        ConfigError {
            path: self.path.to_owned(),
            place: Some((line, before[start..].chars().count() + 1)),
            key: key.to_owned(),
            what: what.into(),
        }
    }
}

/// The known name that was probably meant.
pub fn nearest<'k>(found: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.min_by_key(|k| distance(found, k));
    near.filter(|k| distance(found, k) <= (k.len() / 3).max(2))
}

/// That a key is not known, and which known one is nearest.
pub fn unknown<'k>(found: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    match nearest(found, known.clone()) {
        Some(near) => format!("no such key; did you mean `{near}`?"),
        None => {
            let all: Vec<&str> = known.collect();
            format!("no such key: expected one of {}", all.join(", "))
        }
    }
}

/// Signs to insert, leave out or change (Levenshtein).
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
