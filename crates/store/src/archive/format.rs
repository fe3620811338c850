//! The lines of an archive, as `docs/archive-format.md` describes them. Plain data; must not read
//! or write a store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ArchiveScope, Item, Version};
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, Origin, Redaction, TxId};

/// The format's name, in the header.
pub(super) const FORMAT: &str = "palimpsest-archive";

/// Newest version of the format that this program knows. It changes only if older readers would
/// misread the archive; they skip new fields and kinds of lines.
pub(super) const FORMAT_VERSION: u32 = 1;

/// First line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub format: String,
    pub version: u32,
    pub store_id: String,
    /// RFC 3339.
    pub exported_at: String,
    pub what: ArchiveScope,
    pub redacted: bool,
}

/// A content; comes before the first version that has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ContentLine {
    pub hash: Hash,
    pub text: String,
}

/// A version. Lines with the same `tx` were written in one transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct VersionLine {
    pub tx: i64,
    pub id: ObjectId,
    /// An object type; may be unknown to this program.
    #[serde(rename = "type")]
    pub kind: String,
    /// A source; may be unknown to this program.
    pub source: Option<Value>,
    pub identity_hash: Hash,
    pub origin: Origin,
    pub source_hash: Option<Hash>,
    pub content_hash: Hash,
    pub fields: Map<String, Value>,
    pub content: Option<Hash>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub additional: BTreeMap<String, Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemsEntry>,
}

impl VersionLine {
    /// A version with all of its items.
    pub(super) fn of(version: &Version) -> Result<Self> {
        let source = version.envelope.source.as_ref().map(serde_json::to_value).transpose();
        let items =
            |hash: &Hash| ItemsEntry { keep: 0, add: version.item_count, hash: hash.clone() };
        Ok(Self {
            tx: version.tx_id.0,
            id: version.envelope.id.clone(),
            kind: version.envelope.kind.as_str().to_owned(),
            source: source.map_err(|error| Error::internal(error.to_string()))?,
            identity_hash: version.envelope.identity_hash.clone(),
            origin: version.origin.clone(),
            source_hash: version.source_hash.clone(),
            content_hash: version.content_hash.clone(),
            fields: version.fields.clone(),
            content: version.content.clone(),
            additional: version.additional.clone(),
            redacted: version.redacted.clone(),
            items: version.items_hash.as_ref().map(items),
        })
    }
}

/// The items of a version, relative to the previous line with the same object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ItemsEntry {
    /// Number of items kept.
    pub keep: u64,
    /// Number of item lines that follow the version's line.
    pub add: u64,
    /// Running hash of all items.
    pub hash: Hash,
}

/// A version from an earlier line that was written to the store again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AgainLine {
    pub tx: i64,
    pub id: ObjectId,
    pub content_hash: Hash,
    pub origin: OriginKey,
}

/// An origin without its time, which is not part of the identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OriginKey {
    pub store_id: String,
    pub tx_id: TxId,
}

/// A nickname of an object of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NicknameLine {
    pub nickname: String,
    pub id: ObjectId,
}

/// Last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndLine {
    /// Number of lines before this one.
    pub lines: u64,
    /// SHA-256 of all bytes before this line.
    pub sha256: Hash,
}

/// A line to write; its kind comes first.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    Header(&'a Header),
    Content(&'a ContentLine),
    Version(&'a VersionLine),
    /// An item of the preceding version line.
    Item(&'a Item),
    Again(&'a AgainLine),
    Nickname(&'a NicknameLine),
    End(&'a EndLine),
}

/// The kind of a line, without its other fields.
#[derive(Deserialize)]
pub(super) struct Kind {
    pub kind: String,
}

/// Portable identity of a version: a hash of object ID, `content_hash`, origin store and origin
/// `tx_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key(pub(super) [u8; 32]);

impl Key {
    pub(super) fn new(id: &ObjectId, content_hash: &Hash, store_id: &str, tx_id: TxId) -> Self {
        let identity = Value::from(vec![
            Value::from(id.as_str()),
            Value::from(content_hash.as_str()),
            Value::from(store_id),
            Value::from(tx_id.0),
        ]);
        Self(Hash::of(identity.to_string()).to_bytes().unwrap_or_default())
    }

    pub(super) fn of(id: &ObjectId, content_hash: &Hash, origin: &Origin) -> Self {
        Self::new(id, content_hash, &origin.store_id, origin.tx_id)
    }
}
