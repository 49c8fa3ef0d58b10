//! Counts of events per second over the last minute.

use std::time::Duration;

/// The length of an interval.
pub const MOMENT: Duration = Duration::from_secs(1);

/// The number of intervals in the window.
pub const MOMENTS: usize = 60;

/// The number of events in each of the last [`MOMENTS`]. It reads no clock.
#[derive(Clone, Debug)]
pub struct MomentCounts {
    /// A ring buffer by interval number.
    counts: [u32; MOMENTS],
    newest: u64,
}

impl Default for MomentCounts {
    fn default() -> Self {
        MomentCounts {
            counts: [0; MOMENTS],
            newest: 0,
        }
    }
}

impl MomentCounts {
    /// Counts an event at `now`; a late event counts in the newest interval.
    pub fn add(&mut self, now: Duration) {
        self.advance(now);
        let place = self.place(self.newest);
        if let Some(count) = self.counts.get_mut(place) {
            *count = count.saturating_add(1);
        }
    }

    /// Drops the intervals that are outside of the window at `now`.
    pub fn advance(&mut self, now: Duration) {
        self.advance_to((now.as_nanos() / MOMENT.as_nanos()) as u64);
    }

    fn advance_to(&mut self, moment: u64) {
        let over = moment.saturating_sub(self.newest).min(MOMENTS as u64);
        for at in 0..over {
            let place = self.place(moment - at);
            self.counts[place] = 0;
        }
        self.newest = self.newest.max(moment);
    }

    /// Adds the events of another series with the same clock.
    pub fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        let newest = self.newest.max(other.newest);
        self.advance_to(newest);
        other.advance_to(newest);
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }

    /// Returns the counts, oldest first; the last interval is incomplete.
    pub fn series(&self) -> Vec<u32> {
        let after = self.place(self.newest) + 1;
        let (newer, older) = self.counts.split_at(after.min(MOMENTS));
        older.iter().chain(newer).copied().collect()
    }

    /// Returns the sum of all intervals.
    pub fn sum(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    /// Returns the events per second in the last `moments` complete intervals.
    pub fn rate(&self, moments: usize) -> f64 {
        let moments = moments.clamp(1, MOMENTS - 1);
        let over = (1..=moments as u64).filter_map(|at| self.newest.checked_sub(at));
        let counts = over.filter_map(|moment| self.counts.get(self.place(moment)));
        let sum: u64 = counts.map(|count| u64::from(*count)).sum();
        sum as f64 / (MOMENT.as_secs_f64() * moments as f64)
    }

    fn place(&self, moment: u64) -> usize {
        (moment % MOMENTS as u64) as usize
    }
}
