//! The database of an OpenClaw agent since 2026.8, `openclaw-agent.sqlite`: a row for each entry of
//! each session, as JSON or, from about 1 KiB on, as zstd-compressed JSON. Must not write, or know
//! what an entry contains.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use super::OpenClawSession;
use crate::transcript::Parts;
use crate::transcript::foreign::{Failure, Foreign, check};
use crate::transcript::lines::{Line, object_of};
use crate::transcript::notes::Notes;

/// The newest known schema.
const NEWEST_SCHEMA: i64 = 23;
const TABLE: &str = "transcript_events";
/// Columns that have always existed.
const NEEDED: [&str; 4] = ["session_id", "seq", "event_json", "created_at"];
/// Columns since schema 23. The entry repeats the value of the last one.
const COMPRESSED: [&str; 3] = ["event_zstd", "event_utf8_bytes", "navigation_json"];
/// Largest decompressed entry, in bytes.
const MAX_ENTRY_BYTES: usize = 4 << 20;

/// Whether it is the database of an agent that keeps its sessions there.
pub(in crate::transcript) fn is_ours(foreign: &Foreign) -> Result<bool, Failure> {
    let Some(schema) = schema(foreign)? else { return Ok(false) };
    let columns = foreign.columns(TABLE)?;
    let has = |name: &&str| columns.iter().any(|column| column == name);
    let is_known = |column: &String| NEEDED.iter().chain(&COMPRESSED).any(|name| name == column);
    let can_be_read = NEEDED.iter().all(has);
    // Data that a newer program keeps elsewhere would be missed silently.
    if schema > NEWEST_SCHEMA && !(can_be_read && columns.iter().all(is_known)) {
        return Err(Failure::Content(format!(
            "begins a database of OpenClaw with schema {schema}, and this program knows up to {NEWEST_SCHEMA}"
        )));
    }
    Ok(can_be_read)
}

/// The version of an agent's schema; `None` if it is not an agent's database.
fn schema(foreign: &Foreign) -> Result<Option<i64>, Failure> {
    let columns = foreign.columns("schema_meta")?;
    if !["role", "schema_version"].iter().all(|name| columns.iter().any(|column| column == name)) {
        return Ok(None);
    }
    let query = "select max(schema_version) from schema_meta where role = 'agent'";
    Ok(foreign.connection.query_row(query, [], |row| row.get(0))?)
}

/// The names of the conversations, by the time of their sessions; only those of the session that
/// `only` names, if it names one. Left out are conversations in which the model said nothing, and
/// sessions whose messages are all in another one: either a person went back, which OpenClaw does
/// in a copy, or made a copy and did not continue it.
pub(in crate::transcript) fn sessions(
    foreign: &Foreign,
    only: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let ids = match only {
        None => ids(foreign)?,
        Some(name) if has_session(foreign, name)? => vec![name.to_owned()],
        // One conversation; if it does not exist, reading it reports that.
        Some(name) => return Ok(vec![name.to_owned()]),
    };
    let mut found = Vec::with_capacity(ids.len());
    let mut copies = Copies::default();
    for id in ids {
        let session = session(foreign, &id, &mut Notes::default())?;
        copies.add(&session);
        found.push(names(&id, session.conversations().len()));
    }
    let is_listed = |at: &usize| only.is_some() || !copies.has_all_of(*at);
    Ok((0..found.len()).filter(is_listed).flat_map(|at| std::mem::take(&mut found[at])).collect())
}

/// Reads a conversation by its name; `None` if there is none.
pub(in crate::transcript) fn read(
    foreign: &Foreign,
    name: &str,
    notes: &mut Notes,
) -> Result<Option<Parts>, Failure> {
    let Some((id, number)) = named(foreign, name)? else { return Ok(None) };
    if schema(foreign)?.is_some_and(|schema| schema > NEWEST_SCHEMA) {
        notes.count("databases of a newer schema than this program knows");
    }
    let session = session(foreign, id, notes)?;
    let mut stretches = session.conversations();
    if stretches.is_empty() {
        stretches.push(session.all());
    }
    if number.is_none() && stretches.len() > 1 {
        let count = stretches.len();
        return Err(Failure::Content(format!(
            "begins a database in which the session `{id}` has {count} conversations, `{id}.1` to `{id}.{count}`, and none is named"
        )));
    }
    let at = number.unwrap_or(1).checked_sub(1).filter(|at| *at < stretches.len());
    Ok(at.map(|at| session.into_parts(stretches.swap_remove(at), notes)))
}

/// The session of a name, and the number of the conversation.
fn named<'a>(
    foreign: &Foreign,
    name: &'a str,
) -> Result<Option<(&'a str, Option<usize>)>, Failure> {
    if has_session(foreign, name)? {
        return Ok(Some((name, None)));
    }
    let parts = name.rsplit_once('.').and_then(|(id, number)| Some((id, number.parse().ok()?)));
    match parts {
        Some((id, number)) if has_session(foreign, id)? => Ok(Some((id, Some(number)))),
        _ => Ok(None),
    }
}

/// The names of a session's conversations.
fn names(id: &str, count: usize) -> Vec<String> {
    match count {
        1 => vec![id.to_owned()],
        _ => (1..=count).map(|number| format!("{id}.{number}")).collect(),
    }
}

fn ids(foreign: &Foreign) -> Result<Vec<String>, Failure> {
    let query =
        "select session_id from transcript_events group by session_id order by min(created_at), 1";
    let mut rows = foreign.connection.prepare(query)?;
    let ids = rows.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

fn has_session(foreign: &Foreign, id: &str) -> Result<bool, Failure> {
    let query = "select 1 from transcript_events where session_id = ?1 limit 1";
    Ok(foreign.connection.query_row(query, [id], |_| Ok(())).optional()?.is_some())
}

/// The entries of a session.
fn session(
    foreign: &Foreign,
    id: &str,
    notes: &mut Notes,
) -> Result<OpenClawSession<'static>, Failure> {
    let columns = foreign.columns(TABLE)?;
    let is_compressed = columns.iter().any(|column| column == COMPRESSED[0]);
    let mut rows = foreign.connection.prepare(if is_compressed {
        "select event_json, event_zstd, event_utf8_bytes from transcript_events where session_id = ?1 order by seq"
    } else {
        "select event_json, null, null from transcript_events where session_id = ?1 order by seq"
    })?;
    let mut rows = rows.query([id])?;
    let (mut lines, mut room) = (Vec::new(), foreign.room());
    let mut number = 0;
    while let Some(row) = rows.next()? {
        number += 1;
        let Some(text) = entry(foreign, row)? else {
            notes.count_at("entries that cannot be decompressed left out", number);
            continue;
        };
        room.add_file(text.len());
        let read = object_of(&text, &room);
        check(&room)?;
        match read {
            Ok((object, _)) => lines.push(Line { number, text: None, object }),
            Err(_) => notes.count_at("rows that are not JSON objects left out", number),
        }
    }
    Ok(OpenClawSession::of(lines))
}

/// The JSON of a row; `None` if it is damaged.
fn entry(foreign: &Foreign, row: &Row<'_>) -> Result<Option<String>, Failure> {
    if let Some(text) = row.get::<_, Option<String>>(0)? {
        return Ok(Some(text));
    }
    let (frame, size): (Option<Vec<u8>>, Option<i64>) = (row.get(1)?, row.get(2)?);
    let size = size.and_then(|size| usize::try_from(size).ok());
    let size = size.unwrap_or(MAX_ENTRY_BYTES).min(MAX_ENTRY_BYTES);
    let Some(frame) = frame else { return Ok(None) };
    let bytes = foreign.expanded(&frame, size)?;
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// Finds sessions that are contained in others: an entry keeps its ID in a copy.
#[derive(Default)]
struct Copies {
    /// The sessions that hold a message, by its ID.
    holders: HashMap<String, Vec<usize>>,
    /// The last message of each session.
    last: Vec<Option<String>>,
}

impl Copies {
    fn add(&mut self, session: &OpenClawSession<'_>) {
        let at = self.last.len();
        let messages = session.entries.iter().filter(|entry| entry.object.contains_key("message"));
        let ids = messages.filter_map(|entry| entry.object.get("id").and_then(Value::as_str));
        let mut last = None;
        for id in ids {
            self.holders.entry(id.to_owned()).or_default().push(at);
            last = Some(id.to_owned());
        }
        self.last.push(last);
    }

    /// Whether another session has all of this one's messages. If two have the same messages, only
    /// the later one counts as contained.
    fn has_all_of(&self, at: usize) -> bool {
        let holders = |at: usize| self.last[at].as_ref().and_then(|last| self.holders.get(last));
        let has_all = |of: usize, other: usize| holders(of).is_some_and(|all| all.contains(&other));
        holders(at).into_iter().flatten().any(|other| {
            *other != at && has_all(at, *other) && (*other < at || !has_all(*other, at))
        })
    }
}
