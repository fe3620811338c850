//! One writer at a time in a memory folder, over all processes: an advisory lock on the file `.lock`. Those who only read take
//! none, and neither do editors or a host's own tools. Must not know what is written under it.

use std::fs::{File, TryLockError};
use std::time::Duration;

use super::Place;
use base::error::{Error, Result};

/// Name of the file that is locked.
pub(super) const LOCK_FILE: &str = ".lock";

/// How long to wait for another writer, where that is no reason to wait, and between two tries.
const PATIENCE: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(250);
const PAUSE: Duration = Duration::from_millis(5);

/// The lock on a folder; it ends with this value, and with the process.
#[derive(Debug)]
#[must_use]
pub(crate) struct FolderLock {
    _file: Option<File>,
}

impl FolderLock {
    /// Takes the lock: locks the file at a place.
    ///
    /// # Errors
    /// `MEMORY_BUSY` if another writer holds it for 5 s; `FILE` if the lock's file cannot be made.
    pub(super) fn take(place: &Place) -> Result<Self> {
        let taken = Self::take_within(place, PATIENCE)?;
        taken.ok_or_else(|| Error::MemoryBusy { folder: place.folder.path().to_owned() })
    }

    /// As [`Self::take`], but `None` if another writer holds it for longer than a moment. So long it is held by a program that this
    /// process starts, which has a copy of the open file until it runs.
    pub(super) fn take_at_once(place: &Place) -> Result<Option<Self>> {
        Self::take_within(place, MOMENT)
    }

    fn take_within(place: &Place, patience: Duration) -> Result<Option<Self>> {
        let mut waited = Duration::ZERO;
        loop {
            let lock = Self::try_take(place)?;
            if lock.is_some() || waited >= patience {
                return Ok(lock);
            }
            std::thread::sleep(PAUSE);
            waited += PAUSE;
        }
    }

    fn try_take(place: &Place) -> Result<Option<Self>> {
        let failed = |source| place.failed("lock", source);
        let file = place.folder.open_to_append(&place.name).map_err(failed)?.into_std();
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            // A filesystem without locks: its memory is used by one process at a time, or at its user's risk.
            Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                Ok(Some(Self { _file: None }))
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

#[cfg(unix)]
fn has_no_locks(error: &std::io::Error) -> bool {
    let without = [libc::ENOLCK, libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOTSUP];
    error.raw_os_error().is_some_and(|code| without.contains(&code))
}

#[cfg(not(unix))]
fn has_no_locks(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::Unsupported
}
