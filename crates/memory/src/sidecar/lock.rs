//! One writer at a time in a memory folder, across all processes: an advisory lock on the file
//! `.lock`. Readers do not take it, and neither do editors or a host's own tools. Must not know
//! what is written under it.

use std::fs::{File, TryLockError};
use std::time::Duration;

use super::FileSlot;
use base::error::{Error, Result};

/// Name of the lock file.
pub(crate) const LOCK_FILE: &str = ".lock";

/// How long to wait for another writer, how long if the caller prefers not to wait, and the pause
/// between two tries.
const PATIENCE: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(250);
const PAUSE: Duration = Duration::from_millis(5);

/// The lock on a folder; released when this is dropped, or the process ends.
#[derive(Debug)]
#[must_use]
pub(crate) struct FolderLock {
    _file: Option<File>,
}

impl FolderLock {
    /// Takes the lock on the file at a place.
    ///
    /// # Errors
    /// `MEMORY_BUSY` if another writer holds it for 5 s; `FILE` if the lock file cannot be created.
    pub(super) fn take(place: &FileSlot) -> Result<Self> {
        let taken = Self::take_within(place, PATIENCE)?;
        taken.ok_or_else(|| Error::MemoryBusy { folder: place.folder.path().to_owned() })
    }

    /// Like [`Self::take`], but `None` if another writer holds it for longer than a moment. A
    /// program that this process is starting may hold it for such a moment, because until it runs
    /// it has a copy of the open file.
    pub(super) fn take_at_once(place: &FileSlot) -> Result<Option<Self>> {
        Self::take_within(place, MOMENT)
    }

    fn take_within(place: &FileSlot, patience: Duration) -> Result<Option<Self>> {
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

    fn try_take(place: &FileSlot) -> Result<Option<Self>> {
        let failed = |source| place.failed("lock", source);
        let file = place.folder.open_to_append(&place.name).map_err(failed)?.into_std();
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            // A filesystem without locks: only one process may use its memory, or the user takes
            // the risk.
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
