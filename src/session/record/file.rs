//! A recording's file: made once, read from anywhere.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::wire::{Format, HELLO, WireError, read_hello};
use divisi_runtime::reading;

use super::block::{HEAD, Head, MARK, Records};

/// Bytes that are looked through at once.
const AT_ONCE: u64 = 64 << 10;
/// The extension of a recording's file name.
const EXTENSION: &str = "divisi";
/// Names tried before giving up.
const NAMES: usize = 1000;

/// A new file at `path`, or beside it where there is something already.
///
/// # Errors
/// The file cannot be created, or every name that was tried is taken.
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

/// A recording to be read. Opening it reads the heads of its blocks and nothing else; a
/// block is decoded when it is played.
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

/// How much of a recording was decoded so far; what is decoded again counts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Blocks read and decompressed.
    pub blocks: usize,
    /// Bytes of those, decompressed.
    pub bytes: usize,
    /// States, changes and batches of spans.
    pub records: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    head: Head,
    offset: u64,
}

impl RecordingReader {
    /// Whether the file at `path` is meant as a recording: it begins as one, or is called
    /// so.
    pub fn is_one(path: &Path) -> bool {
        if path.extension().is_some_and(|e| e == EXTENSION) {
            return true;
        }
        let mut hello = [0; HELLO];
        let read = reading::open(path).and_then(|mut file| file.read_exact(&mut hello));
        let read = read.map(|()| read_hello(&hello, Format::Recording));
        matches!(
            read,
            Ok(Ok(()) | Err(WireError::Newer { .. } | WireError::Older { .. }))
        )
    }

    /// Opens the recording at `path` and finds its blocks, as many as are whole.
    ///
    /// # Errors
    /// It cannot be read, is no recording, or has no whole block.
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
            return Err(WireError::Damaged("it has no whole block".into()));
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

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it ends as it should; otherwise it was cut off.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Places between its blocks where something else stands.
    pub fn torn(&self) -> u64 {
        self.torn
    }

    /// How much of it was decoded so far.
    pub fn decoded(&self) -> Decoded {
        self.decoded
    }

    /// Bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Counts records that were decoded of a block.
    pub(crate) fn count(&mut self, records: &Records) {
        self.decoded.records += records.read();
    }

    /// Time since the engine's start of its first record.
    pub fn from(&self) -> Duration {
        self.blocks.first().map_or(Duration::ZERO, |b| b.head.from)
    }

    /// Time since the engine's start of its last record.
    pub fn until(&self) -> Duration {
        self.blocks.last().map_or(Duration::ZERO, |b| b.head.until)
    }

    /// How many blocks it has.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The times of a block's first and last records.
    pub(crate) fn times(&self, block: usize) -> (Duration, Duration) {
        let head = &self.blocks[block].head;
        (head.from, head.until)
    }

    /// The last block that begins at `at` or before, or the first of all.
    pub(crate) fn block_at(&self, at: Duration) -> usize {
        let after = self.blocks.partition_point(|b| b.head.from <= at);
        after.saturating_sub(1)
    }

    /// The records of a block, which are decoded as they are taken.
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
    /// It ends with a whole block.
    whole: bool,
    /// Places where something else stands.
    torn: u64,
}

/// The blocks of a file. Where something else stands, what follows it is looked for.
fn scan(file: &mut File, length: u64) -> Found {
    let (mut found, mut at) = (Found::default(), HELLO as u64);
    let mut torn = 0;
    while at < length {
        match place(file, at, length) {
            Some(place) if found.follows(&place) => {
                at = place.end();
                found.blocks.push(place);
                // Only what has a block behind it was not simply cut off.
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

/// The block at `at`, if a whole one stands there.
fn place(file: &mut File, at: u64, length: u64) -> Option<Place> {
    let mut bytes = [0; HEAD];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    let head = Head::read(&bytes)?;
    let offset = at + HEAD as u64;
    let place = Place { head, offset };
    (place.end() <= length).then_some(place)
}

/// Where the next mark of a block stands, from `at` on.
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
        // A mark may lie across the edge.
        from += (bytes.len() - MARK.len() + 1) as u64;
    }
}
