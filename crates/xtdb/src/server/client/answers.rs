//! Turns the status and body of answers into typed results or typed errors. Pure.
//!
//! Short answers are read whole. Possibly long ones are read from a stream, as long as there is
//! room for the part that is kept.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::BufRead;

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer as _, Error as _, SeqAccess, Visitor,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::edn::{self, Edn};
use super::failure::{self, Again, Failure};
use super::reply::Reply;
use super::{Document, EntityTx, Status, Tx};
use base::error::Error;
use base::object::{Room, Timestamp};

/// The oldest version 1 whose answers are known.
const OLDEST_MINOR: u32 = 24;

/// The content hash of a deleted version.
const DELETED: &str = "0000000000000000000000000000000000000000";

type Read<T> = Result<T, Failure>;

/// `/status`.
pub(super) fn status(url: &str, reply: &Reply) -> Read<Status> {
    expect(url, reply, 200)?;
    let told: Status = serde_json::from_slice(&reply.body)
        .map_err(|_| Failure::never(failure::of_content(url, reply)))?;
    let mut numbers = told.version.split('.').map_while(|number| number.parse::<u32>().ok());
    let is_known = match (numbers.next(), numbers.next()) {
        (Some(1), Some(minor)) => minor >= OLDEST_MINOR,
        (Some(_), _) => false,
        // A build of its own.
        (None, _) => true,
    };
    if !is_known {
        let found = format!("XTDB {}, and 1.{OLDEST_MINOR} is needed", told.version);
        return Err(Failure::never(Error::XtdbForeign { url: url.to_owned(), found }));
    }
    Ok(told)
}

/// `/submit-tx`: the transaction's ID.
pub(super) fn submitted(url: &str, reply: &Reply) -> Read<i64> {
    expect(url, reply, 202)?;
    json::<Submitted>(url, reply).map(|told| told.tx_id)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Submitted {
    tx_id: i64,
}

/// `/tx-committed`.
pub(super) fn committed(url: &str, reply: &Reply) -> Read<bool> {
    #[derive(Deserialize)]
    struct Told {
        #[serde(rename = "txCommitted?")]
        committed: bool,
    }
    expect(url, reply, 200)?;
    json::<Told>(url, reply).map(|told| told.committed)
}

/// `/tx-log`, without operations.
pub(super) fn transactions(
    url: &str,
    reply: &Reply,
    body: &mut dyn BufRead,
    room: &Room,
) -> Read<Vec<Tx>> {
    expect(url, reply, 200)?;
    rows(url, body, room, tx_of)
}

/// `/await-tx`.
pub(super) fn tx(url: &str, reply: &Reply) -> Read<Tx> {
    expect(url, reply, 200)?;
    let told = notation(url, reply)?;
    tx_of(&told).ok_or_else(|| shape(url))
}

/// `/db`: the time of the server's clock.
pub(super) fn time(url: &str, reply: &Reply) -> Read<Timestamp> {
    expect(url, reply, 200)?;
    match notation(url, reply)?.get("xtdb.api/valid-time") {
        Some(&Edn::Instant(time)) => Ok(time),
        _ => Err(shape(url)),
    }
}

/// `/latest-completed-tx`: `None` in an empty database.
pub(super) fn latest(url: &str, reply: &Reply) -> Read<Option<Tx>> {
    if is_absent(reply) { Ok(None) } else { tx(url, reply).map(Some) }
}

/// `/latest-submitted-tx`: `None` in an empty database.
pub(super) fn latest_id(url: &str, reply: &Reply) -> Read<Option<i64>> {
    if is_absent(reply) {
        return Ok(None);
    }
    expect(url, reply, 200)?;
    json::<Submitted>(url, reply).map(|told| Some(told.tx_id))
}

/// `/entity`.
pub(super) fn entity(
    url: &str,
    reply: &Reply,
    body: &mut dyn BufRead,
    room: &Room,
) -> Read<Option<Document>> {
    if is_absent(reply) {
        return Ok(None);
    }
    expect(url, reply, 200)?;
    begins(url, body, b'{')?;
    let mut json = serde_json::Deserializer::from_reader(body);
    let read = room.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    match read.map_err(|error| unread(url, reply, room, &error))? {
        Value::Object(document) => Ok(Some(document)),
        _ => Err(shape(url)),
    }
}

/// `/entity-tx`.
pub(super) fn entity_tx(url: &str, reply: &Reply) -> Read<Option<EntityTx>> {
    if is_absent(reply) {
        return Ok(None);
    }
    expect(url, reply, 200)?;
    let told = notation(url, reply)?;
    let read = || {
        let is_deleted = hash_of(told.get("xtdb.api/content-hash")?)? == DELETED;
        Some(EntityTx { tx: tx_of(&told)?, is_deleted })
    };
    read().map(Some).ok_or_else(|| shape(url))
}

/// A version in a history, without its document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) tx: Tx,
    /// `None` if the entity was deleted.
    pub(super) content_hash: Option<String>,
}

/// `/entity?history=true`, in the order of transactions.
pub(super) fn versions(
    url: &str,
    reply: &Reply,
    body: &mut dyn BufRead,
    room: &Room,
) -> Read<Vec<Version>> {
    expect(url, reply, 200)?;
    let mut versions = rows(url, body, room, |row| {
        let hash = hash_of(row.get("xtdb.api/content-hash")?)?;
        let content_hash = (hash != DELETED).then(|| hash.to_owned());
        Some(Version { tx: tx_of(row)?, content_hash })
    })?;
    versions.sort_by_key(|version| version.tx.id);
    Ok(versions)
}

/// `/entity?history=true&with-docs=true`: the documents by their content hashes.
pub(super) fn documents(
    url: &str,
    reply: &Reply,
    body: &mut dyn BufRead,
    room: &Room,
) -> Read<HashMap<String, Document>> {
    expect(url, reply, 200)?;
    let mut documents = HashMap::new();
    list(url, reply, body, room, |row| {
        let Value::Object(mut row) = row else { return None };
        let Some(Value::String(hash)) = row.remove("contentHash") else { return None };
        match row.remove("doc") {
            Some(Value::Object(document)) => drop(documents.insert(hash, document)),
            None | Some(Value::Null) => {}
            Some(_) => return None,
        }
        Some(())
    })?;
    Ok(documents)
}

/// `/query`. A failed query gives an empty answer.
pub(super) fn tuples(
    url: &str,
    reply: &Reply,
    body: &mut dyn BufRead,
    room: &Room,
) -> Read<Vec<Vec<Value>>> {
    expect(url, reply, 200)?;
    if first(url, body)?.is_none() {
        let problem = "the query failed on one of its rows (an empty answer)".to_owned();
        let error = Error::XtdbFailed { url: url.to_owned(), status: reply.status, problem };
        return Err(Failure::sent(error, Again::Once));
    }
    list(url, reply, body, room, |row| match row {
        Value::Array(row) => Some(row),
        _ => None,
    })
}

/// `/attribute-stats`.
pub(super) fn attribute_stats(url: &str, reply: &Reply) -> Read<BTreeMap<String, u64>> {
    expect(url, reply, 200)?;
    json(url, reply)
}

/// The time of one transaction in the log, from EDN.
pub(super) fn logged_time(url: &str, told: &Edn) -> Result<Tx, Error> {
    tx_of(told).ok_or_else(|| strange(url))
}

/// The ID of one transaction in the log, from JSON, and the documents that it put, without those that
/// were evicted since. An unreadable operation is not ours.
pub(super) fn logged_puts(
    url: &str,
    told: &RawValue,
    room: &Room,
) -> Result<(i64, Vec<Document>), Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Told<'a> {
        tx_id: i64,
        #[serde(borrow)]
        tx_ops: &'a RawValue,
    }
    let told: Told<'_> = serde_json::from_str(told.get()).map_err(|_| strange(url))?;
    let mut json = serde_json::Deserializer::from_str(told.tx_ops.get());
    let puts = json.deserialize_seq(Operations { room });
    let puts = puts.map_err(|_| if room.is_full() { too_much(url, room) } else { strange(url) })?;
    Ok((told.tx_id, puts))
}

/// Reads operations one by one.
struct Operations<'r> {
    room: &'r Room,
}

impl<'de> Visitor<'de> for Operations<'_> {
    type Value = Vec<Document>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of operations")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Document>, A::Error> {
        let mut puts = Vec::new();
        while let Some(op) = list.next_element::<&RawValue>()? {
            self.room.take(2 * size_of::<Document>()).map_err(A::Error::custom)?;
            let mut json = serde_json::Deserializer::from_str(op.get());
            match self.room.deserialize(&mut json) {
                Ok(op) => puts.extend(put_by(op)),
                Err(error) if self.room.is_full() => return Err(A::Error::custom(error)),
                Err(_) => {}
            }
        }
        Ok(puts)
    }
}

/// The document that an operation puts. One that was evicted since has a mark, and its hashed ID.
fn put_by(op: Value) -> Option<Document> {
    let Value::Array(parts) = op else { return None };
    let mut parts = parts.into_iter();
    let (Value::String(kind), Value::Object(document)) = (parts.next()?, parts.next()?) else {
        return None;
    };
    let is_erased = document.get("xtdb.api/evicted?") == Some(&Value::Bool(true));
    let has_text = document.get("xt/id").is_some_and(Value::is_string);
    (kind == "put" && has_text && !is_erased).then_some(document)
}

fn strange(url: &str) -> Error {
    failure::unreadable(url, "has a transaction of another shape in it")
}

fn tx_of(told: &Edn) -> Option<Tx> {
    match (told.get("xtdb.api/tx-id")?, told.get("xtdb.api/tx-time")?) {
        (&Edn::Integer(id), &Edn::Instant(time)) => Some(Tx { id, time }),
        _ => None,
    }
}

/// The content hash of an entity's state; `DELETED` for a deleted one.
fn hash_of(told: &Edn) -> Option<&str> {
    match told {
        Edn::Tagged(_, hash) => hash_of(hash),
        Edn::Text(hash) => Some(hash),
        Edn::Nil => Some(DELETED),
        _ => None,
    }
}

/// Whether the server itself says that there is none; another program's 404 means something else.
fn is_absent(reply: &Reply) -> bool {
    let is_said = |said: String| said.trim_end_matches('.').ends_with(" found");
    reply.status == 404 && reply.text_of("error").is_some_and(is_said)
}

pub(super) fn expect(url: &str, reply: &Reply, status: u16) -> Read<()> {
    if reply.status == status && !reply.is_html() {
        Ok(())
    } else {
        Err(failure::of_status(url, reply))
    }
}

fn json<T: DeserializeOwned>(url: &str, reply: &Reply) -> Read<T> {
    serde_json::from_slice(&reply.body).map_err(|error| {
        if reply.body.is_empty() {
            again(url, "is empty")
        } else {
            unread(url, reply, &Room::for_answers(), &error)
        }
    })
}

/// Reads a JSON list member by member; `each` converts a member, or returns nothing if it has
/// another shape.
fn list<T>(
    url: &str,
    reply: &Reply,
    body: &mut dyn BufRead,
    room: &Room,
    each: impl FnMut(Value) -> Option<T>,
) -> Read<Vec<T>> {
    begins(url, body, b'[')?;
    let mut json = serde_json::Deserializer::from_reader(body);
    let read = json.deserialize_seq(Members { room, each });
    let read = read.and_then(|members| json.end().map(|()| members));
    read.map_err(|error| unread(url, reply, room, &error))
}

struct Members<'r, E> {
    room: &'r Room,
    each: E,
}

impl<'de, T, E: FnMut(Value) -> Option<T>> Visitor<'de> for Members<'_, E> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = list.next_element_seed(self.room)? {
            self.room.take(2 * size_of::<T>()).map_err(A::Error::custom)?;
            let member = (self.each)(member);
            members.push(member.ok_or_else(|| A::Error::custom("a member has another shape"))?);
        }
        Ok(members)
    }
}

/// Reads an EDN list member by member.
fn rows<T>(
    url: &str,
    body: &mut dyn BufRead,
    room: &Room,
    each: impl Fn(&Edn) -> Option<T>,
) -> Read<Vec<T>> {
    let unread = |problem| again_as(of_notation(url, &problem));
    let mut rows = Vec::new();
    let mut reader = edn::Reader::new(body);
    reader.enter().map_err(unread)?;
    while let Some(row) = reader.member().map_err(unread)? {
        // At most a hash is kept of each.
        let taken = room.take(2 * size_of::<T>() + DELETED.len());
        taken.map_err(|_| Failure::never(too_much(url, room)))?;
        rows.push(each(&row).ok_or_else(|| shape(url))?);
    }
    reader.end().map_err(unread)?;
    Ok(rows)
}

/// Expects a body to begin with a byte; a body of another shape is not read further.
fn begins(url: &str, body: &mut dyn BufRead, with: u8) -> Read<()> {
    match first(url, body)? {
        Some(byte) if byte == with => Ok(()),
        Some(_) => Err(again(url, "is not what it should be (it begins as something else)")),
        None => Err(again(url, "is empty")),
    }
}

/// The first byte that is not white space; `None` if nothing else follows.
fn first(url: &str, body: &mut dyn BufRead) -> Read<Option<u8>> {
    loop {
        let buffer = body.fill_buf();
        let buffer =
            buffer.map_err(|error| again_as(of_notation(url, &edn::Problem::Io(error))))?;
        match buffer.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(at) => return Ok(Some(buffer[at])),
            None if buffer.is_empty() => return Ok(None),
            None => {
                let all = buffer.len();
                body.consume(all);
            }
        }
    }
}

fn notation(url: &str, reply: &Reply) -> Read<Edn> {
    edn::read_all(&reply.body).map_err(|problem| again_as(of_notation(url, &problem)))
}

/// A notation problem as an error.
pub(super) fn of_notation(url: &str, problem: &edn::Problem) -> Error {
    failure::unreadable(
        url,
        match problem {
            edn::Problem::CutOff => "is cut off".to_owned(),
            edn::Problem::Io(error) => format!("cannot be read to its end ({error})"),
            edn::Problem::Malformed { at, what } => format!("has {what} at byte {at}"),
        },
    )
}

/// Why JSON cannot be read.
fn unread(url: &str, reply: &Reply, room: &Room, error: &serde_json::Error) -> Failure {
    match error.classify() {
        _ if room.is_full() => Failure::never(too_much(url, room)),
        serde_json::error::Category::Eof => again(url, "is cut off"),
        _ => again(url, format!("is not what it should be ({})", reply.shown(&error.to_string()))),
    }
}

fn too_much(url: &str, room: &Room) -> Error {
    failure::unreadable(url, format!("takes more than {} bytes of memory", room.size()))
}

fn again(url: &str, problem: impl Into<String>) -> Failure {
    again_as(failure::unreadable(url, problem))
}

fn again_as(error: Error) -> Failure {
    Failure::sent(error, Again::AtOnce)
}

fn shape(url: &str) -> Failure {
    Failure::never(failure::unreadable(url, "has another shape than XTDB 1 gives"))
}
