//! Maps SQLite's errors to the store's, and sets how long to wait for a busy file. No SQL.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::ffi::{self, ErrorCode};

use base::clock::instant;
use base::error::{BoxError, Error};
use files::looks;

/// Result of a step inside the SQLite backend.
pub(super) type Step<T> = Result<T, Failure>;

/// An error before the store's path is added to it.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// The data read cannot be what was written.
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

    /// SQLite's code, if it refused.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        let Self::Sqlite(error) = self else { return None };
        error.sqlite_error_code()
    }

    fn is_busy(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Whether the log's shared memory found no room on the disk: then no other process has it.
    pub(super) fn is_without_shared_memory(&self) -> bool {
        matches!(self, Self::Sqlite(error)
            if error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE))
    }

    /// Recognises a quota or a limit on file sizes. SQLite only recognises a full disk and reports
    /// these as I/O errors.
    pub(super) fn with_cause(self, connection: &Connection, path: &Path) -> Self {
        let is_io = self.code() == Some(ErrorCode::SystemIoFailure);
        let kinds = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
        if is_io && kinds.contains(&system_error(connection).kind()) {
            return Error::NoSpace { path: path.to_owned() }.into();
        }
        self
    }

    /// Turns it into the crate's error.
    pub(super) fn at(self, path: &Path) -> Error {
        // The one full disk that SQLite reports as an I/O error.
        let is_full = self.is_without_shared_memory();
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
        let problem = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => return Error::NoSpace { path },
            _ if is_full => return Error::NoSpace { path },
            Some(ErrorCode::ReadOnly) => return Error::ReadOnly { path },
            Some(ErrorCode::NotADatabase) => {
                return Error::NotAStore { path, source: error.into() };
            }
            Some(ErrorCode::DatabaseCorrupt) => {
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

/// The system's error code of SQLite's last failure.
#[expect(unsafe_code, reason = "the library has no safe call for this")]
fn system_error(connection: &Connection) -> io::Error {
    // SAFETY: the handle is that of an open connection, and only read.
    io::Error::from_raw_os_error(unsafe { ffi::sqlite3_system_errno(connection.handle()) })
}

/// Total time that one call waits for a busy file.
const LIMIT: Duration = Duration::from_secs(10);

thread_local! {
    /// When this thread's current call began, and how long it may wait.
    static CALL: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// The busy handler of every connection: waits inside SQLite's lock requests. Ends at once outside
/// [`while_busy`].
pub(super) fn wait_for_lock(_waits: i32) -> bool {
    pause()
}

/// Repeats a step while the file is busy, for [`LIMIT`]. SQLite gives up at once where waiting
/// inside could deadlock (changing the journal mode, recovery after a crash, a journal in the way);
/// the step can be retried from here.
pub(super) fn while_busy<T>(step: impl FnMut() -> Step<T>) -> Step<T> {
    while_busy_for(LIMIT, step)
}

fn while_busy_for<T>(limit: Duration, mut step: impl FnMut() -> Step<T>) -> Step<T> {
    CALL.set(Some((instant(), limit)));
    loop {
        match step() {
            Err(failure) if failure.is_busy() && pause() => {}
            result => {
                CALL.set(None);
                return result;
            }
        }
    }
}

/// Sleeps for a time that shrinks the longer the call has waited; `false` once the wait is too
/// long.
///
/// The longer a call has waited the more often it tries, so the file goes to those who have waited
/// longest: a queue, but without a place where a stopped process could block the others. With 8
/// processes that never rest (`crates/store/tests/store/many_writers.rs`, alternating runs) 95 % of commits took
/// under 7 to 9 ms; with random pauses of 0.2 to 1 ms, 8 to 24 ms; with constant pauses of 0.1 ms,
/// 6 to 17 ms. Growing pauses starve whoever has waited longest.
fn pause() -> bool {
    let Some((since, limit)) = CALL.get() else { return false };
    if looks::check().is_err() {
        return false;
    }
    let waited = since.elapsed();
    if waited > limit {
        return false;
    }
    let shortest = if waited < SOON { Duration::from_micros(20) } else { LONG_WAIT };
    let share = 1.0 + waited.as_secs_f64() * 1_000.0;
    thread::sleep(Duration::from_micros(400).div_f64(share).max(shortest));
    true
}

/// A file that is busy for longer is held by one process and not by many in turn, so polling can
/// slow down.
const SOON: Duration = Duration::from_millis(100);
const LONG_WAIT: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32) -> Failure {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
    }

    #[test]
    fn waiting_for_a_busy_file_ends() {
        let mut tries = 0;
        let busy = while_busy_for(Duration::from_millis(50), || {
            tries += 1;
            Err::<(), _>(failure(ffi::SQLITE_BUSY_SNAPSHOT))
        });
        let error = busy.unwrap_err().at(Path::new("/store"));
        assert_eq!(error.to_string(), "cannot use the store `/store`: busy");
        assert!(tries > 1);
        assert!(!wait_for_lock(0));
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
