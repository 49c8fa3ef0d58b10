//! A recording's file, written once and read at any position.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::wire::{Format, HELLO, WireError, read_hello};
use divisi_runtime::reading;

use super::block::{HEAD, Head, MARK, Records};

/// The bytes scanned at once.
const AT_ONCE: u64 = 64 << 10;
/// The extension of a recording's file name.
const EXTENSION: &str = "divisi";
/// The number of names to try.
const NAMES: usize = 1000;

/// Creates a file at `path`, or with a numbered name next to it if the path exists.
///
/// # Errors
/// Returns an error if the file cannot be created or all names are taken.
pub(super) fn create(path: &Path) -> io::Result<(File, PathBuf)> {
    for number in 1..=NAMES {
        let name = numbered(path, number);
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&name);
        match made {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            other => return other.map(|file| (file, name)),
        }
    }
    Err(io::Error::from(ErrorKind::AlreadyExists))
}

/// `digits.divisi`, `digits-2.divisi`, …
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Reads a recording. Opening it only reads the heads of its blocks; a block is decoded when it is
/// played.
#[derive(Debug)]
pub struct RecordingReader {
    file: File,
    path: PathBuf,
    length: u64,
    blocks: Vec<Place>,
    whole: bool,
    torn: u64,
    decoded: Decoded,
}

/// The amount of a recording decoded so far; repeated decoding counts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The blocks read and decompressed.
    pub blocks: usize,
    /// The decompressed bytes of the blocks.
    pub bytes: usize,
    /// The number of states, changes and batches of spans.
    pub records: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    head: Head,
    offset: u64,
}

impl RecordingReader {
    /// Returns whether the file at `path` is a recording, by its first bytes or its extension.
    pub fn is_one(path: &Path) -> bool {
        if path.extension().is_some_and(|e| e == EXTENSION) {
            return true;
        }
        let mut hello = [0; HELLO];
        let read = reading::open(path).and_then(|mut file| file.read_exact(&mut hello));
        let read = read.map(|()| read_hello(&hello, Format::Recording));
        matches!(read, Ok(Ok(()) | Err(WireError::Version { .. })))
    }

    /// Opens the recording at `path` and finds its complete blocks.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a recording, or has no complete block.
    pub fn open(path: &Path) -> Result<Self, WireError> {
        let unreadable = |e: io::Error| WireError::Unreadable(e.to_string());
        let mut file = reading::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        if length < HELLO as u64 {
            let (what, found) = (Format::Recording.name(), length);
            return Err(WireError::Short { what, found });
        }
        let mut hello = [0; HELLO];
        file.read_exact(&mut hello).map_err(unreadable)?;
        read_hello(&hello, Format::Recording)?;
        let found = scan(&mut file, length);
        if found.blocks.is_empty() {
            return Err(WireError::Damaged("no complete block".into()));
        }
        Ok(RecordingReader {
            file,
            path: path.to_owned(),
            length,
            blocks: found.blocks,
            whole: found.whole,
            torn: found.torn,
            decoded: Decoded::default(),
        })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file ends with a complete block.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the number of places between blocks with other bytes.
    pub fn torn(&self) -> u64 {
        self.torn
    }

    /// Returns the amount decoded so far.
    pub fn decoded(&self) -> Decoded {
        self.decoded
    }

    /// Returns the size of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Counts the decoded records of a block.
    pub(crate) fn count(&mut self, records: &Records) {
        self.decoded.records += records.read();
    }

    /// Returns the time of the first record, since the engine's start.
    pub fn from(&self) -> Duration {
        self.blocks.first().map_or(Duration::ZERO, |b| b.head.from)
    }

    /// Returns the time of the last record, since the engine's start.
    pub fn until(&self) -> Duration {
        self.blocks.last().map_or(Duration::ZERO, |b| b.head.until)
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the times of a block's first and last records.
    pub(crate) fn times(&self, block: usize) -> (Duration, Duration) {
        let head = &self.blocks[block].head;
        (head.from, head.until)
    }

    /// Returns the last block that starts at or before `at`, or the first block.
    pub(crate) fn block_at(&self, at: Duration) -> usize {
        let after = self.blocks.partition_point(|b| b.head.from <= at);
        after.saturating_sub(1)
    }

    /// Returns the records of a block, decoded on demand.
    pub(crate) fn read(&mut self, block: usize) -> Result<Records, WireError> {
        let place = self.blocks[block];
        let mut packed = vec![0; place.head.packed as usize];
        let read = self.file.seek(SeekFrom::Start(place.offset));
        let read = read.and_then(|_| self.file.read_exact(&mut packed));
        read.map_err(|e| WireError::Damaged(e.to_string()))?;
        let records = place.head.records(&packed)?;
        self.decoded.blocks += 1;
        self.decoded.bytes += records.bytes();
        Ok(records)
    }
}

/// The result of scanning a file for blocks.
#[derive(Debug, Default)]
struct Found {
    blocks: Vec<Place>,
    /// Whether the file ends with a complete block.
    whole: bool,
    /// The number of places with other bytes.
    torn: u64,
}

/// Finds the blocks of a file. After unexpected bytes, it searches for the next block.
fn scan(file: &mut File, length: u64) -> Found {
    let (mut found, mut at) = (Found::default(), HELLO as u64);
    let mut torn = 0;
    while at < length {
        match place(file, at, length) {
            Some(place) if found.follows(&place) => {
                at = place.end();
                found.blocks.push(place);
                // Unexpected bytes at the end mean that the file is incomplete, not damaged.
                found.torn = torn;
            }
            _ => {
                torn = found.torn + 1;
                let Some(next) = next_mark(file, at + 1) else {
                    return found;
                };
                at = next;
            }
        }
    }
    found.whole = at == length;
    found
}

impl Found {
    fn follows(&self, place: &Place) -> bool {
        let last = self.blocks.last();
        last.is_none_or(|last| last.head.until <= place.head.from)
    }
}

impl Place {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.head.packed)
    }
}

/// Returns the block at `at` if it is complete.
fn place(file: &mut File, at: u64, length: u64) -> Option<Place> {
    let mut bytes = [0; HEAD];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    let head = Head::read(&bytes)?;
    let offset = at + HEAD as u64;
    let place = Place { head, offset };
    (place.end() <= length).then_some(place)
}

/// Returns the position of the next block mark at or after `at`.
fn next_mark(mut file: &File, at: u64) -> Option<u64> {
    let mut from = at;
    let mut bytes = Vec::new();
    loop {
        file.seek(SeekFrom::Start(from)).ok()?;
        bytes.clear();
        Read::take(file, AT_ONCE).read_to_end(&mut bytes).ok()?;
        if let Some(place) = bytes.windows(MARK.len()).position(|w| w == MARK) {
            return Some(from + place as u64);
        }
        if bytes.len() < MARK.len() {
            return None;
        }
        // A mark may cross the boundary of two reads.
        from += (bytes.len() - MARK.len() + 1) as u64;
    }
}
