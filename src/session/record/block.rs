//! A block: some seconds of records, compressed, with its times and a checksum before it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::session::Snapshot;
use crate::session::wire::{Delta, Differ, SpanBatch, WireError, encode};

/// Bytes of a block's head.
pub const HEAD: usize = 36;
/// What a head begins with.
const MARK: &[u8; 4] = b"DVSB";
/// A block is written once it has so many bytes, before compression.
const FULL: usize = 1 << 20;
/// Or is about so much time.
const LASTS: Duration = Duration::from_secs(5);
/// No block is larger, before or after compression.
const MOST: u32 = 64 << 20;
/// Where nothing changes, the state is noted so seldom.
const STILL: Duration = Duration::from_secs(1);

/// What a recording is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Record {
    /// All that was shown.
    Whole(Box<Snapshot>),
    /// What changed since.
    Change(Delta),
    /// Spans that had come by then.
    Spans(Duration, SpanBatch),
}

/// A block's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Time since the engine's start of its first and its last record.
    pub from: Duration,
    pub until: Duration,
    /// Bytes before and after compression.
    pub raw: u32,
    pub packed: u32,
    checksum: u64,
}

impl Head {
    /// The head that `bytes` are, if they may be one.
    pub fn read(bytes: &[u8; HEAD]) -> Option<Self> {
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
        let fits = head.raw <= MOST && head.packed <= MOST && head.from <= head.until;
        (mark == MARK && fits).then_some(head)
    }

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

    /// The records of the block whose compressed bytes are `packed`, in their order.
    ///
    /// # Errors
    /// The bytes are not those that were written.
    pub fn records(&self, packed: &[u8]) -> Result<Vec<Record>, WireError> {
        if checksum(packed) != self.checksum {
            return Err(WireError::Damaged("a block's checksum".into()));
        }
        let raw = lz4_flex::block::decompress(packed, self.raw as usize);
        let raw = raw.map_err(|e| WireError::Damaged(e.to_string()))?;
        let (mut rest, mut records) = (raw.as_slice(), Vec::new());
        while !rest.is_empty() {
            let taken = postcard::take_from_bytes(rest);
            let (record, more) = taken.map_err(|e| WireError::Damaged(e.to_string()))?;
            records.push(record);
            rest = more;
        }
        Ok(records)
    }
}

/// Makes blocks of what a session shows.
#[derive(Debug, Default)]
pub struct Blocks {
    raw: Vec<u8>,
    differ: Differ,
    from: Duration,
    until: Duration,
}

impl Blocks {
    /// Notes a state; gives the block that it completes.
    ///
    /// # Errors
    /// It cannot be written down.
    pub fn state(&mut self, shown: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
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
        self.raw.append(&mut encode(&record)?);
        Ok(done)
    }

    /// Notes spans, which a state must have come before: otherwise they are left out.
    ///
    /// # Errors
    /// They cannot be written down.
    pub fn spans(&mut self, at: Duration, batch: SpanBatch) -> Result<bool, WireError> {
        if self.raw.is_empty() {
            return Ok(false);
        }
        self.until = self.until.max(at);
        self.raw.append(&mut encode(&Record::Spans(at, batch))?);
        Ok(true)
    }

    fn is_full(&self, now: Duration) -> bool {
        self.raw.len() >= FULL || now.saturating_sub(self.from) >= LASTS
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
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        let raw = std::mem::take(&mut self.raw);
        // A block this large is a fault of whoever fed it; leaving it out keeps the file whole.
        if raw.is_empty() || raw.len() > MOST as usize {
            return None;
        }
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
