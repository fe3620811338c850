//! Locks of this process. Must not know what they guard.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for a lock and takes it, also where another thread panicked while it held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
