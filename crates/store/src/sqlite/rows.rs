//! Converts between rows and the contract's types: versions, items, hashes, compressed text. No
//! SQL.

use std::borrow::Cow;

use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::{Result as SqlResult, Row};
use serde::de::DeserializeOwned;
use serde_json::Map;

use super::failure::{Failure, Step};
use super::pack::{PackedText, Packer, Packs};
use crate::{Item, Version};
use base::object::{Envelope, Hash, ObjectId, ObjectType, Origin, RunningHash, Timestamp, TxId};

/// zstd's default; higher levels gain a few per cent on source text at several times the cost.
const ZSTD_LEVEL: i32 = 3;

/// Shorter fields stay in their row, where reading them costs nothing.
const FIELDS_FROM_BYTES: usize = 64;

/// Text as stored: in a pack (INTEGER), or, if it is long, alone: a BLOB holding a zstd frame, or
/// plain TEXT if that is smaller.
pub(super) enum Stored<'a> {
    Packed(PackedText),
    Plain(&'a str),
    Zstd(Vec<u8>),
}

impl<'a> Stored<'a> {
    /// Text stored alone.
    pub(super) fn alone(text: &'a str) -> Self {
        // Compression into memory should not fail; if it does, keep the text uncompressed.
        match zstd::bulk::compress(text.as_bytes(), ZSTD_LEVEL) {
            Ok(frame) if frame.len() < text.len() => Self::Zstd(frame),
            _ => Self::Plain(text),
        }
    }
}

impl ToSql for Stored<'_> {
    fn to_sql(&self) -> SqlResult<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Packed(place) => ValueRef::Integer(place.0),
            Self::Plain(text) => ValueRef::Text(text.as_bytes()),
            Self::Zstd(frame) => ValueRef::Blob(frame),
        }))
    }
}

/// Reads text that [`Stored`] wrote.
pub(super) fn text(row: &Row<'_>, column: usize, packs: &Packs<'_>) -> Step<String> {
    let bytes = match row.get_ref(column)? {
        ValueRef::Integer(number) => return packs.text(PackedText(number)),
        ValueRef::Text(bytes) => bytes.to_vec(),
        ValueRef::Blob(frame) => zstd::stream::decode_all(frame).map_err(Failure::damaged)?,
        other => return Err(Failure::damaged(format!("text is stored as {}", other.data_type()))),
    };
    String::from_utf8(bytes).map_err(Failure::damaged)
}

/// Fields as stored: JSON, or in digits its place in a pack.
pub(super) fn stored_fields(json: String, packer: &Packer<'_>) -> Step<String> {
    if json.len() < FIELDS_FROM_BYTES {
        return Ok(json);
    }
    Ok(packer.add(&json)?.0.to_string())
}

/// A hash as a parameter. `rules::check_shape` has checked its form; anything that it lets through
/// anyway is stored as text and never found.
pub(super) fn hash_value(hash: &Hash) -> Value {
    match hash.to_bytes() {
        Some(bytes) => Value::Blob(bytes.to_vec()),
        None => Value::Text(hash.as_str().to_owned()),
    }
}

/// Columns that [`version`] reads, of `object AS o`, `version AS v` and `tx AS t`.
pub(super) const VERSION_COLUMNS: &str = "o.id, o.type, o.source, o.identity_hash, v.tx_id, \
     t.system_time, v.source_hash, v.content_hash, v.fields, v.content, v.item_count, \
     CASE v.items_hash WHEN x'' THEN (SELECT i.running_hash FROM item AS i WHERE i.object = v.object \
     AND i.position = v.item_count - 1 AND i.from_tx <= v.tx_id \
     AND (i.until_tx IS NULL OR i.until_tx > v.tx_id)) ELSE v.items_hash END, v.origin_store, v.origin_tx, v.origin_time, v.additional, v.redacted";

/// Reads a version. Its origin is this store unless the row names another.
pub(super) fn version(row: &Row<'_>, store_id: &str, packs: &Packs<'_>) -> Step<Version> {
    let tx_id = TxId(row.get(4)?);
    let system_time = Timestamp(row.get(5)?);
    let origin = if let Some(store_id) = row.get::<_, Option<String>>(12)? {
        Origin { store_id, tx_id: TxId(row.get(13)?), time: Timestamp(row.get(14)?) }
    } else {
        let time = row.get::<_, Option<i64>>(14)?.map_or(system_time, Timestamp);
        Origin { store_id: store_id.to_owned(), tx_id, time }
    };
    Ok(Version {
        envelope: envelope(row)?,
        tx_id,
        system_time,
        origin,
        source_hash: optional_hash(row, 6)?,
        content_hash: hash(row, 7)?,
        fields: fields(str_ref(row, 8)?, packs)?,
        content: optional_hash(row, 9)?,
        item_count: row.get::<_, i64>(10)?.unsigned_abs(),
        items_hash: optional_hash(row, 11)?,
        additional: optional_json(row, 15)?.unwrap_or_default(),
        redacted: optional_json(row, 16)?,
    })
}

/// An item as stored: without its running hash if that continues the previous item's.
pub(super) struct ItemRow {
    pub text: String,
    pub running_hash: Option<Hash>,
    pub redacted: Option<Hash>,
    pub position: u64,
    pub from: TxId,
    pub until: Option<TxId>,
}

impl ItemRow {
    /// Columns that [`Self::read`] reads, of `item AS i`.
    pub(super) const COLUMNS: &str =
        "i.running_hash, i.text, i.redacted, i.position, i.from_tx, i.until_tx";

    pub(super) fn read(row: &Row<'_>, packs: &Packs<'_>) -> Step<Self> {
        Ok(Self {
            text: text(row, 1, packs)?,
            running_hash: optional_hash(row, 0)?,
            redacted: optional_hash(row, 2)?,
            position: row.get::<_, i64>(3)?.unsigned_abs(),
            from: TxId(row.get(4)?),
            until: row.get::<_, Option<i64>>(5)?.map(TxId),
        })
    }

    /// The item; `before` is the running hash of the previous one.
    pub(super) fn item(self, before: &Hash) -> Item {
        let continued = || RunningHash::from_stored(before.clone()).push(&self.text);
        let running_hash = self.running_hash.unwrap_or_else(continued);
        Item { text: self.text, running_hash, redacted: self.redacted }
    }
}

pub(super) fn hash(row: &Row<'_>, column: usize) -> Step<Hash> {
    Ok(Hash::from_bytes(&row.get(column)?))
}

pub(super) fn optional_hash(row: &Row<'_>, column: usize) -> Step<Option<Hash>> {
    Ok(row.get::<_, Option<[u8; 32]>>(column)?.map(|bytes| Hash::from_bytes(&bytes)))
}

pub(super) fn fields(stored: &str, packs: &Packs<'_>) -> Step<Map<String, serde_json::Value>> {
    serde_json::from_str(&fields_text(stored, packs)?).map_err(Failure::damaged)
}

/// The JSON of fields that [`stored_fields`] stored.
pub(super) fn fields_text<'s>(stored: &'s str, packs: &Packs<'_>) -> Step<Cow<'s, str>> {
    // In their row they begin with a brace.
    match stored.parse() {
        Ok(place) => packs.text(PackedText(place)).map(Cow::Owned),
        Err(_) => Ok(Cow::Borrowed(stored)),
    }
}

/// Reads JSON that may be null.
pub(super) fn optional_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Step<Option<T>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => json(row, column).map(Some),
    }
}

/// Reads JSON.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Step<T> {
    serde_json::from_str(str_ref(row, column)?).map_err(Failure::damaged)
}

fn envelope(row: &Row<'_>) -> Step<Envelope> {
    let source = optional_json(row, 2)?;
    let id = ObjectId::new(row.get::<_, String>(0)?);
    Ok(Envelope { id, kind: kind(row, 1)?, source, identity_hash: hash(row, 3)? })
}

pub(super) fn kind(row: &Row<'_>, column: usize) -> Step<ObjectType> {
    let name = str_ref(row, column)?;
    let unknown = || Failure::damaged(format!("`{name}` is not an object type"));
    ObjectType::parse(name).ok_or_else(unknown)
}

pub(super) fn str_ref<'r>(row: &'r Row<'_>, column: usize) -> Step<&'r str> {
    row.get_ref(column)?.as_str().map_err(Failure::damaged)
}
