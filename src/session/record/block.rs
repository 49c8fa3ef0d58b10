//! A block: some seconds of compressed records after a head with times and a checksum. Writes
//! blocks from a session's state and reads their records.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::wire::{SpanBatch, WireError, encode, has_moved, packed_allowance, take_within};
use crate::{FigureHistory, FigureRecord, Snapshot};

/// The size of a block's head in bytes.
pub(super) const HEAD: usize = 36;
/// The first bytes of a head.
pub(super) const MARK: &[u8; 4] = b"DVSB";
/// The maximum size of a block, before and after compression.
const MOST: usize = 8 << 20;
/// The maximum size of a record.
const MOST_RECORD: usize = 4 << 20;
/// The maximum number of records in a block.
const MOST_RECORDS: usize = 4096;

/// A block is written when it has this many bytes, before compression.
const FULL: usize = 1 << 20;
/// A block is written when it spans about this time.
const LASTS: Duration = Duration::from_secs(5);
/// The time between two states if nothing changes.
const STILL: Duration = Duration::from_secs(1);

/// An entry of a recording. A state is encoded from a reference.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Record<S = Box<Snapshot>> {
    /// The complete state.
    State(S),
    /// The spans received by this time.
    Spans(Duration, SpanBatch),
    /// The figures of the seconds before the block, since the block before it. Those of the first
    /// block are of the whole session. They follow the first state of a block.
    Seconds(Vec<FigureRecord>),
}

/// A block's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Returns the time of the first record, since the engine's start.
    pub from: Duration,
    /// Returns the time of the last record, since the engine's start.
    pub until: Duration,
    /// Bytes before compression.
    raw: u32,
    /// Bytes after compression.
    pub packed: u32,
    /// The [`checksum`] of the compressed bytes.
    checksum: u64,
}

impl Head {
    /// Decodes a head, or returns `None` if the bytes are not a valid head.
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
        // Incompressible data grows a little.
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

    /// Returns the records of the block with the compressed bytes `packed`. They are decoded on
    /// demand.
    ///
    /// # Errors
    /// Returns an error if the bytes are damaged.
    pub(super) fn records(&self, packed: &[u8]) -> Result<Records, WireError> {
        if checksum(packed) != self.checksum {
            return Err(WireError::Damaged(
                "the checksum of a block is wrong".into(),
            ));
        }
        let raw = lz4_flex::block::decompress(packed, self.raw as usize);
        let raw = raw.map_err(|e| WireError::Damaged(e.to_string()))?;
        Ok(Records {
            raw,
            at: 0,
            read: 0,
            most: packed_allowance(packed.len()),
            next: None,
        })
    }
}

/// The records of a block, decoded one at a time on demand.
#[derive(Debug, Default)]
pub(crate) struct Records {
    raw: Vec<u8>,
    /// The start of the first record that is not decoded.
    at: usize,
    /// The number of decoded records.
    read: usize,
    /// The bytes of memory that a record may take.
    most: usize,
    /// A decoded record that was not returned yet.
    next: Option<Record>,
}

impl Records {
    /// Returns whether all records were returned.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none() && self.at >= self.raw.len()
    }

    /// Returns the number of decoded records.
    pub(crate) fn read(&self) -> usize {
        self.read
    }

    /// Returns the decompressed size of the block in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.raw.len()
    }

    /// Returns the next record if it was made by `now`.
    ///
    /// # Errors
    /// Returns an error if the record is damaged; no more records follow.
    pub(crate) fn next_by(&mut self, now: Duration) -> Result<Option<Record>, WireError> {
        if self.next.is_none() && !self.is_over() {
            self.next = Some(self.decode()?);
        }
        Ok(self.next.take_if(|record| record.at() <= now))
    }

    /// Returns the next record, whenever it was made.
    ///
    /// # Errors
    /// Returns an error if the record is damaged, as [`Records::next_by`].
    pub(crate) fn next(&mut self) -> Result<Option<Record>, WireError> {
        self.next_by(Duration::MAX)
    }

    fn decode(&mut self) -> Result<Record, WireError> {
        // After a damaged record, the rest of the block cannot be trusted.
        let at = std::mem::replace(&mut self.at, self.raw.len());
        if self.read == MOST_RECORDS {
            let why = format!("more than {MOST_RECORDS} records in a block");
            return Err(WireError::Damaged(why));
        }
        self.read += 1;
        let end = self.raw.len().min(at.saturating_add(MOST_RECORD));
        let (record, rest) = take_within(&self.raw[at..end], self.most)?;
        self.at = end - rest.len();
        Ok(record)
    }
}

impl Record {
    /// Returns its time since the engine's start.
    fn at(&self) -> Duration {
        match self {
            Record::State(shown) => shown.now,
            Record::Spans(at, _) => *at,
            Record::Seconds(_) => Duration::ZERO,
        }
    }
}

/// Writes a session's state into blocks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    raw: Vec<u8>,
    /// The last recorded state, except for its time.
    last: Option<Snapshot>,
    last_at: Duration,
    from: Duration,
    until: Duration,
    /// The records of this block, and the number of blocks before it.
    records: usize,
    done: u32,
    /// The figures of the seconds that are not recorded yet.
    seconds: Vec<FigureRecord>,
}

/// The maximum number of seconds between two blocks.
const MOST_SECONDS: usize = 4096;

impl Blocks {
    /// Begins with the figures of the session before the recording.
    pub(super) fn after(history: &FigureHistory) -> Self {
        Blocks {
            seconds: history.records().cloned().collect(),
            ..Blocks::default()
        }
    }

    /// Keeps the last second of a state for the next block.
    fn note_second(&mut self, shown: &Snapshot) {
        let known = self.seconds.last().map(FigureRecord::until);
        let new = shown.second.iter();
        let new = new.filter(|second| known.is_none_or(|until| second.from() >= until));
        let room = MOST_SECONDS.saturating_sub(self.seconds.len());
        self.seconds.extend(new.take(room).cloned());
    }

    /// Adds the figures of the seconds before the block, after its first state.
    fn put_seconds(&mut self) -> Result<(), WireError> {
        let seconds = std::mem::take(&mut self.seconds);
        // Later states repeat the last second.
        self.seconds.extend(seconds.last().cloned());
        let record = encode(&Record::<&Snapshot>::Seconds(seconds))?;
        if self.has_room(record.len(), MOST) {
            self.put(record);
        }
        Ok(())
    }

    /// Adds a state. Returns the previous block if it was full.
    ///
    /// # Errors
    /// Returns an error if the state cannot be encoded or exceeds the size of a record.
    pub(super) fn state(&mut self, shown: Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        let done = match self.is_full(shown.now) {
            true => self.finish(),
            false => None,
        };
        self.note_second(&shown);
        let moved = has_moved(&mut self.last, &shown);
        let is_first = self.raw.is_empty();
        if is_first {
            self.from = shown.now.max(self.until);
        } else if !moved && shown.now.saturating_sub(self.last_at) < STILL {
            return Ok(done);
        }
        self.until = self.until.max(shown.now).max(self.from);
        let record = encode(&Record::State(&shown))?;
        if !self.has_room(record.len(), MOST) {
            let (found, most) = (record.len(), MOST_RECORD);
            return Err(WireError::TooLong { found, most });
        }
        self.put(record);
        if is_first {
            self.put_seconds()?;
        }
        self.last_at = shown.now;
        self.last = Some(shown);
        Ok(done)
    }

    /// Adds spans. Returns `false` if they are left out, because no state came before them or the
    /// block is full.
    ///
    /// # Errors
    /// Returns an error if the spans cannot be encoded.
    pub(super) fn spans(&mut self, at: Duration, batch: SpanBatch) -> Result<bool, WireError> {
        let record = encode(&Record::<&Snapshot>::Spans(at, batch))?;
        let room = self.has_room(record.len(), MOST / 2);
        if self.raw.is_empty() || !room {
            return Ok(false);
        }
        self.until = self.until.max(at);
        self.put(record);
        Ok(true)
    }

    /// Returns whether a record of this size fits into the block.
    fn has_room(&self, bytes: usize, most: usize) -> bool {
        let fits = bytes <= MOST_RECORD && self.raw.len() + bytes <= most;
        fits && self.records < MOST_RECORDS
    }

    fn put(&mut self, mut record: Vec<u8>) {
        self.records += 1;
        self.raw.append(&mut record);
    }

    /// Returns the duration of the current block. The first blocks are short: a killed process
    /// loses the last block.
    fn lasts(&self) -> Duration {
        LASTS.min(Duration::from_secs(self.done.into()))
    }

    fn is_full(&self, now: Duration) -> bool {
        let long = now.saturating_sub(self.from) >= self.lasts();
        long || self.raw.len() >= FULL || self.records >= MOST_RECORDS / 2
    }

    /// Finishes the block and returns it.
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

/// FNV-1a: detects accidental damage, not tampering.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
