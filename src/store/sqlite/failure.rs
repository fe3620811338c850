//! What SQLite's errors mean for the store, and how long a busy file is waited for. No SQL.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::ffi::{self, ErrorCode};

use crate::error::{BoxError, Error};

/// Result of a step inside the SQLite backend.
pub(super) type Step<T> = Result<T, Failure>;

/// An error before the store's path is added to it.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// What was read cannot be what was written.
    Damaged(BoxError),
    /// Already an error of the crate.
    Final(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl Failure {
    /// Damage in words.
    pub(super) fn damaged(problem: impl Into<BoxError>) -> Self {
        Self::Damaged(problem.into())
    }

    fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        ))
    }

    /// Whether SQLite could not open a file that it needs beside the store's.
    pub(super) fn is_cannot_open(&self) -> bool {
        matches!(self, Self::Sqlite(error)
            if error.sqlite_error_code() == Some(ErrorCode::CannotOpen))
    }

    /// Turns it into the crate's error.
    pub(super) fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        let error = match self {
            Self::Final(error) => return error,
            Self::Damaged(source) => return Error::StoreCorrupt { path, source },
            Self::Sqlite(error) => error,
        };
        // A value of another type than the schema's, or a row that must be there.
        if error.sqlite_error().is_none() {
            return Error::StoreCorrupt { path, source: error.into() };
        }
        // Shared memory that cannot grow is the one full disk that SQLite reports as an I/O error.
        let extended = error.sqlite_error().map(|inner| inner.extended_code);
        let full = extended == Some(ffi::SQLITE_IOERR_SHMSIZE);
        let problem = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => return Error::NoSpace { path },
            _ if full => return Error::NoSpace { path },
            Some(ErrorCode::ReadOnly) => return Error::ReadOnly { path },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                return Error::StoreCorrupt { path, source: error.into() };
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "busy",
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => "it cannot be opened",
            Some(ErrorCode::TooBig) => "a value is larger than SQLite takes",
            Some(ErrorCode::SystemIoFailure) => "input or output failed",
            _ => "SQLite refused",
        };
        Error::StoreUnavailable { path, problem: problem.to_owned(), source: Some(error.into()) }
    }
}

/// Waits inside one lock request, about 0.2 s in all: the busy handler of every connection.
pub(super) fn wait_for_lock(waits: i32) -> bool {
    pause();
    waits < 350
}

/// Repeats a step while the file is busy, about 10 s with the waits inside. SQLite gives up at once where waiting inside
/// could deadlock (changing the journal mode, recovery after a crash, a journal in the way); from here it can be tried anew.
pub(super) fn while_busy<T>(mut step: impl FnMut() -> Step<T>) -> Step<T> {
    const ROUNDS: u32 = 48;
    let mut round = 0;
    loop {
        match step() {
            Err(failure) if failure.is_busy() && round < ROUNDS => pause(),
            result => return result,
        }
        round += 1;
    }
}

/// Sleeps 0.2 to 1 ms. The jitter keeps writers from meeting again; the same range for every wait gives all of them the
/// same chance. Waits that grow starve whoever has waited longest: with 8 writing processes that never rest, the slowest
/// commit of a run took 160 to 190 ms with doubling waits, 37 to 49 ms with these (95 % took under 10 to 15 ms with either).
fn pause() {
    // The standard library's only source of randomness: each state has new keys.
    let random = RandomState::new().build_hasher().finish();
    thread::sleep(Duration::from_micros(200 + random % 800));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32) -> Failure {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
    }

    #[test]
    fn waiting_for_a_busy_file_ends() {
        let mut tries = 0;
        let busy = while_busy(|| {
            tries += 1;
            Err::<(), _>(failure(ffi::SQLITE_BUSY_SNAPSHOT))
        });
        let error = busy.unwrap_err().at(Path::new("/store"));
        assert_eq!(error.to_string(), "cannot use the store `/store`: busy");
        assert!(tries > 10);
        assert!(!wait_for_lock(1_000));
    }

    #[test]
    fn other_failures_are_not_repeated() {
        for (code, expected) in [
            (ffi::SQLITE_FULL, "NO_SPACE"),
            (ffi::SQLITE_IOERR_SHMSIZE, "NO_SPACE"),
            (ffi::SQLITE_IOERR_FSYNC, "STORE_UNAVAILABLE"),
            (ffi::SQLITE_NOTADB, "STORE_CORRUPT"),
            (ffi::SQLITE_CORRUPT_INDEX, "STORE_CORRUPT"),
            (ffi::SQLITE_READONLY_DBMOVED, "READ_ONLY"),
            (ffi::SQLITE_CANTOPEN, "STORE_UNAVAILABLE"),
        ] {
            let mut tries = 0;
            let result = while_busy(|| {
                tries += 1;
                Err::<(), _>(failure(code))
            });
            assert_eq!((result.unwrap_err().at(Path::new("/s")).code(), tries), (expected, 1));
        }
    }
}
