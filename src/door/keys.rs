//! Keys: who may ask for what. A file has a line for each, with its role and the SHA-256 of the
//! token that its holder sends; tokens themselves are kept nowhere.
//!
//! ```text
//! # role   sha256 of the token                                                name
//! infer    9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  alice
//! ```
//!
//! The file is read again when it changes. A file that is wrong then changes nothing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use divisi::lock::Leaf;
use divisi::reading;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::error::{ErrorKind, ServiceError};

/// A right to ask; each has those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyRole {
    /// To read of models: metadata, configurations, statistics, metrics.
    Read,
    /// To ask models.
    Infer,
    /// To change what is served.
    Control,
}

/// The names of the roles.
const ROLES: [(&str, KeyRole); 3] = [
    ("read", KeyRole::Read),
    ("infer", KeyRole::Infer),
    ("control", KeyRole::Control),
];

/// The bytes of a hash.
const HASH: usize = 32;

/// Between looks whether the file has changed.
const LOOK: Duration = Duration::from_secs(1);

/// A file holds no keys.
#[derive(Debug, Error)]
pub enum KeysError {
    /// It cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: String,
    },
    /// A line is no key.
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
    /// There are none.
    #[error("{0}: there are no keys in it")]
    Empty(PathBuf),
}

/// The keys of a file.
pub struct Keys {
    path: PathBuf,
    state: Leaf<KeysState>,
}

struct KeysState {
    keys: Arc<[KeyEntry]>,
    changed: Option<SystemTime>,
    looked: Instant,
}

struct KeyEntry {
    role: KeyRole,
    hash: [u8; HASH],
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("path", &self.path).finish()
    }
}

impl Keys {
    /// Reads the keys of a file.
    ///
    /// # Errors
    /// It cannot be read, or holds no keys.
    pub fn read(path: &Path) -> Result<Self, KeysError> {
        let changed = changed(path);
        let keys = parse(path)?;
        Ok(Keys {
            path: path.to_owned(),
            state: Leaf::new(KeysState {
                keys,
                changed,
                looked: Instant::now(),
            }),
        })
    }

    /// Checks that the value of a header `authorization` is a key of a role.
    ///
    /// # Errors
    /// There is no key, or it has another role.
    pub fn check(&self, header: Option<&[u8]>, needed: KeyRole) -> Result<(), ServiceError> {
        let unknown = |words: &str| ServiceError::new(ErrorKind::Unauthenticated, words);
        let header = header.ok_or_else(|| unknown("expected a key: `authorization: Bearer …`"))?;
        let (scheme, token) = header.split_at_checked(SCHEME.len()).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err(unknown("header `authorization`: expected `Bearer …`"));
        }
        let hash: [u8; HASH] = Sha256::digest(token.trim_ascii()).into();
        let keys = self.current();
        // Each is looked at, so that the time tells nothing.
        let found = keys
            .iter()
            .fold(None, |found, key| match same(&key.hash, &hash) {
                true => found.max(Some(key.role)),
                false => found,
            });
        match found {
            Some(role) if role >= needed => Ok(()),
            Some(_) => Err(ServiceError::new(
                ErrorKind::Forbidden,
                "the key does not allow it",
            )),
            None => Err(unknown("the key is not known")),
        }
    }

    /// Returns the keys, read again where the file has changed.
    fn current(&self) -> Arc<[KeyEntry]> {
        let mut state = self.state.lock();
        if state.looked.elapsed() >= LOOK {
            state.looked = Instant::now();
            let changed = changed(&self.path);
            if changed != state.changed {
                state.changed = changed;
                match parse(&self.path) {
                    Ok(keys) => state.keys = keys,
                    Err(why) => tracing::warn!("keys stay as they were: {why}"),
                }
            }
        }
        Arc::clone(&state.keys)
    }
}

/// Before a token.
const SCHEME: &[u8] = b"Bearer ";

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path)
        .and_then(|data| data.modified())
        .ok()
}

/// Compares all bytes, whichever differ.
fn same(a: &[u8; HASH], b: &[u8; HASH]) -> bool {
    let differ = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differ) == 0
}

fn parse(path: &Path) -> Result<Arc<[KeyEntry]>, KeysError> {
    let text = reading::text(path).map_err(|error| KeysError::Unreadable {
        path: path.to_owned(),
        error: error.to_string(),
    })?;
    let lines = text.lines().enumerate();
    let lines = lines.map(|(at, line)| (at + 1, line.split('#').next().unwrap_or_default().trim()));
    let keys = lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(at, line)| {
            let wrong = || KeysError::Line {
                path: path.to_owned(),
                line: at,
            };
            key(line).ok_or_else(wrong)
        });
    let keys: Arc<[KeyEntry]> = keys.collect::<Result<_, _>>()?;
    match keys.is_empty() {
        true => Err(KeysError::Empty(path.to_owned())),
        false => Ok(keys),
    }
}

fn key(line: &str) -> Option<KeyEntry> {
    let mut words = line.split_whitespace();
    let role = words.next()?;
    let (_, role) = ROLES.iter().find(|(name, _)| *name == role)?;
    let digits = words.next().filter(|digits| digits.is_ascii())?;
    words.next()?;
    let mut hash = [0; HASH];
    if digits.len() != 2 * HASH {
        return None;
    }
    for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    Some(KeyEntry { role: *role, hash })
}
