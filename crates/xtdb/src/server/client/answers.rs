//! Turns the status and body of answers into typed results or typed errors. Pure.
//!
//! Short answers are read whole. Possibly long ones are read from a stream, as long as there is
//! room for the part that is kept.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, BufRead, ErrorKind};

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer as _, Error as _, SeqAccess, Visitor,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::edn::{self, Edn};
use super::failure::{self, Again, Failure, foreign};
use super::reply::Reply;
use super::{Document, EntityTx, Status, Tx};
use base::error::Error;
use base::object::{Room, Timestamp};

/// The oldest version 1 whose answers are known.
const OLDEST_MINOR: u32 = 24;

/// The content hash of a deleted version.
const DELETED: &str = "0000000000000000000000000000000000000000";

type Read<T> = Result<T, Failure>;

/// An answer that may be long: its text is a stream. `room`: for what is kept of it.
pub(super) struct Long<'a> {
    pub(super) reply: &'a Reply,
    pub(super) body: &'a mut dyn BufRead,
    pub(super) room: &'a Room,
}

/// `/status`.
pub(super) fn status(reply: &Reply) -> Read<Status> {
    reply.expect(200)?;
    let told: Status = serde_json::from_slice(&reply.body)
        .map_err(|_| Failure::never(foreign(&reply.url, reply.described())))?;
    let mut numbers = told.version.split('.').map_while(|number| number.parse::<u32>().ok());
    let is_known = match (numbers.next(), numbers.next()) {
        (Some(1), Some(minor)) => minor >= OLDEST_MINOR,
        (Some(_), _) => false,
        // A build of its own.
        (None, _) => true,
    };
    if !is_known {
        let found = format!("XTDB {}, and 1.{OLDEST_MINOR} is needed", told.version);
        return Err(Failure::never(foreign(&reply.url, found)));
    }
    Ok(told)
}

/// `/submit-tx`: the transaction's ID.
pub(super) fn submitted(reply: &Reply) -> Read<i64> {
    json::<Submitted>(reply, 202).map(|told| told.tx_id)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Submitted {
    tx_id: i64,
}

/// `/tx-committed`.
pub(super) fn committed(reply: &Reply) -> Read<bool> {
    #[derive(Deserialize)]
    struct Told {
        #[serde(rename = "txCommitted?")]
        committed: bool,
    }
    json::<Told>(reply, 200).map(|told| told.committed)
}

/// `/tx-log`, without operations.
pub(super) fn transactions(answer: Long<'_>) -> Read<Vec<Tx>> {
    answer.rows(tx_of)
}

/// `/await-tx`.
pub(super) fn tx(reply: &Reply) -> Read<Tx> {
    tx_of(&notation(reply)?).ok_or_else(|| shape(reply))
}

/// `/db`: the time of the server's clock.
pub(super) fn time(reply: &Reply) -> Read<Timestamp> {
    match notation(reply)?.get("xtdb.api/valid-time") {
        Some(&Edn::Instant(time)) => Ok(time),
        _ => Err(shape(reply)),
    }
}

/// `/latest-completed-tx`: `None` in an empty database.
pub(super) fn latest(reply: &Reply) -> Read<Option<Tx>> {
    if_present(reply, tx)
}

/// `/latest-submitted-tx`: `None` in an empty database.
pub(super) fn latest_id(reply: &Reply) -> Read<Option<i64>> {
    if_present(reply, |reply| json::<Submitted>(reply, 200).map(|told| told.tx_id))
}

/// `/entity`.
pub(super) fn entity(mut answer: Long<'_>) -> Read<Option<Document>> {
    if is_absent(answer.reply) {
        return Ok(None);
    }
    answer.begins(b'{')?;
    let Long { reply, body, room } = answer;
    let mut json = serde_json::Deserializer::from_reader(body);
    let read = room.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    match read.map_err(|error| unread(reply, room, &error))? {
        Value::Object(document) => Ok(Some(document)),
        _ => Err(shape(reply)),
    }
}

/// `/entity-tx`.
pub(super) fn entity_tx(reply: &Reply) -> Read<Option<EntityTx>> {
    if_present(reply, |reply| {
        let told = notation(reply)?;
        let read = || {
            let is_deleted = hash_of(told.get("xtdb.api/content-hash")?)? == DELETED;
            Some(EntityTx { tx: tx_of(&told)?, is_deleted })
        };
        read().ok_or_else(|| shape(reply))
    })
}

/// A version in a history, without its document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) tx: Tx,
    /// `None` if the entity was deleted.
    pub(super) content_hash: Option<String>,
}

/// `/entity?history=true`, in the order of transactions.
pub(super) fn versions(answer: Long<'_>) -> Read<Vec<Version>> {
    let mut versions = answer.rows(|row| {
        let hash = hash_of(row.get("xtdb.api/content-hash")?)?;
        let content_hash = (hash != DELETED).then(|| hash.to_owned());
        Some(Version { tx: tx_of(row)?, content_hash })
    })?;
    versions.sort_by_key(|version| version.tx.id);
    Ok(versions)
}

/// `/entity?history=true&with-docs=true`: the documents by their content hashes.
pub(super) fn documents(answer: Long<'_>) -> Read<HashMap<String, Document>> {
    let mut documents = HashMap::new();
    answer.list(|row| {
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
pub(super) fn tuples(mut answer: Long<'_>) -> Read<Vec<Vec<Value>>> {
    if answer.first()?.is_none() {
        let problem = "the query failed on one of its rows (an empty answer)";
        return Err(Failure::sent(failure::failed(answer.reply, problem), Again::Once));
    }
    answer.list(|row| match row {
        Value::Array(row) => Some(row),
        _ => None,
    })
}

/// `/attribute-stats`.
pub(super) fn attribute_stats(reply: &Reply) -> Read<BTreeMap<String, u64>> {
    json(reply, 200)
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

fn if_present<T>(reply: &Reply, read: impl FnOnce(&Reply) -> Read<T>) -> Read<Option<T>> {
    if is_absent(reply) { Ok(None) } else { read(reply).map(Some) }
}

fn json<T: DeserializeOwned>(reply: &Reply, status: u16) -> Read<T> {
    reply.expect(status)?;
    serde_json::from_slice(&reply.body).map_err(|error| {
        if reply.body.is_empty() {
            again(reply, "is empty")
        } else {
            unread(reply, &Room::for_answers(), &error)
        }
    })
}

impl Long<'_> {
    /// Reads a JSON list member by member; `each` converts a member, or returns nothing if it has
    /// another shape.
    fn list<T>(mut self, each: impl FnMut(Value) -> Option<T>) -> Read<Vec<T>> {
        self.begins(b'[')?;
        let Self { reply, body, room } = self;
        let mut json = serde_json::Deserializer::from_reader(body);
        let read = json.deserialize_seq(Members { room, each });
        let read = read.and_then(|members| json.end().map(|()| members));
        read.map_err(|error| unread(reply, room, &error))
    }

    /// Reads an EDN list member by member.
    fn rows<T>(self, each: impl Fn(&Edn) -> Option<T>) -> Read<Vec<T>> {
        let Self { reply, body, room } = self;
        reply.expect(200)?;
        let unread = |problem| misread(reply, &problem);
        let mut rows = Vec::new();
        let mut reader = edn::Reader::new(body);
        reader.enter().map_err(unread)?;
        while let Some(row) = reader.member().map_err(unread)? {
            // At most a hash is kept of each.
            let taken = room.take(2 * size_of::<T>() + DELETED.len());
            taken.map_err(|_| Failure::never(too_much(&reply.url, room)))?;
            rows.push(each(&row).ok_or_else(|| shape(reply))?);
        }
        reader.end().map_err(unread)?;
        Ok(rows)
    }

    /// Expects the body to begin with a byte; one of another shape is not read further.
    fn begins(&mut self, with: u8) -> Read<()> {
        match self.first()? {
            Some(byte) if byte == with => Ok(()),
            Some(_) => {
                Err(again(self.reply, "is not what it should be (it begins as something else)"))
            }
            None => Err(again(self.reply, "is empty")),
        }
    }

    /// The first byte that is not white space; `None` if nothing else follows.
    fn first(&mut self) -> Read<Option<u8>> {
        self.reply.expect(200)?;
        loop {
            let buffer = self.body.fill_buf();
            let buffer = buffer.map_err(|error| misread(self.reply, &error))?;
            match buffer.iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(at) => return Ok(Some(buffer[at])),
                None if buffer.is_empty() => return Ok(None),
                None => {
                    let all = buffer.len();
                    self.body.consume(all);
                }
            }
        }
    }
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

fn notation(reply: &Reply) -> Read<Edn> {
    reply.expect(200)?;
    edn::read_all(&reply.body).map_err(|problem| misread(reply, &problem))
}

/// Why notation cannot be read.
pub(super) fn of_notation(url: &str, error: &io::Error) -> Error {
    let problem = match error.kind() {
        ErrorKind::UnexpectedEof => "is cut off".to_owned(),
        ErrorKind::InvalidData => format!("has {error}"),
        _ => format!("cannot be read to its end ({error})"),
    };
    failure::unreadable(url, problem)
}

fn misread(reply: &Reply, error: &io::Error) -> Failure {
    Failure::sent(of_notation(&reply.url, error), Again::AtOnce)
}

/// Why JSON cannot be read.
fn unread(reply: &Reply, room: &Room, error: &serde_json::Error) -> Failure {
    match error.classify() {
        _ if room.is_full() => Failure::never(too_much(&reply.url, room)),
        serde_json::error::Category::Eof => again(reply, "is cut off"),
        _ => {
            let error = reply.shown(&error.to_string());
            again(reply, format!("is not what it should be ({error})"))
        }
    }
}

fn too_much(url: &str, room: &Room) -> Error {
    failure::unreadable(url, format!("takes more than {} bytes of memory", room.size()))
}

fn again(reply: &Reply, problem: impl Into<String>) -> Failure {
    Failure::sent(failure::unreadable(&reply.url, problem), Again::AtOnce)
}

fn shape(reply: &Reply) -> Failure {
    Failure::never(failure::unreadable(&reply.url, "has another shape than XTDB 1 gives"))
}
