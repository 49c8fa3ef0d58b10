//! The work that queries bring to a device, by how long they may wait.

use std::time::Duration;

/// The time in which most of an estimate is that of what came since.
const MEMORY: Duration = Duration::from_secs(2);
/// Decay is worked out once in so long.
const STEP: Duration = Duration::from_millis(5);
/// Bands of waits, each twice as long as the one before, from [`SHORTEST`] on.
const BANDS: usize = 18;
const SHORTEST: Duration = Duration::from_millis(1);
/// Where so much of their work is not taken for the sake of others, all of it is kept free for queries.
const DENIED: f64 = 0.1;

/// The rate at which work is offered that there would be time for, of queries that are taken and of those
/// that are refused for the sake of others, as an average over the last seconds.
///
/// Queries that may wait long are there first: they would take all the time until they are due, and leave
/// none to those that come later and may wait less. Where that happens, the demand of these up to its due
/// time is kept free from a query: that of Baruah, Rosier and Howell (1990, the demand bound of earliest
/// deadline first), by rates in place of periods.
#[derive(Clone, Debug)]
pub(super) struct OfferedWork {
    bands: [OfferedBand; BANDS],
    decayed: Duration,
}

/// Queries that may wait about equally long.
#[derive(Clone, Copy, Debug, Default)]
struct OfferedBand {
    /// The part of a device's time that they ask for.
    rate: f64,
    /// The same times how long they may wait, in seconds.
    waits: f64,
    /// The part of the rate that was not taken for the sake of others.
    denied: f64,
    /// The work of those that were taken and are not answered yet, in nanoseconds.
    booked: u64,
}

impl OfferedBand {
    /// Returns how long its queries may wait on average, in seconds.
    fn wait(&self) -> f64 {
        self.waits / self.rate.max(f64::MIN_POSITIVE)
    }

    /// Returns the rate of work that is to be kept free for them: none where they are taken anyway.
    fn kept(&self) -> f64 {
        let denied = self.denied / self.rate.max(f64::MIN_POSITIVE);
        self.rate * (denied / DENIED).min(1.0)
    }
}

impl OfferedWork {
    /// Creates a device that nothing was offered to.
    pub(super) fn new(now: Duration) -> Self {
        OfferedWork {
            bands: [OfferedBand::default(); BANDS],
            decayed: now,
        }
    }

    /// Counts the work of a query that may wait for some time, and was taken or was not for the sake of others.
    pub(super) fn offer(&mut self, wait: Duration, work: Duration, is_taken: bool) {
        let rate = work.as_secs_f64() / MEMORY.as_secs_f64();
        let band = &mut self.bands[band(wait)];
        band.rate += rate;
        band.waits += rate * wait.as_secs_f64();
        if !is_taken {
            band.denied += rate;
        }
    }

    /// Adds work that is taken.
    pub(super) fn book(&mut self, wait: Duration, work: u64) {
        self.bands[band(wait)].booked += work;
    }

    /// Takes off work that was taken.
    pub(super) fn take_off(&mut self, wait: Duration, work: u64) {
        let booked = &mut self.bands[band(wait)].booked;
        *booked = booked.saturating_sub(work);
    }

    /// Returns the work that was taken of queries that may wait about as long as one or less.
    pub(super) fn booked(&self, wait: Duration) -> u64 {
        let sooner = self.bands.iter().take(band(wait) + 1);
        sooner.map(|band| band.booked).sum()
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.decayed);
        if passed >= STEP {
            let left = (-passed.as_secs_f64() / MEMORY.as_secs_f64()).exp();
            for band in &mut self.bands {
                band.rate *= left;
                band.waits *= left;
                band.denied *= left;
            }
            self.decayed = now;
        }
    }

    /// Returns the part of the device's time that all ask for: above 1 for more than there is.
    fn rate(&self) -> f64 {
        self.bands.iter().map(|band| band.rate).sum()
    }

    /// Returns the work that is to be expected of queries which come later than one that may wait for some
    /// time, and are due before it, on a device that does `pace` of work a second.
    ///
    /// Where more is offered than the device can do, that of all is counted in the same proportion: each
    /// has its share of the device, however long it may wait.
    pub(super) fn overtaking(&self, wait: Duration, pace: f64) -> Duration {
        let share = (pace / self.rate().max(f64::MIN_POSITIVE)).min(1.0);
        let sooner = self.bands.iter().take(band(wait) + 1);
        let work = sooner.map(|band| band.kept() * (wait.as_secs_f64() - band.wait()).max(0.0));
        Duration::try_from_secs_f64(share * work.sum::<f64>()).unwrap_or_default()
    }
}

fn band(wait: Duration) -> usize {
    let times = wait.as_micros() / SHORTEST.as_micros();
    let doublings = times.checked_ilog2().map_or(0, |n| n as usize + 1);
    doublings.min(BANDS - 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::OfferedWork;

    const MILLI: Duration = Duration::from_millis(1);

    /// Offers work of queries that may wait for so many milliseconds, as parts of a device's time, for ten
    /// seconds. One in so many is not taken.
    fn offered(of: &[(u32, f64)], denied: u32) -> OfferedWork {
        let mut offered = OfferedWork::new(Duration::ZERO);
        for at in 0..10_000 {
            offered.pass(at * MILLI);
            for (wait, part) in of {
                let is_taken = at % denied != 0;
                offered.offer(*wait * MILLI, MILLI.mul_f64(*part), is_taken);
            }
        }
        offered
    }

    fn overtaking(offered: &OfferedWork, wait: u32, pace: f64) -> f64 {
        offered.overtaking(wait * MILLI, pace).as_secs_f64() * 1e3
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        let within = 0.02 * expected + 0.1;
        assert!(
            (found - expected).abs() <= within,
            "{found}, expected {expected}"
        );
    }

    #[test]
    fn time_is_kept_free_for_those_that_may_wait_less() {
        let offered = offered(&[(20, 0.3), (500, 0.2)], 5);
        assert_near(overtaking(&offered, 20, 1.0), 0.0);
        assert_near(overtaking(&offered, 120, 1.0), 30.0);
        assert_near(overtaking(&offered, 500, 1.0), 144.0);
        assert_near(overtaking(&offered, 1500, 1.0), 444.0 + 200.0);
    }

    #[test]
    fn where_too_much_is_offered_each_has_its_share() {
        let offered = offered(&[(20, 2.0), (500, 1.0), (1000, 1.0)], 2);
        assert_near(overtaking(&offered, 1000, 1.0), 0.5 * 980.0 + 0.25 * 500.0);
        assert_near(
            overtaking(&offered, 1000, 0.5),
            0.25 * 980.0 + 0.125 * 500.0,
        );
    }

    #[test]
    fn nothing_is_kept_free_for_those_that_are_taken_anyway() {
        let kept = |denied| overtaking(&offered(&[(20, 0.5)], denied), 1020, 1.0);
        assert_near(kept(20_000), 0.0);
        assert_near(kept(20), 250.0);
        assert_near(kept(10), 500.0);
    }

    #[test]
    fn what_was_offered_is_forgotten_as_time_passes() {
        let mut offered = offered(&[(20, 0.5)], 2);
        offered.pass(16_000 * MILLI);
        assert_near(overtaking(&offered, 1020, 1.0), 500.0 * (-3.0_f64).exp());
    }
}
