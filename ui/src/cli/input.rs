//! Files to read, or standard input instead: `-`.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::NamedTempFile;

/// The limit of bytes from standard input.
const MOST: u64 = 1 << 30;

/// A file to read.
pub(crate) struct InputFile {
    path: PathBuf,
    /// The copy of standard input, deleted when dropped.
    _copy: Option<NamedTempFile>,
}

impl InputFile {
    /// Returns the file at `path`. `-` is a copy of standard input, with a name that shows its
    /// format; `plain` is the format of unrecognised bytes.
    ///
    /// # Errors
    /// Standard input cannot be read, is empty or is too large.
    pub(crate) fn open(path: &Path, plain: &str) -> Result<Self> {
        if path != Path::new("-") {
            return Ok(InputFile {
                path: path.to_owned(),
                _copy: None,
            });
        }
        let copy = copied(plain).context("standard input")?;
        Ok(InputFile {
            path: copy.path().to_owned(),
            _copy: Some(copy),
        })
    }

    /// Returns the path to read from.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn copied(plain: &str) -> Result<NamedTempFile> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes)?;
    ensure!(!bytes.is_empty(), "expected data, found none");
    ensure!(bytes.len() as u64 <= MOST, "expected at most 1 GiB");
    let suffix = format!(".{}", format_of(&bytes).unwrap_or(plain));
    let mut copy = tempfile::Builder::new().suffix(&suffix).tempfile()?;
    copy.write_all(&bytes)?;
    copy.flush()?;
    Ok(copy)
}

/// Returns the format by the first bytes, or `None` for plain text.
fn format_of(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: [(&[u8], &str); 6] = [
        (b"\x93NUMPY", "npy"),
        (b"PK\x03\x04", "npz"),
        (b"\x89PNG", "png"),
        (b"\xff\xd8\xff", "jpg"),
        (b"RIFF", "webp"),
        (b"[", "json"),
    ];
    let text = bytes.trim_ascii_start();
    let known = SIGNATURES.iter();
    let known = known.filter(|(signature, _)| text.starts_with(signature));
    let known = known.map(|(_, format)| *format).next();
    known.or_else(|| text.starts_with(b"{").then(|| json_of(text)))
}

/// Returns the format of objects: a single one, or one per line.
fn json_of(text: &[u8]) -> &'static str {
    let lines = text.split(|byte| *byte == b'\n');
    let begun = lines.filter(|line| line.trim_ascii_start().starts_with(b"{"));
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match begun.count() > 1 && first.trim_ascii_end().ends_with(b"}") {
        true => "jsonl",
        false => "json",
    }
}
