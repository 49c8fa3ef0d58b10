//! A file of weights as memory: read in place, page by page, when it is looked at.
//!
//! The pages belong to the system's cache of the file. They count as this process's
//! while they are mapped, so they are let go once so many bytes have been looked at, and
//! when a network has been lowered; looking again brings them back.
//!
//! A file that is replaced by another of its name stays what it was here. One that is
//! overwritten or cut in place does not: whoever uses the weights asks [`Map::check`]
//! before and after. What remains is a file that is cut in the very milliseconds in
//! which it is read, which ends the process by a signal, and one that is overwritten with
//! as many bytes within the same tick of the file system's clock, which nobody sees.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use memmap2::{Mmap, UncheckedAdvice};

use super::WeightsError;
use crate::reading;

/// A mapped file, and what it was when it was opened.
#[derive(Debug)]
pub(super) struct Map {
    map: Mmap,
    file: File,
    path: PathBuf,
    was: FileState,
    /// Bytes given out since pages were let go.
    looked_at: AtomicUsize,
}

/// What tells that a file was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    len: u64,
    modified: Option<SystemTime>,
}

/// Bytes that may be looked at before pages are let go.
const KEPT: usize = 16 << 20;

impl Map {
    /// Maps the regular file at `path`.
    #[allow(
        unsafe_code,
        reason = "the system's interface to mapped files is unsafe"
    )]
    pub(super) fn open(path: &Path) -> Result<Self, WeightsError> {
        let file = reading::open(path)?;
        let was = FileState::of(&file)?;
        // SAFETY: the mapping is shared and read-only, and lives as long as `self`. That
        // the bytes stay as they are cannot be promised of a file; nothing but the sizes
        // checked against the graph depends on what they say, and the module's text says
        // what is done and what remains.
        let map = unsafe { Mmap::map(&file) }?;
        let path = path.to_owned();
        let looked_at = AtomicUsize::new(0);
        Ok(Map {
            map,
            file,
            path,
            was,
            looked_at,
        })
    }

    /// The whole file, for a look at its beginning.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Bytes of the file, to be read once; empty where it has none there.
    pub(super) fn look(&self, range: Range<usize>) -> &[u8] {
        let before = self.looked_at.fetch_add(range.len(), Ordering::Relaxed);
        if before + range.len() > KEPT && before > 0 {
            self.release();
            self.looked_at.store(range.len(), Ordering::Relaxed);
        }
        self.map.get(range).unwrap_or_default()
    }

    /// Whether the file is what it was when it was opened.
    pub(super) fn check(&self) -> Result<(), WeightsError> {
        match FileState::of(&self.file) {
            Ok(now) if now == self.was => Ok(()),
            _ => Err(WeightsError::Changed(self.path.clone())),
        }
    }

    /// Lets the pages go; looking again brings them back from the file.
    #[allow(
        unsafe_code,
        reason = "the system's interface to mapped files is unsafe"
    )]
    pub(super) fn release(&self) {
        self.looked_at.store(0, Ordering::Relaxed);
        // SAFETY: the mapping is a shared one of a file and never written, so its pages
        // come back with the file's bytes: what is borrowed stays what it was, as far as
        // a file's bytes do.
        let done = unsafe { self.map.unchecked_advise(UncheckedAdvice::DontNeed) };
        // Where the system does not take the advice, the pages stay until it needs them.
        drop(done);
    }
}

impl FileState {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(FileState {
            len: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

/// Where a file's bytes are.
#[derive(Clone, Copy)]
pub(super) enum ByteSource<'a> {
    Bytes(&'a [u8]),
    Mapped(&'a Map),
}

/// Bytes that are read at once, before their pages may be let go: whole values of any
/// type.
const PIECE: usize = 4 << 20;

impl<'a> ByteSource<'a> {
    /// A place in pieces.
    pub(super) fn pieces(self, place: &Range<usize>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let end = place.end;
        let starts = place.clone().step_by(PIECE);
        starts.map(move |start| self.look(start..end.min(start + PIECE)))
    }

    fn look(self, place: Range<usize>) -> &'a [u8] {
        match self {
            ByteSource::Bytes(bytes) => bytes.get(place).unwrap_or_default(),
            ByteSource::Mapped(map) => map.look(place),
        }
    }

    /// Whether float32 can be read where they are. A mapping begins at a page, so a place
    /// in it is as aligned as its offset.
    pub(super) fn is_readable_in_place(self, place: &Range<usize>) -> bool {
        let aligned = place.start.is_multiple_of(align_of::<f32>());
        matches!(self, ByteSource::Mapped(_)) && cfg!(target_endian = "little") && aligned
    }
}
