//! The bytes of files of weights: in memory, or mapped and read in place, page by page.
//!
//! Mapped pages belong to the system's cache of the file. They count as this process's memory while
//! they are mapped. So they are released after a number of read bytes, and after a network has been
//! lowered; reading maps them again.
//!
//! A mapping keeps the bytes of a file that is replaced by another of its name. It does not keep
//! the bytes of a file that is overwritten or truncated in place. So users of the weights call
//! [`Map::check`] before and after; until then the missing bytes of a truncated file are read as
//! zeros ([`ShrinkGuard`]). One case remains undetected: a file overwritten with the same number of
//! bytes within one tick of the file system's clock.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use memmap2::{Mmap, UncheckedAdvice};

use super::WeightsError;
use super::shrunk::ShrinkGuard;
use crate::reading;

/// A mapped file, and its state when it was opened.
#[derive(Debug)]
pub(crate) struct Map {
    // Dropped before the mapping, whose addresses it knows.
    _guard: ShrinkGuard,
    map: Mmap,
    file: File,
    path: PathBuf,
    was: FileState,
    /// Bytes read since pages were released.
    looked_at: AtomicUsize,
}

/// The properties of a file that change when it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    len: u64,
    modified: Option<SystemTime>,
}

/// Bytes that may be read before pages are released.
const KEPT: usize = 16 << 20;

impl Map {
    /// Maps the regular file at `path`.
    #[allow(
        unsafe_code,
        reason = "the system's interface to mapped files is unsafe"
    )]
    pub(crate) fn open(path: &Path) -> Result<Self, WeightsError> {
        let file = reading::open(path)?;
        let was = FileState::read(&file)?;
        // SAFETY: the mapping is shared and read-only, and lives as long as `self`. A file cannot
        // promise that its bytes stay unchanged. Only the sizes, which are checked against the
        // graph, depend on the bytes. The module documentation describes the measures and the
        // remaining case.
        let map = unsafe { Mmap::map(&file) }?;
        let path = path.to_owned();
        let looked_at = AtomicUsize::new(0);
        Ok(Map {
            _guard: ShrinkGuard::guard(&map),
            map,
            file,
            path,
            was,
            looked_at,
        })
    }

    /// Returns the whole file, to read its header.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Returns a range of bytes for a single read, or an empty slice if the range lies outside of
    /// the file.
    pub(super) fn read_range(&self, range: Range<usize>) -> &[u8] {
        let before = self.looked_at.fetch_add(range.len(), Ordering::Relaxed);
        if before + range.len() > KEPT && before > 0 {
            self.release();
            self.looked_at.store(range.len(), Ordering::Relaxed);
        }
        self.map.get(range).unwrap_or_default()
    }

    /// Counts `bytes` as read and not needed again soon.
    pub(crate) fn count_read(&self, bytes: usize) {
        let before = self.looked_at.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > KEPT {
            self.release();
        }
    }

    /// Checks that the file was not written to since it was opened.
    pub(super) fn check(&self) -> Result<(), WeightsError> {
        match FileState::read(&self.file) {
            Ok(now) if now == self.was => Ok(()),
            _ => Err(WeightsError::Changed(self.path.clone())),
        }
    }

    /// Releases the pages; reading maps them again from the file.
    #[allow(
        unsafe_code,
        reason = "the system's interface to mapped files is unsafe"
    )]
    pub(super) fn release(&self) {
        self.looked_at.store(0, Ordering::Relaxed);
        // SAFETY: the mapping is a shared one of a file and never written, so released pages are
        // read again from the file. Borrowed values stay the same, as far as the file's bytes do.
        let done = unsafe { self.map.unchecked_advise(UncheckedAdvice::DontNeed) };
        // If the system ignores the advice, the pages stay until it needs them.
        drop(done);
    }
}

impl FileState {
    fn read(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(FileState {
            len: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

/// The bytes of a file of weights.
#[derive(Clone, Copy)]
pub(super) enum ByteSource<'a> {
    Bytes(&'a [u8]),
    Mapped(&'a Map),
}

/// Bytes that are read at once, before their pages may be released: a whole number of values of any
/// type.
const PIECE: usize = 4 << 20;

impl<'a> ByteSource<'a> {
    /// Iterates over a range of bytes in pieces.
    pub(super) fn pieces(self, place: &Range<usize>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let end = place.end;
        let starts = place.clone().step_by(PIECE);
        starts.map(move |start| self.read_range(start..end.min(start + PIECE)))
    }

    fn read_range(self, place: Range<usize>) -> &'a [u8] {
        match self {
            ByteSource::Bytes(bytes) => bytes.get(place).unwrap_or_default(),
            ByteSource::Mapped(map) => map.read_range(place),
        }
    }

    /// Returns whether values of float32 can be read in place. A mapping begins at a page, so a
    /// range in it is as aligned as its offset.
    pub(super) fn is_readable_in_place(self, place: &Range<usize>) -> bool {
        let aligned = place.start.is_multiple_of(align_of::<f32>());
        matches!(self, ByteSource::Mapped(_)) && cfg!(target_endian = "little") && aligned
    }
}
