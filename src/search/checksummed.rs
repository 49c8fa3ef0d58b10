//! Files that are trusted only whole: a text with its checksum, replaced in one step.

use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::reading;

#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    sum: String,
    body: String,
}

impl Sealed {
    fn new(body: String) -> Self {
        let sum = hex(Sha256::new().chain_update(&body));
        Sealed { sum, body }
    }

    fn open(self) -> Option<String> {
        (Sealed::new(self.body.clone()).sum == self.sum).then_some(self.body)
    }
}

/// What was written to `path`; none where nothing was, or it is damaged.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = reading::bytes(path).ok()?;
    let checksummed: Sealed = serde_json::from_slice(&bytes).ok()?;
    serde_json::from_str(&checksummed.open()?).ok()
}

/// Writes `value` beside `path` and renames, so that a reader never sees half.
///
/// # Errors
/// The disk is full or not writable.
pub(super) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let checksummed = Sealed::new(serde_json::to_string(value)?);
    let text = serde_json::to_string_pretty(&checksummed)?;
    let part = path.with_extension(format!("part{}", std::process::id()));
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        // Whatever is left of it is of no use to anybody.
        let _ = fs::remove_file(&part);
    }
    written
}

/// A hash as text.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// The processor's name; a result from another machine is no result here.
pub(super) fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|l| l.starts_with("model name"));
    format!("{} {}", std::env::consts::ARCH, model.unwrap_or_default())
}
