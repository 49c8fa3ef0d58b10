//! A recording's file: made once, read from anywhere.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::session::wire::{Format, WireError, read_hello};

use super::block::{HEAD, Head, Record};

/// Names tried before giving up.
const NAMES: usize = 1000;

/// A new file at `path`, or beside it where there is something already.
///
/// # Errors
/// What keeps it from being made.
pub fn create(path: &Path) -> io::Result<(File, PathBuf)> {
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

/// A recording to be read.
#[derive(Debug)]
pub struct Tape {
    file: File,
    path: PathBuf,
    blocks: Vec<Place>,
    whole: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    head: Head,
    offset: u64,
}

impl Tape {
    /// Whether the file at `path` begins as a recording does.
    pub fn is_one(path: &Path) -> bool {
        let mut hello = [0; 10];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut hello));
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
        let unreadable = |e: io::Error| WireError::Damaged(e.to_string());
        let mut file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let mut hello = [0; 10];
        let read = file.read_exact(&mut hello);
        read.map_err(|_| WireError::Foreign("a recording of Divisi"))?;
        read_hello(&hello, Format::Recording)?;
        let (blocks, whole) = scan(&mut file, length);
        if blocks.is_empty() {
            return Err(WireError::Damaged("it has no whole block".into()));
        }
        Ok(Tape {
            file,
            path: path.to_owned(),
            blocks,
            whole,
        })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it ends as it should; otherwise it was cut off or damaged.
    pub fn is_whole(&self) -> bool {
        self.whole
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
    pub(in crate::session) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The times of a block's first and last records.
    pub(in crate::session) fn times(&self, block: usize) -> (Duration, Duration) {
        let head = &self.blocks[block].head;
        (head.from, head.until)
    }

    /// The last block that begins at `at` or before, or the first of all.
    pub(in crate::session) fn block_at(&self, at: Duration) -> usize {
        let after = self.blocks.partition_point(|b| b.head.from <= at);
        after.saturating_sub(1)
    }

    /// The records of a block.
    pub(in crate::session) fn read(&mut self, block: usize) -> Result<Vec<Record>, WireError> {
        let place = self.blocks[block];
        let mut packed = vec![0; place.head.packed as usize];
        let read = self.file.seek(SeekFrom::Start(place.offset));
        let read = read.and_then(|_| self.file.read_exact(&mut packed));
        read.map_err(|e| WireError::Damaged(e.to_string()))?;
        place.head.records(&packed)
    }
}

/// The blocks up to the end, or to where something else stands.
fn scan(file: &mut File, length: u64) -> (Vec<Place>, bool) {
    let (mut blocks, mut at) = (Vec::<Place>::new(), 10);
    let mut bytes = [0; HEAD];
    while at < length {
        let read = file.seek(SeekFrom::Start(at));
        let read = read.and_then(|_| file.read_exact(&mut bytes));
        let head = read.ok().and_then(|()| Head::read(&bytes));
        let Some(head) = head else { break };
        let offset = at + HEAD as u64;
        let end = offset + u64::from(head.packed);
        let later = blocks.last().is_none_or(|b| b.head.until <= head.from);
        if end > length || !later {
            break;
        }
        blocks.push(Place { head, offset });
        at = end;
    }
    (blocks, at == length)
}
