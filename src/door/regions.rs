//! Regions of system shared memory that clients register to pass tensors without sending them.
//!
//! A region is read and written by system calls, not mapped: a client that truncates its file
//! meanwhile gets an error without further effect.

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

/// The folder of POSIX shared memory.
const FOLDER: &str = "/dev/shm";

/// The maximum length of a key in characters.
const KEY: usize = 255;

/// A registered region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegionStatus {
    /// Its name.
    pub name: String,
    /// Its file name in shared memory.
    pub key: String,
    /// The position of its first byte in the file.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
}

struct Region {
    status: RegionStatus,
    file: File,
}

/// A part of a region reserved for an answer. It keeps the region, even if that is unregistered
/// meanwhile.
pub(crate) struct ReservedPart {
    region: Arc<Region>,
    first: u64,
    size: usize,
}

/// A copy of a part of a region. Its memory is released with the last reference.
struct RegionCopy {
    bytes: Vec<u8>,
    _held: AllowanceShare,
}

impl AsRef<[u8]> for RegionCopy {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The registered regions.
#[derive(Default)]
pub(crate) struct Regions {
    by_name: Leaf<BTreeMap<String, Arc<Region>>>,
}

impl Regions {
    /// Registers a region, up to `most` of them.
    ///
    /// # Errors
    /// Returns an error if the name is taken, the file is missing or too small, or there are too
    /// many regions.
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

    /// Unregisters a region, or all regions if the name is empty. A missing region is ignored.
    pub(crate) fn unregister(&self, name: &str) {
        let mut by_name = self.by_name.lock();
        match name.is_empty() {
            true => by_name.clear(),
            false => drop(by_name.remove(name)),
        }
    }

    /// Returns the region with this name, or all regions if the name is empty.
    ///
    /// # Errors
    /// Returns an error if there is no region with this name.
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

    /// Reads a part of a region into the memory reserved by `held`.
    ///
    /// # Errors
    /// Returns an error if the part exceeds its region or the file is too small.
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

    /// Reserves a part of a region for a later write.
    ///
    /// # Errors
    /// Returns an error if the part exceeds its region or the file is too small.
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
    /// Writes bytes at the start of the part.
    ///
    /// # Errors
    /// Returns an error if the bytes exceed the part or the file is too small.
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
    /// Returns the position of a part of the region in the file.
    ///
    /// # Errors
    /// Returns an error if the part exceeds the region or the current file.
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
    // A symbolic link could lead elsewhere, and opening a pipe would block.
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = rustix::fs::open(PathBuf::from(FOLDER).join(file), flags, Mode::empty());
    let opened = opened.map(File::from);
    let opened = opened.map_err(|e| wrong(format!("`{key}` cannot be opened: {e}")))?;
    match opened.metadata().is_ok_and(|data| data.is_file()) {
        true => Ok(opened),
        false => Err(wrong(format!("`{key}` is not shared memory"))),
    }
}
