//! A block: some seconds of records, compressed, with its times and a checksum before it. How it
//! is made of what a session shows, and how its records are read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Snapshot;
use crate::wire::{Delta, Differ, SpanBatch, WireError, allowance, encode, take_within};

/// Bytes of a block's head.
pub(super) const HEAD: usize = 36;
/// The bytes that a head begins with.
pub(super) const MARK: &[u8; 4] = b"DVSB";
/// No block is larger, before or after compression.
const MOST: usize = 8 << 20;
/// No record is larger.
const MOST_RECORD: usize = 4 << 20;
/// No block has more records.
const MOST_RECORDS: usize = 4096;
/// Bytes of memory that a record's lists may take for each byte that its block has in the
/// file: as many as compression can save at most.
const EACH: usize = 256;
/// And so many for the smallest block.
const BASE: usize = 4 << 20;

/// A block is written once it has so many bytes, before compression.
const FULL: usize = 1 << 20;
/// Or is about so much time.
const LASTS: Duration = Duration::from_secs(5);
/// Where nothing changes, the state is noted so seldom.
const STILL: Duration = Duration::from_secs(1);

/// An entry of a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Record {
    /// All that was shown.
    Whole(Box<Snapshot>),
    /// The change of the state since the record before.
    Change(Delta),
    /// Spans that had come by then.
    Spans(Duration, SpanBatch),
}

/// A block's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Time since the engine's start of its first record.
    pub from: Duration,
    /// Time since the engine's start of its last record.
    pub until: Duration,
    /// Bytes before compression.
    raw: u32,
    /// Bytes after compression.
    pub packed: u32,
    /// The [`checksum`] of the compressed bytes.
    checksum: u64,
}

impl Head {
    /// The head that `bytes` are, if they may be one.
    pub(super) fn read(bytes: &[u8; HEAD]) -> Option<Self> {
        let (mark, rest) = bytes.split_first_chunk::<4>()?;
        let (from, rest) = rest.split_first_chunk()?;
        let (until, rest) = rest.split_first_chunk()?;
        let (raw, rest) = rest.split_first_chunk()?;
        let (packed, rest) = rest.split_first_chunk()?;
        let (checksum, _) = rest.split_first_chunk()?;
        let head = Head {
            from: Duration::from_nanos(u64::from_le_bytes(*from)),
            until: Duration::from_nanos(u64::from_le_bytes(*until)),
            raw: u32::from_le_bytes(*raw),
            packed: u32::from_le_bytes(*packed),
            checksum: u64::from_le_bytes(*checksum),
        };
        let within = |bytes: u32, most: usize| (1..=most).contains(&(bytes as usize));
        // What cannot be compressed grows a little.
        let fits = within(head.raw, MOST) && within(head.packed, MOST + MOST / 64);
        let fits = fits && head.from <= head.until;
        (mark == MARK && fits).then_some(head)
    }

    /// Adds the head's bytes to `into`.
    fn write(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(MARK);
        for time in [self.from, self.until] {
            let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            into.extend_from_slice(&nanos.to_le_bytes());
        }
        into.extend_from_slice(&self.raw.to_le_bytes());
        into.extend_from_slice(&self.packed.to_le_bytes());
        into.extend_from_slice(&self.checksum.to_le_bytes());
    }

    /// The records of the block whose compressed bytes are `packed`. None is decoded yet.
    ///
    /// # Errors
    /// The bytes are not those that were written.
    pub(super) fn records(&self, packed: &[u8]) -> Result<Records, WireError> {
        if checksum(packed) != self.checksum {
            return Err(WireError::Damaged("a block's checksum".into()));
        }
        let raw = lz4_flex::block::decompress(packed, self.raw as usize);
        let raw = raw.map_err(|e| WireError::Damaged(e.to_string()))?;
        Ok(Records {
            raw,
            at: 0,
            read: 0,
            most: packed.len().saturating_mul(EACH).saturating_add(BASE),
            next: None,
        })
    }
}

/// The records of a block, decoded one at a time when they are wanted.
#[derive(Debug, Default)]
pub(crate) struct Records {
    raw: Vec<u8>,
    /// Where the next one begins that was not decoded.
    at: usize,
    /// Records decoded.
    read: usize,
    /// Bytes of memory that one may take.
    most: usize,
    /// Decoded, and not taken yet.
    next: Option<Record>,
}

impl Records {
    /// Whether there are no more.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none() && self.at >= self.raw.len()
    }

    /// Records decoded so far.
    pub(crate) fn read(&self) -> usize {
        self.read
    }

    /// Bytes of the block, decompressed.
    pub(crate) fn bytes(&self) -> usize {
        self.raw.len()
    }

    /// The next record if it was made by `now`.
    ///
    /// # Errors
    /// There is something else; no more follow it.
    pub(crate) fn next_by(&mut self, now: Duration) -> Result<Option<Record>, WireError> {
        if self.next.is_none() && !self.is_over() {
            self.next = Some(self.decode()?);
        }
        Ok(self.next.take_if(|record| record.at() <= now))
    }

    /// The next record, whenever it was made.
    ///
    /// # Errors
    /// As [`Records::next_by`].
    pub(crate) fn next(&mut self) -> Result<Option<Record>, WireError> {
        self.next_by(Duration::MAX)
    }

    fn decode(&mut self) -> Result<Record, WireError> {
        // Whatever is wrong with it, nothing behind it can be trusted.
        let at = std::mem::replace(&mut self.at, self.raw.len());
        if self.read == MOST_RECORDS {
            let why = format!("more than {MOST_RECORDS} records in a block");
            return Err(WireError::Damaged(why));
        }
        self.read += 1;
        let end = self.raw.len().min(at.saturating_add(MOST_RECORD));
        let bytes = &self.raw[at..end];
        let most = allowance(bytes.len()).min(self.most);
        let (record, rest) = take_within(bytes, most)?;
        self.at = end - rest.len();
        Ok(record)
    }
}

impl Record {
    /// When it was made, since the engine's start.
    fn at(&self) -> Duration {
        match self {
            Record::Whole(shown) => shown.now,
            Record::Change(delta) => delta.now(),
            Record::Spans(at, _) => *at,
        }
    }
}

/// Makes blocks of what a session shows.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    raw: Vec<u8>,
    differ: Differ,
    from: Duration,
    until: Duration,
    /// Records of this block, and blocks before it.
    records: usize,
    done: u32,
}

impl Blocks {
    /// Notes a state. Returns the block that was finished before it, if one was full.
    ///
    /// # Errors
    /// It cannot be written down, or is larger than a record can be.
    pub(super) fn state(&mut self, shown: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        let done = match self.is_full(shown.now) {
            true => self.finish(),
            false => None,
        };
        if self.raw.is_empty() {
            self.from = shown.now.max(self.until);
            self.differ.forget();
        } else if self.is_still(shown) {
            return Ok(done);
        }
        self.until = self.until.max(shown.now).max(self.from);
        let record = match self.differ.next(shown)? {
            None => Record::Whole(Box::new(shown.clone())),
            Some(delta) => Record::Change(delta),
        };
        let record = encode(&record)?;
        if !self.has_room(record.len(), MOST) {
            let (found, most) = (record.len(), MOST_RECORD);
            return Err(WireError::TooLong { found, most });
        }
        self.put(record);
        Ok(done)
    }

    /// Notes spans; false where they are left out, since no state came before them or the
    /// block has no room for them.
    ///
    /// # Errors
    /// They cannot be written down.
    pub(super) fn spans(&mut self, at: Duration, batch: SpanBatch) -> Result<bool, WireError> {
        let record = encode(&Record::Spans(at, batch))?;
        let room = self.has_room(record.len(), MOST / 2);
        if self.raw.is_empty() || !room {
            return Ok(false);
        }
        self.until = self.until.max(at);
        self.put(record);
        Ok(true)
    }

    /// Whether a record of so many bytes keeps a block within its bounds.
    fn has_room(&self, bytes: usize, most: usize) -> bool {
        let fits = bytes <= MOST_RECORD && self.raw.len() + bytes <= most;
        fits && self.records < MOST_RECORDS
    }

    fn put(&mut self, mut record: Vec<u8>) {
        self.records += 1;
        self.raw.append(&mut record);
    }

    /// The first blocks are short: a process that is killed loses the last block.
    fn lasts(&self) -> Duration {
        LASTS.min(Duration::from_secs(self.done.into()))
    }

    fn is_full(&self, now: Duration) -> bool {
        let long = now.saturating_sub(self.from) >= self.lasts();
        long || self.raw.len() >= FULL || self.records >= MOST_RECORDS / 2
    }

    fn is_still(&self, shown: &Snapshot) -> bool {
        self.differ.last().is_some_and(|last| {
            shown.now.saturating_sub(last.now) < STILL && {
                let mut as_then = shown.clone();
                as_then.now = last.now;
                as_then == *last
            }
        })
    }

    /// The block so far, whole.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        let raw = std::mem::take(&mut self.raw);
        if raw.is_empty() {
            return None;
        }
        self.records = 0;
        self.done = self.done.saturating_add(1);
        let packed = lz4_flex::block::compress(&raw);
        let head = Head {
            from: self.from,
            until: self.until,
            raw: raw.len() as u32,
            packed: packed.len() as u32,
            checksum: checksum(&packed),
        };
        let mut block = Vec::with_capacity(HEAD + packed.len());
        head.write(&mut block);
        block.extend_from_slice(&packed);
        Some(block)
    }
}

/// FNV-1a: against accidents, not against people.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
