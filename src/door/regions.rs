//! Regions of system shared memory that clients register, to leave tensors there in place of
//! sending them.
//!
//! A region is read and written by calls of the system, not mapped: a client that makes its file
//! smaller meanwhile gets an error, and nothing else happens.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use divisi_runtime::lock::Leaf;
use rustix::fs::{Mode, OFlags};

use crate::limits::AllowanceShare;
use divisi_inference::error::{ErrorKind, ServiceError};
use divisi_inference::protocol::RegionPart;

/// Where POSIX shared memory lies.
const FOLDER: &str = "/dev/shm";

/// The most characters of a key.
const KEY: usize = 255;

/// A region as it was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegionStatus {
    /// Its name.
    pub name: String,
    /// Its file's name in shared memory.
    pub key: String,
    /// Its first byte in that file.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
}

struct Region {
    status: RegionStatus,
    file: File,
}

/// A part of a region that an answer is to be written to. The region stays as long as this is kept,
/// also where it is unregistered meanwhile.
pub(crate) struct ReservedPart {
    region: Arc<Region>,
    first: u64,
    size: usize,
}

/// A copy of a part of a region. The room that was taken for it goes back with its last reader.
struct RegionCopy {
    bytes: Vec<u8>,
    _held: AllowanceShare,
}

impl AsRef<[u8]> for RegionCopy {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The regions that are registered.
#[derive(Default)]
pub(crate) struct Regions {
    by_name: Leaf<BTreeMap<String, Arc<Region>>>,
}

impl Regions {
    /// Registers a region; there may be `most`.
    ///
    /// # Errors
    /// Its name is taken, its file is not there or smaller, or there are too many.
    pub(crate) fn register(&self, status: RegionStatus, most: usize) -> Result<(), ServiceError> {
        let file = open(&status)?;
        let region = Region { status, file };
        if region.status.size == 0 {
            return Err(region.wrong(format_args!("expected a size of a byte or more, found 0")));
        }
        region.check(0, region.status.size)?;
        let name = region.status.name.clone();
        let mut by_name = self.by_name.lock();
        if by_name.contains_key(&name) {
            let message = format!("shared memory region `{name}` is already registered");
            return Err(ServiceError::new(ErrorKind::Exists, message));
        }
        if by_name.len() >= most {
            let message = format!("shared memory: expected at most {most} regions");
            return Err(ServiceError::new(ErrorKind::TooMany, message));
        }
        by_name.insert(name, Arc::new(region));
        Ok(())
    }

    /// Forgets a region, or all of them where the name is empty. One that is not there is none.
    pub(crate) fn unregister(&self, name: &str) {
        let mut by_name = self.by_name.lock();
        match name.is_empty() {
            true => by_name.clear(),
            false => drop(by_name.remove(name)),
        }
    }

    /// Returns the region of a name, or all of them where it is empty.
    ///
    /// # Errors
    /// There is none of that name.
    pub(crate) fn status(&self, name: &str) -> Result<Vec<RegionStatus>, ServiceError> {
        if name.is_empty() {
            let by_name = self.by_name.lock();
            return Ok(by_name.values().map(|r| r.status.clone()).collect());
        }
        Ok(vec![self.region(name)?.status.clone()])
    }

    fn region(&self, name: &str) -> Result<Arc<Region>, ServiceError> {
        let found = self.by_name.lock().get(name).cloned();
        found.ok_or_else(|| {
            let message = format!("no shared memory region `{name}` is registered");
            ServiceError::new(ErrorKind::NotFound, message)
        })
    }

    /// Reads a part of a region, for which `held` has the room.
    ///
    /// # Errors
    /// It is not inside of its region, or no longer there.
    pub(crate) fn read(
        &self,
        part: &RegionPart,
        held: AllowanceShare,
    ) -> Result<Bytes, ServiceError> {
        let region = self.region(&part.region)?;
        let first = region.check(part.offset as u64, part.size as u64)?;
        let mut bytes = vec![0; part.size];
        let read = region.file.read_exact_at(&mut bytes, first);
        read.map_err(|e| region.wrong(format_args!("cannot be read: {e}")))?;
        Ok(Bytes::from_owner(RegionCopy { bytes, _held: held }))
    }

    /// Returns a part of a region to write to later.
    ///
    /// # Errors
    /// It is not inside of its region, or no longer there.
    pub(crate) fn reserve(&self, part: &RegionPart) -> Result<ReservedPart, ServiceError> {
        let region = self.region(&part.region)?;
        let first = region.check(part.offset as u64, part.size as u64)?;
        let size = part.size;
        Ok(ReservedPart {
            region,
            first,
            size,
        })
    }
}

impl ReservedPart {
    /// Writes bytes to the part, from its first byte on.
    ///
    /// # Errors
    /// They are more than the part, or its file is smaller by now.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), ServiceError> {
        let region = &self.region;
        if bytes.len() > self.size {
            let (found, size) = (bytes.len(), self.size);
            return Err(region.wrong(format_args!(
                "an output of {found} bytes does not fit into {size} bytes"
            )));
        }
        let within = self.first - region.status.offset;
        region.check(within, self.size as u64)?;
        let written = region.file.write_all_at(bytes, self.first);
        written.map_err(|e| region.wrong(format_args!("cannot be written: {e}")))
    }
}

impl Region {
    /// Returns where a part of the region begins in its file.
    ///
    /// # Errors
    /// The part is not inside of the region, or of what the file has now.
    fn check(&self, offset: u64, size: u64) -> Result<u64, ServiceError> {
        let end = offset.checked_add(size).filter(|e| *e <= self.status.size);
        let Some(end) = end else {
            let whole = self.status.size;
            return Err(self.wrong(format_args!(
                "expected a part of its {whole} bytes, found {size} bytes at offset {offset}"
            )));
        };
        let there = self.file.metadata().map_or(0, |data| data.len());
        let last = self.status.offset.checked_add(end);
        match last {
            Some(last) if last <= there => Ok(self.status.offset + offset),
            _ => {
                let begins = self.status.offset;
                Err(self.wrong(format_args!(
                    "byte {end} after offset {begins} is beyond the end of `{}`, which has {there} bytes",
                    self.status.key
                )))
            }
        }
    }

    fn wrong(&self, why: std::fmt::Arguments<'_>) -> ServiceError {
        ServiceError::bad(format!(
            "shared memory region `{}`: {why}",
            self.status.name
        ))
    }
}

/// Opens the file of a region. A key is a name, not a path.
fn open(status: &RegionStatus) -> Result<File, ServiceError> {
    let (name, key) = (&status.name, &status.key);
    let wrong = |why: String| ServiceError::bad(format!("shared memory region `{name}`: {why}"));
    let file = key.strip_prefix('/').unwrap_or(key);
    let is_name = !file.is_empty() && file.len() <= KEY && ![".", ".."].contains(&file);
    if name.is_empty() {
        return Err(ServiceError::bad(
            "shared memory: expected a name for the region, found an empty one",
        ));
    }
    if !is_name || file.contains(['/', '\0']) {
        return Err(wrong(format!("expected a name as its key, found `{key}`")));
    }
    // A link leads elsewhere, and opening a pipe would wait.
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = rustix::fs::open(PathBuf::from(FOLDER).join(file), flags, Mode::empty());
    let opened = opened.map(File::from);
    let opened = opened.map_err(|e| wrong(format!("`{key}` cannot be opened: {e}")))?;
    match opened.metadata().is_ok_and(|data| data.is_file()) {
        true => Ok(opened),
        false => Err(wrong(format!("`{key}` is not shared memory"))),
    }
}
