//! Between rows and the contract's types: versions, items, hashes, compressed text. No SQL.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef};
use rusqlite::{Result as SqlResult, Row};
use serde::de::DeserializeOwned;

use super::failure::{Failure, Step};
use crate::object::{Envelope, Hash, ObjectId, ObjectType, Origin, Timestamp, TxId};
use crate::store::{Item, PlacedItem, Version};

/// Shorter text is not worth a zstd frame's header and the time.
const COMPRESS_FROM_BYTES: usize = 256;

/// zstd's default; higher levels gain a few per cent on source text at several times the cost.
const ZSTD_LEVEL: i32 = 3;

/// Text as it is kept: TEXT as it is, or a BLOB holding a zstd frame where that is smaller.
pub(super) enum Stored<'a> {
    Plain(&'a str),
    Zstd(Vec<u8>),
}

impl<'a> Stored<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        if text.len() < COMPRESS_FROM_BYTES {
            return Self::Plain(text);
        }
        // Compressing into memory has no reason to fail; if it does, the text is kept as it is.
        match zstd::bulk::compress(text.as_bytes(), ZSTD_LEVEL) {
            Ok(frame) if frame.len() < text.len() => Self::Zstd(frame),
            _ => Self::Plain(text),
        }
    }
}

impl ToSql for Stored<'_> {
    fn to_sql(&self) -> SqlResult<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Plain(text) => ValueRef::Text(text.as_bytes()),
            Self::Zstd(frame) => ValueRef::Blob(frame),
        }))
    }
}

/// Reads text that [`Stored`] wrote.
pub(super) fn text(row: &Row<'_>, column: usize) -> Step<String> {
    let bytes = match row.get_ref(column)? {
        ValueRef::Text(bytes) => bytes.to_vec(),
        ValueRef::Blob(frame) => zstd::stream::decode_all(frame).map_err(Failure::damaged)?,
        other => return Err(Failure::damaged(format!("text is stored as {}", other.data_type()))),
    };
    String::from_utf8(bytes).map_err(Failure::damaged)
}

/// A hash as 32 bytes.
pub(super) struct HashBytes(pub Hash);

impl FromSql for HashBytes {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; 32]>::column_result(value).map(|bytes| Self(Hash::from_bytes(&bytes)))
    }
}

/// A hash as a parameter. `rules::check_shape` has seen to its form; what it lets through anyway is kept as text and found
/// by nobody.
pub(super) fn hash_value(hash: &Hash) -> Value {
    match hash.to_bytes() {
        Some(bytes) => Value::Blob(bytes.to_vec()),
        None => Value::Text(hash.as_str().to_owned()),
    }
}

/// Columns that [`version`] reads, of `object AS o`, `version AS v` and `tx AS t`.
pub(super) const VERSION_COLUMNS: &str = "o.id, o.type, o.source, o.identity_hash, v.tx_id, \
     t.system_time, v.source_hash, v.content_hash, v.fields, v.content, v.item_count, v.items_hash, \
     v.origin_store, v.origin_tx, v.origin_time, v.additional, v.redacted";

/// Reads a version. Its origin is this store unless another is named.
pub(super) fn version(row: &Row<'_>, store_id: &str) -> Step<Version> {
    let tx_id = TxId(row.get(4)?);
    let system_time = Timestamp(row.get(5)?);
    let origin = match row.get::<_, Option<String>>(12)? {
        Some(store_id) => {
            Origin { store_id, tx_id: TxId(row.get(13)?), time: Timestamp(row.get(14)?) }
        }
        None => Origin { store_id: store_id.to_owned(), tx_id, time: system_time },
    };
    Ok(Version {
        envelope: envelope(row)?,
        tx_id,
        system_time,
        origin,
        source_hash: optional_hash(row, 6)?,
        content_hash: hash(row, 7)?,
        fields: serde_json::from_str(str_ref(row, 8)?).map_err(Failure::damaged)?,
        content: optional_hash(row, 9)?,
        item_count: row.get::<_, i64>(10)?.unsigned_abs(),
        items_hash: optional_hash(row, 11)?,
        additional: optional_json(row, 15)?.unwrap_or_default(),
        redacted: optional_json(row, 16)?,
    })
}

/// Reads an item from `running_hash, text, redacted`.
pub(super) fn item(row: &Row<'_>) -> Step<Item> {
    Ok(Item { running_hash: hash(row, 0)?, text: text(row, 1)?, redacted: optional_hash(row, 2)? })
}

/// Reads an item with its place from `running_hash, text, redacted, position, from_tx, until_tx`.
pub(super) fn placed_item(row: &Row<'_>) -> Step<PlacedItem> {
    Ok(PlacedItem {
        position: row.get::<_, i64>(3)?.unsigned_abs(),
        from: TxId(row.get(4)?),
        until: row.get::<_, Option<i64>>(5)?.map(TxId),
        item: item(row)?,
    })
}

pub(super) fn hash(row: &Row<'_>, column: usize) -> Step<Hash> {
    Ok(row.get::<_, HashBytes>(column)?.0)
}

pub(super) fn optional_hash(row: &Row<'_>, column: usize) -> Step<Option<Hash>> {
    Ok(row.get::<_, Option<HashBytes>>(column)?.map(|bytes| bytes.0))
}

/// Reads JSON that may be null.
fn optional_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Step<Option<T>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => serde_json::from_str(str_ref(row, column)?).map(Some).map_err(Failure::damaged),
    }
}

fn envelope(row: &Row<'_>) -> Step<Envelope> {
    let kind = str_ref(row, 1)?;
    let kind = ObjectType::parse(kind)
        .ok_or_else(|| Failure::damaged(format!("`{kind}` is no object type")))?;
    let source = optional_json(row, 2)?;
    let id = ObjectId::new(row.get::<_, String>(0)?);
    Ok(Envelope { id, kind, source, identity_hash: hash(row, 3)? })
}

fn str_ref<'r>(row: &'r Row<'_>, column: usize) -> Step<&'r str> {
    row.get_ref(column)?.as_str().map_err(Failure::damaged)
}
