//! The file of a store: created atomically, locked, and accessed by the database.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::error::StoreError;

/// The time between two attempts at a lock.
const PAUSE: Duration = Duration::from_millis(10);

/// A file that stays locked while the database has it.
#[derive(Debug)]
pub(super) struct StoreFile(File);

impl StorageBackend for StoreFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }
}

/// Creates a file next to `path`, has `fill` write it, and moves it to `path` unless a file exists
/// there by then. An interrupted creation leaves no incomplete store.
pub(super) fn create(
    path: &Path,
    fill: impl FnOnce(StoreFile) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let made = tempfile::Builder::new()
        .prefix(".store-")
        // As for any new file, the user's umask decides who can read it.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    fill(StoreFile(made.as_file().try_clone()?))?;
    match made.persist_noclobber(path) {
        Ok(_) => Ok(File::open(folder)?.sync_all()?),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(failed) => Err(StoreError::of_file(failed.error)),
    }
}

/// Opens the file for writing, with an exclusive lock.
pub(super) fn lock(path: &Path, patience: Duration) -> Result<StoreFile, StoreError> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    wait(patience, || file.try_lock())?;
    check_not_empty(&file)?;
    Ok(StoreFile(file))
}

/// Returns a copy of the file, taken while the file is not being written.
pub(super) fn copied(path: &Path, patience: Duration) -> Result<InMemoryBackend, StoreError> {
    let mut file = File::open(path)?;
    wait(patience, || file.try_lock_shared())?;
    check_not_empty(&file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let copy = InMemoryBackend::new();
    copy.set_len(bytes.len() as u64)?;
    copy.write(0, &bytes)?;
    Ok(copy)
}

/// Refuses an empty file. The database would treat it as new, and hide that its contents are lost.
fn check_not_empty(file: &File) -> Result<(), StoreError> {
    match file.metadata()?.len() {
        0 => Err(StoreError::Damaged("the file is empty".into())),
        _ => Ok(()),
    }
}

/// Retries a lock until it succeeds or the time is over.
fn wait(
    patience: Duration,
    attempt: impl Fn() -> Result<(), TryLockError>,
) -> Result<(), StoreError> {
    let until = Instant::now() + patience;
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(why)) => return Err(why.into()),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                return Err(StoreError::InUse);
            }
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
        }
    }
}
