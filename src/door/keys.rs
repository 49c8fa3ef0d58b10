//! Keys that authorize clients. A file has a line for each key, with its role and the SHA-256 of
//! the token that its holder sends; tokens are not stored.
//!
//! ```text
//! # role   sha256 of the token                                                name
//! infer    9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  alice
//! ```
//!
//! The file is read again when it changes. An invalid file changes nothing and is reported to the
//! operator; if the file is missing, all keys are refused until it is restored.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use divisi_runtime::lock::Leaf;
use divisi_runtime::reading;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::notices::Notices;
use crate::watched::{FileChange, WatchedFiles};
use divisi_inference::error::{ErrorKind, ServiceError};

/// The rights of a key; each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyRole {
    /// Read metadata, configurations, statistics and metrics.
    Read,
    /// Send requests to models.
    Infer,
    /// Change the served models.
    Control,
}

/// The names of the roles.
const ROLES: [(&str, KeyRole); 3] = [
    ("read", KeyRole::Read),
    ("infer", KeyRole::Infer),
    ("control", KeyRole::Control),
];

/// The size of a hash in bytes.
const HASH: usize = 32;

/// The reasons why a file of keys is invalid.
#[derive(Debug, Error)]
pub enum KeysError {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: String,
    },
    /// A line is not a key.
    #[error(
        "{path}, line {line}: expected a role (read, infer or control), the SHA-256 of a token as \
         64 hexadecimal digits, and a name"
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number.
        line: usize,
    },
    /// The same key is in the file twice.
    #[error("{}, line {line}: the same key is on line {first}", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The line's number.
        line: usize,
        /// The line of the first one.
        first: usize,
    },
    /// The file contains no keys.
    #[error("{0}: the file contains no keys")]
    Empty(PathBuf),
}

/// The keys of a file.
pub struct Keys {
    path: PathBuf,
    notices: Notices,
    state: Leaf<KeysState>,
}

struct KeysState {
    keys: Arc<[KeyEntry]>,
    file: WatchedFiles,
}

struct KeyEntry {
    role: KeyRole,
    hash: [u8; HASH],
    name: Arc<str>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("path", &self.path).finish()
    }
}

impl Keys {
    /// Reads the keys of a file. `notices` receive errors after later changes.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is invalid.
    pub fn read(path: &Path, notices: Notices) -> Result<Self, KeysError> {
        let file = WatchedFiles::new(vec![path.to_owned()]);
        let keys = read(path)?;
        Ok(Keys {
            path: path.to_owned(),
            notices,
            state: Leaf::new(KeysState { keys, file }),
        })
    }

    /// Checks that the value of a header `authorization` is a key with a role. Returns the name of
    /// its holder.
    ///
    /// # Errors
    /// Returns an error if there is no valid key, or its role is not enough.
    pub fn check(&self, header: Option<&[u8]>, needed: KeyRole) -> Result<Arc<str>, ServiceError> {
        let unknown = |words: &str| ServiceError::new(ErrorKind::Unauthenticated, words);
        let header = header.ok_or_else(|| unknown("expected a key: `authorization: Bearer …`"))?;
        let (scheme, token) = header.split_at_checked(SCHEME.len()).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err(unknown("header `authorization`: expected `Bearer …`"));
        }
        let hash: [u8; HASH] = Sha256::digest(token.trim_ascii()).into();
        let keys = self.current();
        match holder(&keys, &hash) {
            Some(key) if key.role >= needed => Ok(Arc::clone(&key.name)),
            Some(_) => Err(ServiceError::new(
                ErrorKind::Forbidden,
                "the key's role does not allow this request",
            )),
            None => Err(unknown("unknown key")),
        }
    }

    /// Returns the keys, after reading the file again if it has changed.
    fn current(&self) -> Arc<[KeyEntry]> {
        let mut state = self.state.lock();
        let told = state
            .file
            .poll()
            .and_then(|change| self.follow(&mut state, change));
        let keys = Arc::clone(&state.keys);
        drop(state);
        if let Some(words) = told {
            self.notices.say(&words);
        }
        keys
    }

    /// Follows a change of the file. Returns a notice about it, if there is one.
    fn follow(&self, state: &mut KeysState, change: FileChange) -> Option<String> {
        if change == FileChange::Gone {
            state.keys = Arc::new([]);
            let path = self.path.display();
            return Some(format!(
                "keys: {path} is missing; all keys are refused until it is restored"
            ));
        }
        match read(&self.path) {
            Ok(keys) => state.keys = keys,
            Err(why) => return Some(format!("keys unchanged: {why}")),
        }
        None
    }
}

/// Returns the key with this hash. It compares all keys, so that the time reveals nothing.
fn holder<'k>(keys: &'k [KeyEntry], hash: &[u8; HASH]) -> Option<&'k KeyEntry> {
    let look = |found, key: &'k KeyEntry| match same(&key.hash, hash) {
        true => Some(key),
        false => found,
    };
    keys.iter().fold(None, look)
}

/// The prefix of a token.
const SCHEME: &[u8] = b"Bearer ";

/// Compares all bytes in constant time.
fn same(a: &[u8; HASH], b: &[u8; HASH]) -> bool {
    let differ = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differ) == 0
}

fn read(path: &Path) -> Result<Arc<[KeyEntry]>, KeysError> {
    let text = reading::text(path).map_err(|error| KeysError::Unreadable {
        path: path.to_owned(),
        error: error.to_string(),
    })?;
    parse(path, &text)
}

/// Checks the text of a file of keys, and returns their number. `path` is used in errors.
///
/// # Errors
/// Returns an error if a line is invalid or there are no keys.
pub fn check_text(path: &Path, text: &str) -> Result<usize, KeysError> {
    parse(path, text).map(|keys| keys.len())
}

fn parse(path: &Path, text: &str) -> Result<Arc<[KeyEntry]>, KeysError> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(at, line)| (at + 1, line.split('#').next().unwrap_or_default().trim()));
    let mut seen = HashMap::new();
    let mut keys = Vec::new();
    for (line, text) in lines.filter(|(_, line)| !line.is_empty()) {
        let wrong = || KeysError::Line {
            path: path.to_owned(),
            line,
        };
        let key = key(text).ok_or_else(wrong)?;
        if let Some(first) = seen.insert(key.hash, line) {
            let path = path.to_owned();
            return Err(KeysError::Twice { path, line, first });
        }
        keys.push(key);
    }
    match keys.is_empty() {
        true => Err(KeysError::Empty(path.to_owned())),
        false => Ok(keys.into()),
    }
}

fn key(line: &str) -> Option<KeyEntry> {
    let mut words = line.split_whitespace();
    let role = words.next()?;
    let (_, role) = ROLES.iter().find(|(name, _)| *name == role)?;
    let digits = words.next().filter(|digits| digits.is_ascii())?;
    let name = words.next()?.into();
    let mut hash = [0; HASH];
    if digits.len() != 2 * HASH {
        return None;
    }
    for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    let role = *role;
    Some(KeyEntry { role, hash, name })
}
