//! Makes blocks of what a session shows: which records stand in one, and when it is full.

use std::time::Duration;

use crate::session::Snapshot;
use crate::session::wire::{Differ, SpanBatch, WireError, encode};

use super::block::{HEAD, Head, MOST, MOST_RECORD, MOST_RECORDS, Record, checksum};

/// A block is written once it has so many bytes, before compression.
const FULL: usize = 1 << 20;
/// Or is about so much time.
const LASTS: Duration = Duration::from_secs(5);
/// Where nothing changes, the state is noted so seldom.
const STILL: Duration = Duration::from_secs(1);

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
