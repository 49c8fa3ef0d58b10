//! Locks that readers share, with ranks like the others.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{HeldRank, LockRank};

/// A lock of rank `R` that readers share. It is taken in the order of ranks as a
/// [`Ranked`](super::Ranked) is, for reading as for writing.
pub struct RankedRwLock<R, T> {
    rank: PhantomData<fn() -> R>,
    inner: RwLock<T>,
}

impl<R: LockRank, T> RankedRwLock<R, T> {
    /// Creates a lock over `value`.
    pub const fn new(value: T) -> Self {
        RankedRwLock {
            rank: PhantomData,
            inner: RwLock::new(value),
        }
    }

    /// Takes the lock together with other readers.
    ///
    /// # Panics
    /// The thread holds a lock that must be taken later; with debug assertions only.
    #[track_caller]
    pub fn read(&self) -> RankedReadGuard<'_, T> {
        let held = HeldRank::enter::<R>();
        RankedReadGuard {
            guard: self.inner.read().unwrap_or_else(PoisonError::into_inner),
            _held: held,
        }
    }

    /// Takes the lock exclusively.
    ///
    /// # Panics
    /// As [`RankedRwLock::read`].
    #[track_caller]
    pub fn write(&self) -> RankedWriteGuard<'_, T> {
        let held = HeldRank::enter::<R>();
        RankedWriteGuard {
            guard: self.inner.write().unwrap_or_else(PoisonError::into_inner),
            _held: held,
        }
    }
}

impl<R: LockRank, T: Default> Default for RankedRwLock<R, T> {
    fn default() -> Self {
        RankedRwLock::new(T::default())
    }
}

impl<R: LockRank, T> fmt::Debug for RankedRwLock<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankedRwLock")
            .field("rank", &R::NAME)
            .finish_non_exhaustive()
    }
}

/// A lock that is shared with other readers. Dropping it releases the lock.
pub struct RankedReadGuard<'a, T> {
    guard: RwLockReadGuard<'a, T>,
    _held: HeldRank,
}

impl<T> Deref for RankedReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

/// A lock that is held exclusively. Dropping it releases the lock.
pub struct RankedWriteGuard<'a, T> {
    guard: RwLockWriteGuard<'a, T>,
    _held: HeldRank,
}

impl<T> Deref for RankedWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for RankedWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
