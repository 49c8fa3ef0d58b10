//! What a server can be called.

use std::fmt;
use std::str::FromStr;

use super::place::PlaceError;

/// A server's name: letters, digits, `-`, `_` and `.`, not a `-` or `.` first. It is
/// no path, so a socket named by it lies in the folder of sockets and nowhere else, and no
/// option of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerName(String);

/// Characters of a name at most.
const MOST: usize = 64;

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn begins(c: char) -> bool {
    !matches!(c, '-' | '.')
}

impl ServerName {
    /// The name that is most like `text`: what cannot be in one becomes `-`, or `_` where it
    /// comes first.
    pub fn like(text: &str) -> Self {
        let plain = |(at, c): (usize, char)| match c {
            c if is_plain(c) && (at > 0 || begins(c)) => c,
            _ if at == 0 => '_',
            _ => '-',
        };
        let name: String = text.chars().take(MOST).enumerate().map(plain).collect();
        match name.is_empty() {
            true => ServerName("_".into()),
            false => ServerName(name),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let fits = text.len() <= MOST && text.starts_with(begins);
        match fits && text.chars().all(is_plain) {
            true => Ok(ServerName(text.to_owned())),
            false => Err(PlaceError::Name(text.to_owned())),
        }
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
