//! The first bytes of a file or a connection: what it is, and of which version.

use super::WireError;

/// The version of everything behind the hello.
pub const VERSION: u16 = 3;

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Recording,
    Connection,
}

impl Format {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            Format::Recording => b"DIVISI\0R",
            Format::Connection => b"DIVISI\0C",
        }
    }

    /// What it is, in words.
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
    bytes[8..].copy_from_slice(&VERSION.to_le_bytes());
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
    let what = format.verb();
    match found {
        VERSION => Ok(()),
        newer if newer > VERSION => Err(WireError::Newer { what, found }),
        _ => Err(WireError::Older { what, found }),
    }
}
