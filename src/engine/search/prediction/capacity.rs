//! Periods at capacity: a served throughput measures a setup if work never runs out.

use std::time::Duration;

/// The time at capacity before a period: until then, earlier samples may have waited for less.
const SETTLING: Duration = Duration::from_secs(1);
/// The longest time between two readings. Nothing is known about longer gaps.
const MOST_GAP: Duration = Duration::from_millis(500);

/// Watches for periods at capacity.
#[derive(Clone, Debug, Default)]
pub struct CapacityWatch {
    /// The setup, the begin of the time at capacity, and the last reading.
    since: Option<(u64, Duration, Duration)>,
}

impl CapacityWatch {
    /// The length of a period.
    pub const PERIOD: Duration = Duration::from_secs(5);

    /// Takes a reading at the time `now`: the number of the running setup, or `None` if it is not at
    /// capacity. Returns whether a period is complete; the next one then begins.
    pub fn note(&mut self, now: Duration, setup: Option<u64>) -> bool {
        let Some(setup) = setup else {
            self.since = None;
            return false;
        };
        let goes_on = |(of, _, last): &(u64, Duration, Duration)| {
            *of == setup && now.saturating_sub(*last) <= MOST_GAP
        };
        let begun = self.since.take().filter(goes_on).map(|(_, begun, _)| begun);
        let begun = begun.unwrap_or(now);
        let is_complete = now.saturating_sub(begun) >= SETTLING + Self::PERIOD;
        let begun = if is_complete { now } else { begun };
        self.since = Some((setup, begun, now));
        is_complete
    }
}
