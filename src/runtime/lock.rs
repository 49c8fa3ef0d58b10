//! Locking without poisoning.
//!
//! No code of this crate or of the engine leaves data half changed while it holds a lock, so
//! the data of a poisoned lock is as good as any.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, even if a thread panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
