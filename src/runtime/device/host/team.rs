//! The threads of a partition of several cores: see [`ThreadTeam`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::{fmt, io};

use thiserror::Error;

use crate::lock::lock;

/// A thread that the system did not start.
#[derive(Debug, Error)]
#[error("a thread could not be started: {0}")]
pub struct NoThread(#[from] io::Error);

/// Threads that help a calling thread with its work.
///
/// The caller works too, and waits only for threads that have begun: it does all of the work while
/// other programs have the cores of the others.
pub struct ThreadTeam {
    shared: Arc<TeamRoom>,
    helpers: Vec<JoinHandle<()>>,
}

/// Work for a thread with this number, from 0.
type HelperWork<'a> = dyn Fn(usize) + Sync + 'a;

#[derive(Default)]
struct TeamRoom {
    /// The number of the last offer, read without the lock by threads that spin.
    latest: AtomicU64,
    /// Helpers that have begun and not ended.
    inside: AtomicUsize,
    state: Mutex<TeamState>,
    /// Notified of an offer, if helpers sleep.
    offered: Condvar,
    /// Notified by helpers that end, if a caller sleeps.
    ended: Condvar,
}

#[derive(Default)]
struct TeamState {
    work: Option<&'static HelperWork<'static>>,
    sleeping_helpers: usize,
    sleeping_callers: usize,
    is_over: bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// Rounds of spinning before a thread sleeps: about as long as it takes to wake one.
const SPINS: usize = 2_000;

impl ThreadTeam {
    /// Starts a team of `threads` threads, the caller of [`ThreadTeam::run`] among them. Each
    /// other thread calls `begin` first.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(
        threads: usize,
        begin: impl Fn() + Clone + Send + 'static,
    ) -> Result<Self, NoThread> {
        let mut team = ThreadTeam {
            shared: Arc::default(),
            helpers: Vec::new(),
        };
        for number in 1..threads {
            let (shared, begin) = (Arc::clone(&team.shared), begin.clone());
            let builder = thread::Builder::new().name(format!("partition-{number}"));
            let helper = builder.spawn(move || {
                begin();
                shared.help(number);
            })?;
            team.helpers.push(helper);
        }
        Ok(team)
    }

    /// Returns the number of threads, the caller among them.
    pub fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Runs `work` with 0 on the calling thread, and with other numbers on the helpers that begin
    /// before that ends. Returns once all of them have ended. While another thread uses the team,
    /// the caller works alone.
    ///
    /// # Panics
    /// Panics if `work` panicked on any thread.
    pub fn run(&self, work: impl Fn(usize) + Sync) {
        let lent: &HelperWork<'_> = &work;
        #[allow(unsafe_code, reason = "helpers borrow the work of the caller")]
        // SAFETY: `WorkOffer` takes the work back and waits until no helper runs it when it is dropped,
        // which is before `work` is, also if the caller panics.
        let lent =
            unsafe { std::mem::transmute::<&HelperWork<'_>, &'static HelperWork<'static>>(lent) };
        let offer = self.shared.offer(lent);
        work(0);
        let panic = offer.and_then(WorkOffer::end);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for ThreadTeam {
    fn drop(&mut self) {
        lock(&self.shared.state).is_over = true;
        self.shared.latest.fetch_add(1, Ordering::Release);
        self.shared.offered.notify_all();
        for helper in self.helpers.drain(..) {
            // A helper catches the panics of work.
            let _ = helper.join();
        }
    }
}

impl fmt::Debug for ThreadTeam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadTeam({})", self.threads())
    }
}

impl TeamRoom {
    /// Offers work to the helpers, or returns `None` if they have other work.
    fn offer(&self, work: &'static HelperWork<'static>) -> Option<WorkOffer<'_>> {
        let mut state = lock(&self.state);
        let has_work = state.work.is_some() || self.inside.load(Ordering::Acquire) > 0;
        // A panic belongs to the caller before.
        if has_work || state.panic.is_some() {
            return None;
        }
        state.work = Some(work);
        self.latest.fetch_add(1, Ordering::Release);
        let are_asleep = state.sleeping_helpers > 0;
        drop(state);
        if are_asleep {
            self.offered.notify_all();
        }
        Some(WorkOffer(self))
    }

    /// Runs offers as thread `number` until the team ends.
    fn help(&self, number: usize) {
        let mut seen = 0;
        while let Some(work) = self.next_work(&mut seen) {
            let ended = catch_unwind(AssertUnwindSafe(|| work(number)));
            self.end_help(ended.err());
        }
    }

    /// Waits for the first offer after `seen` and begins it. Returns `None` once the team ends.
    fn next_work(&self, seen: &mut u64) -> Option<&'static HelperWork<'static>> {
        spin_until(|| self.latest.load(Ordering::Acquire) != *seen);
        let mut state = lock(&self.state);
        while !state.is_over {
            let latest = self.latest.load(Ordering::Acquire);
            if let Some(work) = state.work.filter(|_| latest != *seen) {
                *seen = latest;
                self.inside.fetch_add(1, Ordering::AcqRel);
                return Some(work);
            }
            // The offer was taken back before this thread began.
            *seen = latest;
            state.sleeping_helpers += 1;
            state = wait(&self.offered, state);
            state.sleeping_helpers -= 1;
        }
        None
    }

    fn end_help(&self, panic: Option<Box<dyn Any + Send>>) {
        if panic.is_some() {
            lock(&self.state).panic = panic;
        }
        self.inside.fetch_sub(1, Ordering::AcqRel);
        if lock(&self.state).sleeping_callers > 0 {
            self.ended.notify_all();
        }
    }
}

/// Work that helpers may begin until this is dropped.
struct WorkOffer<'a>(&'a TeamRoom);

impl WorkOffer<'_> {
    /// Takes the work back and waits for the helpers. Returns the panic of one of them, if any.
    fn end(self) -> Option<Box<dyn Any + Send>> {
        let panic = self.withdraw();
        std::mem::forget(self);
        panic
    }

    fn withdraw(&self) -> Option<Box<dyn Any + Send>> {
        let shared = self.0;
        let is_over = || shared.inside.load(Ordering::Acquire) == 0;
        lock(&shared.state).work = None;
        let is_soon_over = spin_until(is_over);
        let mut state = lock(&shared.state);
        if !is_soon_over {
            state.sleeping_callers += 1;
            while !is_over() {
                state = wait(&shared.ended, state);
            }
            state.sleeping_callers -= 1;
        }
        state.panic.take()
    }
}

impl Drop for WorkOffer<'_> {
    fn drop(&mut self) {
        // The caller panics itself.
        drop(self.withdraw());
    }
}

/// Spins until `is_so` or for a short time. Returns whether it is so.
fn spin_until(is_so: impl Fn() -> bool) -> bool {
    (0..SPINS).any(|_| {
        std::hint::spin_loop();
        is_so()
    })
}

fn wait<'a>(condition: &Condvar, guard: MutexGuard<'a, TeamState>) -> MutexGuard<'a, TeamState> {
    condition
        .wait(guard)
        .unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "../../../../tests/runtime/units/device/host/team.rs"]
mod tests;
