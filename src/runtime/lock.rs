//! Locks taken whoever panicked while holding them before.
//!
//! Nothing here leaves data half changed while it holds a lock, so a poisoned one is
//! as good as any.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
