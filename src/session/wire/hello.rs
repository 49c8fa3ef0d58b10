//! The first bytes of a file or a connection: what it is, and of which version.

use std::cmp::Ordering;

use super::WireError;

/// The format of the bytes after the hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A file with a recorded session.
    Recording,
    /// A connection of a console with a server.
    Connection,
}

impl Format {
    /// Returns the version of everything behind the hello.
    pub fn version(self) -> u16 {
        match self {
            Format::Recording => 3,
            // Refusals have codes since 4.
            Format::Connection => 4,
        }
    }

    fn magic(self) -> &'static [u8; 8] {
        match self {
            Format::Recording => b"DIVISI\0R",
            Format::Connection => b"DIVISI\0C",
        }
    }

    /// Returns its name, in words.
    pub fn name(self) -> &'static str {
        match self {
            Format::Recording => "a recording of Divisi",
            Format::Connection => "a console or server of Divisi",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Format::Recording => "recorded",
            Format::Connection => "spoken",
        }
    }
}

/// How many bytes begin it.
pub const HELLO: usize = 10;

/// The bytes that begin it.
pub fn hello(format: Format) -> [u8; HELLO] {
    let mut bytes = [0; HELLO];
    bytes[..8].copy_from_slice(format.magic());
    bytes[8..].copy_from_slice(&format.version().to_le_bytes());
    bytes
}

/// Checks the bytes that begin it.
///
/// # Errors
/// It is something else, or of another version.
pub fn read_hello(bytes: &[u8; HELLO], format: Format) -> Result<(), WireError> {
    if &bytes[..8] != format.magic() {
        return Err(WireError::Foreign(format.name()));
    }
    let found = u16::from_le_bytes([bytes[8], bytes[9]]);
    let (what, expected) = (format.verb(), format.version());
    match found.cmp(&expected) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(WireError::Newer {
            what,
            found,
            expected,
        }),
        Ordering::Less => Err(WireError::Older {
            what,
            found,
            expected,
        }),
    }
}
