//! The gap between two engines if the old one has to end before the new one starts. Clients wait
//! during the gap.

use crate::serving::Leaf;

/// Called when the next engine runs, or when none will.
type Waiter = Box<dyn FnOnce() + Send>;

/// The most waiting clients, several times the number of requests that a server allows at once.
const MOST_WAITERS: usize = 1 << 16;

/// The clients that wait for the next engine, or `None` while an engine runs.
#[derive(Default)]
pub(super) struct HandoverGap(Leaf<Option<Vec<Waiter>>>);

impl HandoverGap {
    /// Begins a gap. No engine takes requests until the returned value is dropped.
    pub(super) fn begin(&self) -> OpenGap<'_> {
        self.0.lock().get_or_insert_default();
        OpenGap(self)
    }

    /// Returns whether no engine takes requests.
    pub(super) fn is_open(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Calls `waiter` at the end of the gap. Returns `false` if there is no gap, or if too many
    /// clients wait.
    pub(super) fn wait(&self, waiter: Waiter) -> bool {
        match &mut *self.0.lock() {
            Some(waiting) if waiting.len() < MOST_WAITERS => {
                waiting.push(waiter);
                true
            }
            _ => false,
        }
    }
}

/// An open gap. Dropping it ends the gap and calls all waiters: an engine takes requests again, or
/// none ever will.
pub(super) struct OpenGap<'a>(&'a HandoverGap);

impl Drop for OpenGap<'_> {
    fn drop(&mut self) {
        let waiting = self.0.0.lock().take();
        waiting
            .unwrap_or_default()
            .into_iter()
            .for_each(|tell| tell());
    }
}
