//! The database of OpenCode since 1.2, `opencode.db`: one for all sessions. OpenCode 2 has tables of
//! its own in it, and leaves those of before. Must not write, or know what a message contains.

use std::collections::HashMap;

use rusqlite::OptionalExtension;
use serde_json::{Map, Value};

use super::{Entry, StoredSession, second};
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
    let room = foreign.room();
    for table in tables(foreign)? {
        let query = format!("select directory, revert from {table} where id = ?1");
        let told = foreign.connection.query_row(&query, [session], |row| {
            Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
        });
        let Some((cwd, revert)) = told.optional()? else { continue };
        let revert = revert.and_then(|text| room.object(&text).ok()).map(Value::Object);
        let reading = Reading { foreign, session, room: &room };
        let messages =
            if table == SECOND { reading.second(notes)? } else { reading.first(notes)? };
        let found = StoredSession { session_id: Some(session.to_owned()), cwd, revert, messages };
        return Ok(Some(found.into_parts(notes)));
    }
    Ok(None)
}

/// The messages of a session while they are read.
struct Reading<'f> {
    foreign: &'f Foreign,
    session: &'f str,
    room: &'f Room,
}

impl Reading<'_> {
    fn first(&self, notes: &mut Notes) -> Result<Vec<Entry>, Failure> {
        // Of each message, in order.
        let mut parts: HashMap<String, Vec<Map<String, Value>>> = HashMap::new();
        let query = "select id, data, message_id from part where session_id = ?1 order by id";
        self.each(query, notes, |part, message, _| parts.entry(message).or_default().push(part))?;
        let mut messages = Vec::new();
        let query =
            "select id, data, id from message where session_id = ?1 order by time_created, id";
        self.each(query, notes, |info, id, _| {
            messages.push(Entry { info, parts: parts.remove(&id).unwrap_or_default() });
        })?;
        Ok(messages)
    }

    fn second(&self, notes: &mut Notes) -> Result<Vec<Entry>, Failure> {
        let mut messages = Vec::new();
        let query = "select id, data, type from session_message where session_id = ?1 order by seq";
        self.each(query, notes, |data, kind, notes| {
            messages.extend(second::entry(&kind, &data, notes));
        })?;
        Ok(messages)
    }

    /// Takes the object of each row, with its ID from a column, and what stands beside it. `query`:
    /// selects ID, object and that.
    fn each(
        &self,
        query: &str,
        notes: &mut Notes,
        mut take: impl FnMut(Map<String, Value>, String, &mut Notes),
    ) -> Result<(), Failure> {
        let mut rows = self.foreign.connection.prepare(query)?;
        let mut rows = rows.query([self.session])?;
        while let Some(row) = rows.next()? {
            let (id, data): (String, String) = (row.get(0)?, row.get(1)?);
            let read = object_of(&data, self.room);
            check(self.room)?;
            if let Ok((mut object, _)) = read {
                object.insert("id".to_owned(), id.into());
                take(object, row.get(2)?, notes);
            } else {
                notes.count("rows that are not JSON objects left out");
            }
        }
        Ok(())
    }
}
