//! The rules of [`super::Backend::commit`] that all backends share. No storage.

use std::collections::HashSet;

use super::{Expected, Op, Put, Splice};
use base::error::{Error, Result};
use base::object::{Hash, Nickname, ObjectId, RESERVED_FIELDS, Timestamp, TxId};
use serde_json::{Map, Value};

/// The properties of an object's latest version that a put depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    /// Its transaction.
    pub tx_id: TxId,
    /// The hash of the object's source.
    pub identity_hash: Hash,
    /// The hash of its content.
    pub content_hash: Hash,
    /// The hash of the source's bytes, if it is known.
    pub source_hash: Option<Hash>,
    /// How many items it has.
    pub item_count: u64,
    /// Whether it was forgotten.
    pub forgotten: bool,
}

/// Largest text that a store accepts, 256 MiB: texts are held in memory several times over while
/// they are hashed and compressed, and SQLite limits a row to 10^9 bytes.
const MAX_TEXT_BYTES: usize = 256 << 20;

/// Deepest nesting of a payload's fields: JSON parsers stop at 128 levels, the store's own
/// included.
const MAX_LEVELS: usize = 100;

/// Refuses a transaction that is malformed on its own, whatever the store holds.
///
/// # Errors
/// `INVALID_ARGUMENT` if one object is put twice, a hash is malformed, a text has more than 256
/// MiB, or a field has a reserved name or more than 100 levels.
pub fn check_shape(ops: &[Op]) -> Result<()> {
    let mut seen = HashSet::new();
    for put in puts(ops) {
        if !seen.insert(&put.envelope.id) {
            let problem = format!("puts the object `{}` twice", put.envelope.id);
            return Err(Error::argument("transaction", problem));
        }
        check_hashes(put)?;
        check_fields(put)?;
        check_texts(put)?;
    }
    Ok(())
}

/// Whether a put writes a version; false if nothing would change.
///
/// # Errors
/// `FORGOTTEN` if the object was forgotten; `INVALID_ARGUMENT` if the envelope differs from that of
/// earlier versions or the splice keeps too many items; `CONFLICT` if the latest version is not the
/// expected one.
pub fn writes(put: &Put, latest: Option<&Latest>) -> Result<bool> {
    let id = &put.envelope.id;
    if let Some(latest) = latest {
        if latest.identity_hash != put.envelope.identity_hash {
            let problem = format!("of `{id}` is not that of its earlier versions");
            return Err(Error::argument("envelope", problem));
        }
        if latest.forgotten {
            return Err(Error::Forgotten { id: id.clone() });
        }
    }
    let winner = latest.map(|latest| latest.tx_id);
    let met = match put.expected {
        Expected::Any => true,
        Expected::Absent => winner.is_none(),
        Expected::Latest(tx_id) => winner == Some(tx_id),
    };
    if !met {
        return Err(Error::Conflict { id: id.clone(), winner });
    }
    let equal = |latest: &Latest| {
        latest.content_hash == put.content_hash && latest.source_hash == put.source_hash
    };
    if put.origin.is_none() && latest.is_some_and(equal) {
        return Ok(false);
    }
    let count = latest.map_or(0, |latest| latest.item_count);
    match &put.items {
        Some(Splice { keep, .. }) if *keep > count => {
            Err(Error::argument("keep", format!("is {keep}, `{id}` has {count} items")))
        }
        _ => Ok(true),
    }
}

/// The hashes of the contents of a put.
pub fn contents(put: &Put) -> impl Iterator<Item = &Hash> {
    put.content.iter().chain(put.additional.values()).map(|(hash, _)| hash)
}

/// The error for replacing something that does not exist.
pub(super) fn nothing_to_replace(id: &ObjectId) -> Error {
    Error::argument("replacement", format!("names what `{id}` does not have"))
}

/// Number and time of the transaction after `newest`: the time never goes back, whatever the clock
/// does. `None` after the largest possible number, which only something other than this program can
/// have written.
pub(super) fn next(newest: Option<(TxId, Timestamp)>, now: Timestamp) -> Option<(TxId, Timestamp)> {
    match newest {
        Some((tx_id, system_time)) => Some((TxId(tx_id.0.checked_add(1)?), now.max(system_time))),
        None => Some((TxId(1), now)),
    }
}

/// How far ahead of this machine's clock a time may be, since clocks differ.
const MAX_AHEAD_MS: i64 = 60 * 60 * 1_000;

/// Whether a time is over an hour ahead of this machine's clock: what has it would stay the latest
/// until then, whatever is written meanwhile.
pub fn is_ahead(time: Timestamp, now: Timestamp) -> bool {
    time.0 > now.0.saturating_add(MAX_AHEAD_MS)
}

/// The puts of a transaction, in order.
pub fn puts(ops: &[Op]) -> impl Iterator<Item = &Put> {
    ops.iter().filter_map(|op| match op {
        Op::Put(put) => Some(&**put),
        Op::Name { .. } => None,
    })
}

/// The error for a nickname that another object has.
pub fn nickname_taken(nickname: &Nickname, owner: &ObjectId) -> Error {
    let reason = format!("the object `{owner}` has it");
    Error::InvalidNickname { name: nickname.as_str().to_owned(), reason }
}

/// The error for a nickname assigned to an object that the store does not hold.
pub fn nickname_without_object(nickname: &Nickname, id: &ObjectId) -> Error {
    let problem = format!("`{id}` is unknown and cannot be named `{}`", nickname.as_str());
    Error::argument("id", problem)
}

fn check_hashes(put: &Put) -> Result<()> {
    let added = put.items.iter().flat_map(|splice| &splice.add);
    let hashes = [&put.envelope.identity_hash, &put.content_hash]
        .into_iter()
        .chain(&put.source_hash)
        .chain(put.content.iter().map(|(hash, _)| hash))
        .chain(put.additional.values().map(|(hash, _)| hash))
        .chain(added.flat_map(|item| [&item.running_hash].into_iter().chain(&item.redacted)));
    for hash in hashes {
        if hash.to_bytes().is_none() {
            return Err(Error::argument("hash", format!("`{hash}` is not a SHA-256")));
        }
    }
    Ok(())
}

fn check_fields(put: &Put) -> Result<()> {
    let id = &put.envelope.id;
    if let Some(name) = RESERVED_FIELDS.into_iter().find(|name| put.fields.contains_key(*name)) {
        let problem =
            format!("of `{id}` hold `{name}`, which stands for another part of a payload");
        return Err(Error::argument("fields", problem));
    }
    if !put.fields.values().all(|value| has_levels(value, MAX_LEVELS)) {
        let problem = format!("of `{id}` have more than {MAX_LEVELS} levels");
        return Err(Error::argument("fields", problem));
    }
    Ok(())
}

/// A text as it stands between the quotes of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The objects in a JSON value, at any depth, each before those inside it.
pub(super) fn objects(value: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let mut waiting = vec![value];
    std::iter::from_fn(move || {
        loop {
            match waiting.pop()? {
                Value::Array(elements) => waiting.extend(elements.iter().rev()),
                Value::Object(members) => {
                    waiting.extend(members.values().rev());
                    return Some(members);
                }
                _ => {}
            }
        }
    })
}

/// Whether a value has at most this many levels; a text or a number has none.
pub fn has_levels(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(elements) => {
            levels > 0 && elements.iter().all(|element| has_levels(element, levels - 1))
        }
        Value::Object(members) => {
            levels > 0 && members.values().all(|member| has_levels(member, levels - 1))
        }
        _ => true,
    }
}

fn check_texts(put: &Put) -> Result<()> {
    let contents = put.content.iter().chain(put.additional.values()).map(|(_, text)| text);
    let items = put.items.iter().flat_map(|splice| &splice.add).map(|item| &item.text);
    match contents.chain(items).map(String::len).find(|bytes| *bytes > MAX_TEXT_BYTES) {
        Some(bytes) => {
            let id = &put.envelope.id;
            let problem = format!("of `{id}` has {bytes} bytes, the store takes {MAX_TEXT_BYTES}");
            Err(Error::argument("content", problem))
        }
        None => Ok(()),
    }
}
