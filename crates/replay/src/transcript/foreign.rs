//! Other programs' databases, opened read-only while the program may be running. The file may come
//! from a stranger: nothing in its schema runs, only tables are read, and its size bounds work and
//! memory. Must not write, or know a table.

use std::cell::Cell;
use std::path::Path;
use std::{fs, io};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use base::error::{Error, Result};
use base::object::Room;
use store::{install_locks, max_expanded};

/// The first bytes of an SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Steps of SQLite's machine that reading may take, and the further steps for each byte: a row
/// takes about twenty.
const MIN_STEPS: u64 = 50_000_000;
const STEPS_OF_A_BYTE: u64 = 20;
const STEPS_AT_ONCE: u16 = 10_000;
/// Most bytes of a value, and of a row.
const MAX_VALUE: i32 = 64 << 20;

/// What a path in a URI has in another form: all but letters, digits and these.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-').remove(b'~');

/// Why a database cannot be read.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite says so.
    Sqlite(rusqlite::Error),
    /// The content does not meet the reader's needs. Ends a sentence that begins with `line 1 of`
    /// the file.
    Content(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// A readable database.
pub(super) struct Foreign {
    pub(super) connection: Connection,
    bytes: usize,
    /// Bytes to which its compressed content may still expand.
    expands: Cell<u64>,
}

impl Foreign {
    /// The names of a table's columns, without computed ones; none if there is no such table, but a
    /// view or a virtual table.
    pub(super) fn columns(&self, table: &str) -> rusqlite::Result<Vec<String>> {
        let query = "select name from pragma_table_info(?1) where exists \
                     (select 1 from pragma_table_list(?1) where schema = 'main' and type = 'table')";
        let mut rows = self.connection.prepare(query)?;
        let names = rows.query_map([table], |row| row.get(0))?;
        names.collect()
    }

    /// Decompresses a zstd frame of at most `most` bytes; nothing if it is damaged.
    ///
    /// # Errors
    /// If all compressed content together expands to more than it may.
    pub(super) fn expanded(&self, frame: &[u8], most: usize) -> Result<Option<Vec<u8>>, Failure> {
        let bytes = zstd::bulk::decompress(frame, most).ok();
        let length = bytes.as_ref().map_or(0, Vec::len) as u64;
        let left = self.expands.get().checked_sub(length);
        self.expands.set(left.ok_or_else(|| {
            Failure::Content("begins a database that expands to far more than its size".to_owned())
        })?);
        Ok(bytes)
    }

    /// The memory limit for what is kept of a session.
    pub(super) fn room(&self) -> Room {
        Room::for_file(self.bytes)
    }
}

/// Fails once that memory is used up.
pub(super) fn check(room: &Room) -> Result<(), Failure> {
    if room.is_full() {
        let size = room.size();
        let problem =
            format!("begins a database of which a session takes more than {size} bytes of memory");
        return Err(Failure::Content(problem));
    }
    Ok(())
}

/// Whether bytes are the beginning of a database.
pub(super) fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads from the database at `path`.
///
/// # Errors
/// `FILE` if it cannot be read; `MALFORMED_TRANSCRIPT` if its content does not meet the needs of
/// `act`.
pub(super) fn read<T>(path: &Path, act: impl FnOnce(&Foreign) -> Result<T, Failure>) -> Result<T> {
    let found = opened(path).and_then(|foreign| act(&foreign));
    found.map_err(|failure| match failure {
        Failure::Sqlite(error) => {
            Error::File { act: "read", path: path.to_owned(), source: io::Error::other(error) }
        }
        Failure::Content(problem) => {
            Error::MalformedTranscript { path: path.to_owned(), line: 1, problem }
        }
    })
}

/// Opens a database for reading. If there is a journal beside it, a program may have it open, and
/// access is shared with that program. Otherwise it is read as if nothing changed it, since SQLite
/// would leave its own files beside it. The same applies if sharing fails, such as in a read-only
/// folder.
fn opened(path: &Path) -> Result<Foreign, Failure> {
    install_locks();
    let size = fs::metadata(path).map_or(0, |found| found.len());
    let steps = MIN_STEPS.saturating_add(size.saturating_mul(STEPS_OF_A_BYTE));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let checked = |connection| checked(connection, steps);
    let shared = || Connection::open_with_flags(path, flags).and_then(checked);
    let alone = || {
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(unchanging(path), flags).and_then(checked)
    };
    let connection = if has_journal(path)? { shared().or_else(|_| alone())? } else { alone()? };
    let bytes = usize::try_from(size).unwrap_or(usize::MAX);
    let expands = Cell::new(max_expanded(size));
    Ok(Foreign { connection, bytes, expands })
}

/// Whether a database has a write-ahead log, which is shared with a program that has the database
/// open.
fn has_journal(path: &Path) -> Result<bool, Failure> {
    let mut found = [false; 2];
    for (found, suffix) in found.iter_mut().zip(["-wal", "-shm"]) {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        *found = match fs::symlink_metadata(Path::new(&beside)) {
            Ok(beside) if !beside.is_file() => {
                let problem =
                    format!("begins a database with a `{suffix}` that is not a regular file");
                return Err(Failure::Content(problem));
            }
            Ok(_) => true,
            Err(_) => false,
        };
    }
    Ok(found[0])
}

/// A connection that is safe to read. The file is somebody else's, so nothing that its schema names
/// may run, and reading ends after a limited number of SQLite steps.
fn checked(mut connection: Connection, steps: u64) -> rusqlite::Result<Connection> {
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    for (setting, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ] {
        connection.set_db_config(setting, is_on)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    let mut left = steps / u64::from(STEPS_AT_ONCE);
    connection.progress_handler(
        STEPS_AT_ONCE.into(),
        Some(move || {
            left = left.saturating_sub(1);
            left == 0
        }),
    )?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.query_row("select count(*) from sqlite_master", [], |_| Ok(()))?;
    Ok(connection)
}

/// The URI of a file that does not change while it is read.
fn unchanging(path: &Path) -> String {
    let path = percent_encode(path.as_os_str().as_encoded_bytes(), ESCAPED);
    format!("file:{path}?immutable=1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::database;

    fn made(sql: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("strange.db");
        // Not while another test has the locks replaced.
        install_locks();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        (folder, path)
    }

    const WITHOUT_END: &str =
        "with recursive c(id) as (select 'a' union all select id || 'a' from c)
        select id, id as message_id, id as session_id, id as data, id as time_created from c";

    #[test]
    fn only_tables_are_read() {
        for sql in [
            format!("create view session as {WITHOUT_END}; create view message as {WITHOUT_END};
                create view part as {WITHOUT_END}"),
            "create virtual table session using fts5(id); create virtual table message using fts5(id);
                create virtual table part using fts5(id, message_id, session_id, data)".to_owned(),
            "create table session (id); create table message (id); create table part (id, message_id, session_id,
                data text generated always as (hex(zeroblob(50000000))))".to_owned(),
            "create table schema_meta (role, schema_version); insert into schema_meta values ('agent', 23);
                create view transcript_events as
                select 'a' as session_id, 1 as seq, '{}' as event_json, 1 as created_at".to_owned(),
        ] {
            let (_folder, path) = made(&sql);
            assert!(!database::is_known(&path).unwrap(), "{sql}");
        }
    }

    #[test]
    fn reading_ends_after_as_much_work_as_the_size_allows() {
        let (_folder, path) = made("create table a (b)");
        let endless = "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) from c";
        let counted =
            read(&path, |foreign| Ok(foreign.connection.query_row(endless, [], |_| Ok(()))?));
        let error = counted.unwrap_err();
        assert_eq!(error.code(), "FILE");
        assert!(error.report().contains("interrupted"), "{}", error.report());
    }

    #[test]
    fn values_are_bounded_and_the_schema_cannot_write_or_run() {
        let (_folder, path) = made("create table a (b)");
        for query in [
            "select length(zeroblob(100000000))",
            "select b from v",
            "select writefile('x', 'y')",
            "select load_extension('x')",
        ] {
            let asked =
                read(&path, |foreign| Ok(foreign.connection.query_row(query, [], |_| Ok(()))?));
            assert_eq!(asked.unwrap_err().code(), "FILE", "{query}");
        }
        let written =
            read(&path, |foreign| Ok(foreign.connection.execute_batch("create table c (d)")?));
        assert_eq!(written.unwrap_err().code(), "FILE");
        let beside = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(beside, 1, "no file is left beside it");
    }

    #[cfg(unix)]
    #[test]
    fn a_log_beside_it_that_is_no_file_is_refused() {
        for suffix in ["-wal", "-shm"] {
            let (_folder, path) = made("create table a (b)");
            let mut beside = path.clone().into_os_string();
            beside.push(suffix);
            rustix::fs::mkfifoat(rustix::fs::CWD, &beside, rustix::fs::Mode::RUSR).unwrap();
            assert_eq!(database::is_known(&path).unwrap_err().code(), "MALFORMED_TRANSCRIPT");
        }
    }

    #[test]
    fn what_is_compressed_expands_to_a_bound() {
        let (_folder, path) = made("create table a (b)");
        let frame = zstd::encode_all(&vec![0; 4 << 20][..], 1).unwrap();
        let expanded = read(&path, |foreign| {
            (0..1_000).try_for_each(|_| foreign.expanded(&frame, 4 << 20).map(drop))
        });
        assert_eq!(expanded.unwrap_err().code(), "MALFORMED_TRANSCRIPT");
    }
}
