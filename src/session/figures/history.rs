//! The records of the whole session in bounded memory: seconds while they are recent, merged later.

use std::collections::VecDeque;
use std::time::Duration;

use super::FigureRecord;

/// The seconds of a record and the number of records, from the newest records to the oldest. Ten
/// minutes in seconds, then an hour, twelve hours and five days in longer records. If the session
/// lasts longer, the oldest records cover twice the time.
const TIERS: [(u64, usize); 4] = [(1, 600), (10, 360), (60, 720), (600, 720)];

/// The maximum number of records.
const MOST: usize = TIERS[0].1 + TIERS[1].1 + TIERS[2].1 + TIERS[3].1;

/// The records of one length.
#[derive(Clone, Debug, PartialEq)]
struct Tier {
    /// The seconds of a whole record.
    seconds: u64,
    most: usize,
    /// The records, oldest first.
    records: VecDeque<FigureRecord>,
}

impl Tier {
    /// Adds a record, or merges it with the last one if both are of the same time.
    fn add(&mut self, record: FigureRecord) {
        let place = |record: &FigureRecord| record.from / self.seconds;
        match self.records.back_mut() {
            Some(last) if place(last) == place(&record) => last.merge(&record),
            _ => self.records.push_back(record),
        }
    }

    /// Doubles the time of its records, and merges those that are now of the same time.
    fn double(&mut self) {
        self.seconds = self.seconds.saturating_mul(2);
        for record in std::mem::take(&mut self.records) {
            self.add(record);
        }
    }

    /// Removes the oldest record if there are too many.
    fn overflow(&mut self) -> Option<FigureRecord> {
        let is_over = self.records.len() > self.most;
        is_over.then(|| self.records.pop_front()).flatten()
    }
}

/// The figures of the whole session, oldest first. It has no clock.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureHistory {
    /// The newest and finest records first.
    tiers: Vec<Tier>,
}

impl Default for FigureHistory {
    fn default() -> Self {
        let tier = |(seconds, most)| Tier {
            seconds,
            most,
            records: VecDeque::new(),
        };
        FigureHistory {
            tiers: TIERS.map(tier).into(),
        }
    }
}

impl FigureHistory {
    /// Returns the history of records, oldest first.
    pub fn from_records(records: impl IntoIterator<Item = FigureRecord>) -> Self {
        let mut history = FigureHistory::default();
        records.into_iter().for_each(|record| history.push(record));
        history
    }

    /// Adds a record. One that does not follow the last record is ignored.
    pub fn push(&mut self, record: FigureRecord) {
        if !record.is_valid() || record.from() < self.until() {
            return;
        }
        let mut next = Some(record);
        for tier in &mut self.tiers {
            let Some(record) = next else { return };
            tier.add(record);
            next = tier.overflow();
        }
        // Nothing is lost: the longest records become longer.
        if let (Some(oldest), Some(last)) = (next, self.tiers.last_mut()) {
            last.records.push_front(oldest);
            last.double();
        }
    }

    /// Returns the records, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &FigureRecord> {
        self.tiers.iter().rev().flat_map(|tier| &tier.records)
    }

    /// Returns the newest record.
    pub fn last(&self) -> Option<&FigureRecord> {
        self.records().next_back()
    }

    /// Returns the start of the oldest record, since the engine's start.
    pub fn from(&self) -> Option<Duration> {
        self.records().next().map(FigureRecord::from)
    }

    /// Returns the end of the newest record, since the engine's start.
    pub fn until(&self) -> Duration {
        self.last().map_or(Duration::ZERO, FigureRecord::until)
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.tiers.iter().map(|tier| tier.records.len()).sum()
    }

    /// Returns whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.last().is_none()
    }

    /// Returns the merged records that overlap a time, or `None` without such records.
    pub fn within(&self, from: Duration, until: Duration) -> Option<FigureRecord> {
        let overlaps = |record: &&FigureRecord| record.from() < until && record.until() > from;
        let mut found = self.records().filter(overlaps);
        let mut all = found.next()?.clone();
        found.for_each(|record| all.merge(record));
        Some(all)
    }

    /// Returns whether a list of records has a possible length.
    pub(crate) fn has_room_for(records: usize) -> bool {
        records <= MOST
    }
}
