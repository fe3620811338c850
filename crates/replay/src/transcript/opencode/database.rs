//! The database of OpenCode since 1.2, `opencode.db`: one for all sessions. Must not write, or know
//! what a message contains.

use std::collections::HashMap;

use rusqlite::OptionalExtension;
use serde_json::{Map, Value};

use super::{Entry, Found};
use crate::transcript::Parts;
use crate::transcript::foreign::{Failure, Foreign, check};
use crate::transcript::lines::object_of;
use crate::transcript::notes::Notes;
use base::object::Room;

/// Whether it has the tables of OpenCode.
pub(in crate::transcript) fn is_ours(foreign: &Foreign) -> rusqlite::Result<bool> {
    let has = |table: &str, names: &[&str]| -> rusqlite::Result<bool> {
        let columns = foreign.columns(table)?;
        Ok(names.iter().all(|name| columns.iter().any(|column| column == name)))
    };
    Ok(has("session", &["id"])?
        && has("message", &["id"])?
        && has("part", &["id", "message_id", "session_id", "data"])?)
}

/// The IDs of the sessions, oldest first.
pub(in crate::transcript) fn sessions(foreign: &Foreign) -> Result<Vec<String>, Failure> {
    let mut rows =
        foreign.connection.prepare("select id from session order by time_created, id")?;
    let ids = rows.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Reads a session; `None` if there is none with this ID.
pub(in crate::transcript) fn read(
    foreign: &Foreign,
    session: &str,
    notes: &mut Notes,
) -> Result<Option<Parts>, Failure> {
    Ok(session_in(foreign, session, notes)?.map(|found| found.into_parts(notes)))
}

fn session_in(
    foreign: &Foreign,
    session: &str,
    notes: &mut Notes,
) -> Result<Option<Found>, Failure> {
    let room = foreign.room();
    let query = "select directory, revert from session where id = ?1";
    let told = foreign.connection.query_row(query, [session], |row| {
        Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
    });
    let Some((cwd, revert)) = told.optional()? else { return Ok(None) };
    let revert = revert.and_then(|text| room.object(&text).ok()).map(Value::Object);
    let mut parts = parts_of(foreign, session, &room, notes)?;
    let query = "select id, data from message where session_id = ?1 order by time_created, id";
    let mut rows = foreign.connection.prepare(query)?;
    let mut rows = rows.query([session])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        if let Some(info) = object(&room, &id, &row.get::<_, String>(1)?, notes)? {
            messages.push(Entry { info, parts: parts.remove(&id).unwrap_or_default() });
        }
    }
    Ok(Some(Found { session_id: Some(session.to_owned()), cwd, revert, messages }))
}

/// The parts of each message, in order.
fn parts_of(
    foreign: &Foreign,
    session: &str,
    room: &Room,
    notes: &mut Notes,
) -> Result<HashMap<String, Vec<Map<String, Value>>>, Failure> {
    let query = "select message_id, id, data from part where session_id = ?1 order by id";
    let mut rows = foreign.connection.prepare(query)?;
    let mut rows = rows.query([session])?;
    let mut parts: HashMap<String, Vec<Map<String, Value>>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let (message, id): (String, String) = (row.get(0)?, row.get(1)?);
        if let Some(part) = object(room, &id, &row.get::<_, String>(2)?, notes)? {
            parts.entry(message).or_default().push(part);
        }
    }
    Ok(parts)
}

/// The object of a row, with its ID from a column.
fn object(
    room: &Room,
    id: &str,
    data: &str,
    notes: &mut Notes,
) -> Result<Option<Map<String, Value>>, Failure> {
    let read = object_of(data, room);
    check(room)?;
    let Ok((mut object, _)) = read else {
        notes.count("rows that are not JSON objects left out");
        return Ok(None);
    };
    object.insert("id".to_owned(), id.into());
    Ok(Some(object))
}
