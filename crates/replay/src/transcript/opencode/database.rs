//! The database of OpenCode since 1.2, `opencode.db`: one for all sessions. OpenCode 2 has tables of
//! its own in it, and leaves those of before. Must not write, or know what a message contains.

use std::collections::HashMap;

use rusqlite::OptionalExtension;
use serde_json::{Map, Value};

use super::{Entry, Found, second};
use crate::transcript::Parts;
use crate::transcript::foreign::{Failure, Foreign, check};
use crate::transcript::lines::object_of;
use crate::transcript::notes::Notes;
use base::object::Room;

/// The sessions of OpenCode 2. A session of before stands there, too, once it was opened.
const SECOND: &str = "session_v2";

/// Whether it has the tables of OpenCode.
pub(in crate::transcript) fn is_ours(foreign: &Foreign) -> rusqlite::Result<bool> {
    Ok(!tables(foreign)?.is_empty())
}

/// The tables of sessions whose messages are there, too, those of OpenCode 2 first.
fn tables(foreign: &Foreign) -> rusqlite::Result<Vec<&'static str>> {
    let has = |table: &str, names: &[&str]| -> rusqlite::Result<bool> {
        let columns = foreign.columns(table)?;
        Ok(names.iter().all(|name| columns.iter().any(|column| column == name)))
    };
    let mut tables = Vec::new();
    if has(SECOND, &["id"])? && has("session_message", &["id", "session_id", "seq", "data"])? {
        tables.push(SECOND);
    }
    if has("session", &["id"])?
        && has("message", &["id"])?
        && has("part", &["id", "message_id", "session_id", "data"])?
    {
        tables.push("session");
    }
    Ok(tables)
}

/// The IDs of the sessions, oldest first.
pub(in crate::transcript) fn sessions(foreign: &Foreign) -> Result<Vec<String>, Failure> {
    let each = |table: &&str| format!("select id, time_created from {table}");
    let all: Vec<String> = tables(foreign)?.iter().map(each).collect();
    let all = all.join(" union all ");
    let query = format!("select id from ({all}) group by id order by min(time_created), id");
    let mut rows = foreign.connection.prepare(&query)?;
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
    for table in tables(foreign)? {
        let query = format!("select directory, revert from {table} where id = ?1");
        let told = foreign.connection.query_row(&query, [session], |row| {
            Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
        });
        let Some((cwd, revert)) = told.optional()? else { continue };
        let revert = revert.and_then(|text| room.object(&text).ok()).map(Value::Object);
        let messages = if table == SECOND {
            second_messages(foreign, session, &room, notes)?
        } else {
            messages(foreign, session, &room, notes)?
        };
        return Ok(Some(Found { session_id: Some(session.to_owned()), cwd, revert, messages }));
    }
    Ok(None)
}

fn messages(
    foreign: &Foreign,
    session: &str,
    room: &Room,
    notes: &mut Notes,
) -> Result<Vec<Entry>, Failure> {
    let mut parts = parts_of(foreign, session, room, notes)?;
    let query = "select id, data from message where session_id = ?1 order by time_created, id";
    let mut rows = foreign.connection.prepare(query)?;
    let mut rows = rows.query([session])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        if let Some(info) = object(room, &id, &row.get::<_, String>(1)?, notes)? {
            messages.push(Entry { info, parts: parts.remove(&id).unwrap_or_default() });
        }
    }
    Ok(messages)
}

fn second_messages(
    foreign: &Foreign,
    session: &str,
    room: &Room,
    notes: &mut Notes,
) -> Result<Vec<Entry>, Failure> {
    let query = "select id, data, type from session_message where session_id = ?1 order by seq";
    let mut rows = foreign.connection.prepare(query)?;
    let mut rows = rows.query([session])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, kind): (String, String) = (row.get(0)?, row.get(2)?);
        if let Some(data) = object(room, &id, &row.get::<_, String>(1)?, notes)? {
            messages.extend(second::entry(&kind, &data, notes));
        }
    }
    Ok(messages)
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
