//! The time between two engines, where the old one has to end before the new one starts: who asks
//! meanwhile waits.

use crate::serving::Leaf;

/// Tells somebody who waits that the next engine runs, or that none comes.
type Waiter = Box<dyn FnOnce() + Send>;

/// Those who wait at once, at most: as many as a server lets be under way, several times over.
const MOST_WAITERS: usize = 1 << 16;

/// Whether an engine runs, and who waits for the next one.
#[derive(Default)]
pub(super) struct HandoverGap(Leaf<Option<Vec<Waiter>>>);

impl HandoverGap {
    /// No engine takes requests until what is returned is dropped.
    pub(super) fn begin(&self) -> OpenGap<'_> {
        self.0.lock().get_or_insert_default();
        OpenGap(self)
    }

    /// Whether no engine takes requests.
    pub(super) fn is_open(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Tells `waiter` at the end. Returns `false` if there is no gap, or too many wait.
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

/// A gap that has begun. Dropped, it is over: an engine takes requests again, or none ever will, and
/// all who wait are told.
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
