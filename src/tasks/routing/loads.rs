//! Variants that arriving queries need, and the queries that wait until one is loaded.
//!
//! Queries without a latency goal wait, if a policy loads variants: loading usually takes less time
//! than a client notices, and INFaaS loads on arrival too. The number of waiting queries and the
//! time of each are bounded; afterwards the nearest running variant answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use divisi_modelless::variants::VariantIndex;
use divisi_runtime::lock::Leaf;

/// The maximum number of waiting queries.
const MOST_WAITING: usize = 64;
/// The longest and shortest limit on the time of a waiting query.
const LIMITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// The limit as a multiple of the loading time, as measured at registration.
const LOADINGS: u32 = 10;
/// The time between two checks of the waiting queries while none is due.
const IDLE: Duration = Duration::from_secs(1);

/// The variants to load and the queries that wait for them.
#[derive(Default)]
pub struct LoadRequests {
    state: Leaf<Requests>,
    /// Signals a new request to the thread that loads.
    asked: Condvar,
    /// Signals a new waiting query to the thread that keeps the time.
    waits: Condvar,
}

#[derive(Default)]
struct Requests {
    /// Whether a policy loads variants.
    is_open: bool,
    wanted: Vec<VariantIndex>,
    waiting: Vec<LoadWaiter>,
    /// The number of the next waiting query.
    next: u64,
}

struct LoadWaiter {
    number: u64,
    variant: VariantIndex,
    until: Duration,
    waker: Option<Waker>,
}

impl Requests {
    fn want(&mut self, variant: VariantIndex) {
        if !self.wanted.contains(&variant) {
            self.wanted.push(variant);
        }
    }

    /// Ends the wait of some queries.
    fn end(&mut self, is_over: impl Fn(&LoadWaiter) -> bool) -> Vec<Waker> {
        let over = self.waiting.extract_if(.., |query| is_over(query));
        over.filter_map(|query| query.waker).collect()
    }
}

impl LoadRequests {
    /// Sets whether a policy loads variants. Without one, no query waits.
    pub(crate) fn set_open(&self, is_open: bool) {
        let over = {
            let mut state = self.state.lock();
            state.is_open = is_open;
            if is_open {
                return;
            }
            state.wanted.clear();
            state.end(|_| true)
        };
        over.into_iter().for_each(Waker::wake);
    }

    /// Requests a variant for later queries.
    pub(crate) fn want(&self, variant: VariantIndex) {
        let mut state = self.state.lock();
        if state.is_open {
            state.want(variant);
            self.asked.notify_all();
        }
    }

    /// Requests a variant, and returns the wait for it. Returns `None` if no policy loads variants,
    /// too many queries wait, or loading takes too long.
    pub(crate) fn wait(
        self: &Arc<Self>,
        variant: VariantIndex,
        loading: Duration,
        now: Duration,
    ) -> Option<LoadWait> {
        let mut state = self.state.lock();
        let has_room = state.waiting.len() < MOST_WAITING;
        if !state.is_open || !has_room || loading > LIMITS.1 {
            return None;
        }
        state.want(variant);
        let number = state.next;
        state.next += 1;
        state.waiting.push(LoadWaiter {
            number,
            variant,
            until: now + (LOADINGS * loading).clamp(LIMITS.0, LIMITS.1),
            waker: None,
        });
        self.asked.notify_all();
        self.waits.notify_all();
        Some(LoadWait {
            requests: Arc::clone(self),
            number,
        })
    }

    /// Returns the requested variants, and waits for them for at most some time.
    pub(crate) fn next(&self, time: Duration) -> Vec<VariantIndex> {
        let state = self.state.lock();
        let is_idle = |state: &mut Requests| state.wanted.is_empty();
        let mut state = state.wait_timeout_while(&self.asked, time, is_idle);
        std::mem::take(&mut state.wanted)
    }

    /// Ends the wait for variants that are loaded or cannot be.
    pub(crate) fn end(&self, variants: &[VariantIndex]) {
        let over = self
            .state
            .lock()
            .end(|query| variants.contains(&query.variant));
        over.into_iter().for_each(Waker::wake);
    }

    /// Ends the wait of queries that have waited for too long.
    fn expire(&self, now: Duration) {
        let over = self.state.lock().end(|query| query.until <= now);
        over.into_iter().for_each(Waker::wake);
    }

    /// Ends waits in time, once. Returns after the next wait that is due, or after a while.
    pub(crate) fn keep_time(&self, now: impl Fn() -> Duration) {
        let now = now();
        self.expire(now);
        let state = self.state.lock();
        let soonest = state.waiting.iter().map(|query| query.until).min();
        let time = soonest.map_or(IDLE, |until| until.saturating_sub(now).min(IDLE));
        drop(state.wait_timeout(&self.waits, time));
    }

    /// Returns the number of waiting queries.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }
}

/// The wait of a query for a variant. It ends if the variant is loaded or cannot be, or after a
/// limited time. Dropping it cancels the wait.
pub(crate) struct LoadWait {
    requests: Arc<LoadRequests>,
    number: u64,
}

impl Future for LoadWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.requests.state.lock();
        let mut waiting = state.waiting.iter_mut();
        match waiting.find(|query| query.number == self.number) {
            Some(query) => {
                query.waker = Some(context.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

impl Drop for LoadWait {
    fn drop(&mut self) {
        let number = self.number;
        drop(
            self.requests
                .state
                .lock()
                .end(|query| query.number == number),
        );
    }
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/routing/loads.rs"]
mod tests;
