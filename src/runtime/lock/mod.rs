//! Locks without poisoning that can be taken only in the order of their ranks.
//!
//! Code of this crate and of the engine never leaves data half changed while it holds a lock, so
//! the data of a poisoned lock is valid.

mod shared;

pub use shared::{RankedReadGuard, RankedRwLock, RankedWriteGuard};

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Locks `mutex`, even if a thread panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place in the order of locks.
pub trait LockRank {
    /// A thread takes locks in ascending order only.
    const ORDER: u8;
    /// The lock's name, for the report of a violation.
    const NAME: &'static str;
}

/// The last place in the order: no lock is taken while a lock of this rank is held.
#[derive(Debug)]
pub enum LeafRank {}

impl LockRank for LeafRank {
    const ORDER: u8 = 99;
    const NAME: &'static str = "something small";
}

/// A lock that is always the last one taken.
pub type Leaf<T> = Ranked<LeafRank, T>;

/// A lock that is always the last one taken, shared by readers.
pub type SharedLeaf<T> = RankedRwLock<LeafRank, T>;

/// A lock of rank `R`. With debug assertions, taking it panics if the thread holds a lock of the
/// same or a higher rank. Two threads that take such locks in opposite orders can deadlock.
pub struct Ranked<R, T> {
    rank: PhantomData<fn() -> R>,
    mutex: Mutex<T>,
}

impl<R: LockRank, T> Ranked<R, T> {
    /// A lock over `value`.
    pub const fn new(value: T) -> Self {
        Ranked {
            rank: PhantomData,
            mutex: Mutex::new(value),
        }
    }

    /// Takes the lock.
    ///
    /// # Panics
    /// The thread holds a lock that must be taken later; with debug assertions only.
    #[track_caller]
    pub fn lock(&self) -> RankedGuard<'_, T> {
        let held = HeldRank::enter::<R>();
        RankedGuard {
            guard: lock(&self.mutex),
            _held: held,
        }
    }

    /// Takes the lock, or returns `None` if it is held.
    ///
    /// # Panics
    /// As [`Ranked::lock`].
    #[track_caller]
    pub fn try_lock(&self) -> Option<RankedGuard<'_, T>> {
        let held = HeldRank::enter::<R>();
        let guard = match self.mutex.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(RankedGuard { guard, _held: held })
    }
}

impl<R: LockRank, T: Default> Default for Ranked<R, T> {
    fn default() -> Self {
        Ranked::new(T::default())
    }
}

impl<R: LockRank, T> fmt::Debug for Ranked<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranked")
            .field("rank", &R::NAME)
            .finish_non_exhaustive()
    }
}

/// A lock that is held. Dropping it releases the lock.
pub struct RankedGuard<'a, T> {
    guard: MutexGuard<'a, T>,
    _held: HeldRank,
}

impl<T> Deref for RankedGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for RankedGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> RankedGuard<'_, T> {
    /// Waits for `condition` while the lock is released.
    #[must_use]
    pub fn wait(self, condition: &Condvar) -> Self {
        let RankedGuard { guard, _held } = self;
        let guard = condition.wait(guard);
        let guard = guard.unwrap_or_else(PoisonError::into_inner);
        RankedGuard { guard, _held }
    }

    /// Waits for `condition`, for at most `time`, while the lock is released.
    #[must_use]
    pub fn wait_timeout(self, condition: &Condvar, time: Duration) -> Self {
        let RankedGuard { guard, _held } = self;
        let waited = condition.wait_timeout(guard, time);
        let (guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        RankedGuard { guard, _held }
    }

    /// Waits like [`RankedGuard::wait_timeout`], and continues to wait while `holds` returns
    /// `true`.
    #[must_use]
    pub fn wait_timeout_while(
        self,
        condition: &Condvar,
        time: Duration,
        holds: impl FnMut(&mut T) -> bool,
    ) -> Self {
        let RankedGuard { guard, _held } = self;
        let waited = condition.wait_timeout_while(guard, time, holds);
        let (guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        RankedGuard { guard, _held }
    }
}

/// Returns all violations of the lock order in this process. They are recorded with debug
/// assertions only. The panic of a violation may have been caught where panics of networks are
/// caught.
pub fn violations() -> Vec<String> {
    lock(&VIOLATIONS).clone()
}

static VIOLATIONS: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    /// The locks that this thread holds.
    static HELD: RefCell<Vec<HeldLock>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy)]
struct HeldLock {
    order: u8,
    name: &'static str,
    /// Where the lock was taken.
    place: &'static Location<'static>,
}

/// A rank that this thread holds a lock of.
struct HeldRank(u8);

impl HeldRank {
    #[track_caller]
    fn enter<R: LockRank>() -> Self {
        if cfg!(debug_assertions) {
            let new = HeldLock {
                order: R::ORDER,
                name: R::NAME,
                place: Location::caller(),
            };
            let last = HELD.with_borrow(|held| held.iter().copied().max_by_key(|h| h.order));
            if let Some(held) = last.filter(|held| held.order >= new.order) {
                broken(&new, &held);
            }
            HELD.with_borrow_mut(|held| held.push(new));
        }
        HeldRank(R::ORDER)
    }
}

impl Drop for HeldRank {
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            // A thread that ends may drop its guards after its own memory.
            let _ = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                let place = held.iter().rposition(|h| h.order == self.0);
                place.map(|index| held.remove(index));
            });
        }
    }
}

#[allow(clippy::panic, reason = "with debug assertions only")]
fn broken(new: &HeldLock, held: &HeldLock) {
    let text = format!(
        "the lock of {} (rank {}, {}) is taken while that of {} (rank {}, {}) is held",
        new.name, new.order, new.place, held.name, held.order, held.place
    );
    lock(&VIOLATIONS).push(text.clone());
    panic!("{text}");
}
