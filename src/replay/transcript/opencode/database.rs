//! The database of OpenCode since 1.2, `opencode.db`: one for all sessions. It is opened for reading only, as it stands: OpenCode
//! may be running. Must not write, nor know what is in a message.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde_json::{Map, Value};

use super::{Entry, Found};
use crate::error::{Error, Result};
use crate::replay::transcript::Parts;
use crate::replay::transcript::lines::object_of;
use crate::replay::transcript::notes::Notes;
use crate::store::install_locks;

/// What a file of SQLite begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether bytes are the beginning of a database.
pub(in crate::replay::transcript) fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The IDs of the sessions in a database, the oldest first. `None` if it is a database of something else.
///
/// # Errors
/// `FILE` if it cannot be read.
pub(in crate::replay::transcript) fn sessions(path: &Path) -> Result<Option<Vec<String>>> {
    let all = |connection: &Connection| {
        if !is_ours(connection)? {
            return Ok(None);
        }
        let mut rows = connection.prepare("select id from session order by time_created, id")?;
        let ids = rows.query_map([], |row| row.get(0))?;
        ids.collect::<rusqlite::Result<_>>().map(Some)
    };
    opened(path).and_then(|connection| all(&connection)).map_err(|error| failed(path, error))
}

/// Reads a session of a database; `None` if there is none with this ID.
///
/// # Errors
/// `FILE` if the database cannot be read.
pub(in crate::replay::transcript) fn read(
    path: &Path,
    session: &str,
    notes: &mut Notes,
) -> Result<Option<Parts>> {
    let found = opened(path).and_then(|connection| session_in(&connection, session, notes));
    let found = found.map_err(|error| failed(path, error))?;
    Ok(found.map(|found| found.into_parts(notes)))
}

/// Whether it has the tables of OpenCode.
fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let tables = "select count(*) from sqlite_master where type = 'table' and name in ('session', 'message', 'part')";
    let columns = "select count(*) from pragma_table_info('part') where name in ('id', 'message_id', 'session_id', 'data')";
    let count = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0));
    Ok(count(tables)? == 3 && count(columns)? == 4)
}

fn session_in(
    connection: &Connection,
    session: &str,
    notes: &mut Notes,
) -> rusqlite::Result<Option<Found>> {
    let query = "select directory, revert from session where id = ?1";
    let told = connection.query_row(query, [session], |row| {
        Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
    });
    let Some((cwd, revert)) = told.optional()? else { return Ok(None) };
    let revert = revert.and_then(|text| serde_json::from_str(&text).ok());
    let mut parts = parts_of(connection, session, notes)?;
    let query = "select id, data from message where session_id = ?1 order by time_created, id";
    let mut rows = connection.prepare(query)?;
    let mut rows = rows.query([session])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        if let Some(info) = object(&id, &row.get::<_, String>(1)?, notes) {
            messages.push(Entry { info, parts: parts.remove(&id).unwrap_or_default() });
        }
    }
    Ok(Some(Found { session_id: Some(session.to_owned()), cwd, revert, messages }))
}

/// The parts of each message, in order.
fn parts_of(
    connection: &Connection,
    session: &str,
    notes: &mut Notes,
) -> rusqlite::Result<HashMap<String, Vec<Map<String, Value>>>> {
    let query = "select message_id, id, data from part where session_id = ?1 order by id";
    let mut rows = connection.prepare(query)?;
    let mut rows = rows.query([session])?;
    let mut parts: HashMap<String, Vec<Map<String, Value>>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let (message, id): (String, String) = (row.get(0)?, row.get(1)?);
        if let Some(part) = object(&id, &row.get::<_, String>(2)?, notes) {
            parts.entry(message).or_default().push(part);
        }
    }
    Ok(parts)
}

/// The object of a row, with its ID, which stands in a column.
fn object(id: &str, data: &str, notes: &mut Notes) -> Option<Map<String, Value>> {
    let Ok((mut object, _)) = object_of(data) else {
        notes.count("rows that are no JSON object left out");
        return None;
    };
    object.insert("id".to_owned(), id.into());
    Some(object)
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

fn failed(path: &Path, error: rusqlite::Error) -> Error {
    Error::File { act: "read", path: path.to_owned(), source: io::Error::other(error) }
}
