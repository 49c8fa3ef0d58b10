//! Files of the cache: a text with its checksum, replaced in one step, so that damage is detected.

use std::path::Path;
use std::sync::LazyLock;
use std::{fs, io};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use divisi_model::replace::replace_file;
use divisi_runtime::reading;

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

/// Reads the value that was written to `path`, or returns `None` if it is missing or damaged.
pub(super) fn read_checked<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = reading::bytes(path).ok()?;
    let checksummed: Sealed = serde_json::from_slice(&bytes).ok()?;
    serde_json::from_str(&checksummed.open()?).ok()
}

/// Writes `value` to a temporary file next to `path` and renames it, so that a reader never sees a
/// partial file.
///
/// # Errors
/// The disk is full or not writable.
pub(super) fn write_checked(path: &Path, value: &impl Serialize) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let checksummed = Sealed::new(serde_json::to_string(value)?);
    let text = serde_json::to_string_pretty(&checksummed)?;
    replace_file(path, text.as_bytes())
}

/// Returns a hash as hexadecimal text.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// Returns the processor's name, because results of another machine do not apply here.
pub fn processor() -> &'static str {
    static PROCESSOR: LazyLock<String> = LazyLock::new(|| {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find(|l| l.starts_with("model name"));
        format!("{} {}", std::env::consts::ARCH, model.unwrap_or_default())
    });
    &PROCESSOR
}
