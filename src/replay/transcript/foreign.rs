//! Databases of other programs, opened for reading only, as they stand: the program may be running. Must not write, nor know a table.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::store::install_locks;

/// What a file of SQLite begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Why a database cannot be read.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite says so.
    Sqlite(rusqlite::Error),
    /// What is in it is not as the reader needs it: the end of a sentence that begins with `line 1 of` the file.
    Content(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Whether bytes are the beginning of a database.
pub(super) fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads from the database at `path`.
///
/// # Errors
/// `FILE` if it cannot be read; `MALFORMED_TRANSCRIPT` if what is in it is not as `act` needs it.
pub(super) fn read<T>(
    path: &Path,
    act: impl FnOnce(&Connection) -> std::result::Result<T, Failure>,
) -> Result<T> {
    let found = opened(path).map_err(Failure::from).and_then(|connection| act(&connection));
    found.map_err(|failure| match failure {
        Failure::Sqlite(error) => {
            Error::File { act: "read", path: path.to_owned(), source: io::Error::other(error) }
        }
        Failure::Content(problem) => {
            Error::MalformedTranscript { path: path.to_owned(), line: 1, problem }
        }
    })
}

/// The names of a table's columns; none if there is no such table.
pub(super) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut rows = connection.prepare("select name from pragma_table_info(?1)")?;
    let names = rows.query_map([table], |row| row.get(0))?;
    names.collect()
}

/// Opens a database for reading. With a journal beside it, a program may have it open, and it is shared with that. Without one it is
/// read as if nothing changed it, since SQLite would leave files of its own beside it. So it is where sharing fails, such as in a
/// folder that may not be written.
fn opened(path: &Path) -> rusqlite::Result<Connection> {
    install_locks();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let shared = || Connection::open_with_flags(path, flags).and_then(checked);
    let alone = || {
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(unchanging(path), flags).and_then(checked)
    };
    if has_journal(path) { shared().or_else(|_| alone()) } else { alone() }
}

/// Whether SQLite keeps a write-ahead log beside a database.
fn has_journal(path: &Path) -> bool {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    Path::new(&journal).exists()
}

/// A connection that can be read. The file is somebody else's, so nothing that its schema names may run.
fn checked(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.query_row("select count(*) from sqlite_master", [], |_| Ok(()))?;
    Ok(connection)
}

/// The URI of a file that nobody changes while it is read.
fn unchanging(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            _ = write!(uri, "%{byte:02X}");
        }
    }
    uri + "?immutable=1"
}
