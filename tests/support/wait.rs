//! The one way in which tests wait: for an event, never for a time.

use std::fmt::Debug;
use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

/// The time after which a wait has failed. A test needs milliseconds on a
/// machine of its own; the limit is for one whose cores are all taken by others.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Pause between two looks, so that a test that waits does not take a core from what it
/// waits for.
const PAUSE: Duration = Duration::from_micros(100);

/// Looks until `look` returns `Ok`, and returns its value.
///
/// # Panics
/// After [`LIMIT`], with the caller's place and the last state, which `look` returns as
/// its error.
#[track_caller]
pub fn wait_for<T, S: Debug>(mut look: impl FnMut() -> Result<T, S>) -> T {
    let caller = Location::caller();
    let start = Instant::now();
    loop {
        match look() {
            Ok(value) => return value,
            Err(state) if start.elapsed() > LIMIT => {
                panic!(
                    "what {caller} waits for did not happen within {LIMIT:?}; last state:\n{state:#?}"
                )
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Waits until `there` returns true. Where there is a state to show, use [`wait_for`].
#[track_caller]
pub fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    wait_for(|| if there() { Ok(()) } else { Err(what) });
}
