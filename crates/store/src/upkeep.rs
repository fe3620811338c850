//! Upkeep of a local store: what a file on this machine needs beyond the contract of
//! [`super::Backend`]. Plain data; no policy.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Aged, Item};

use base::object::{Hash, ObjectId, ObjectType, Redaction, Timestamp, TxId};

/// A change of stored data. Only commands that a person runs (`forget`) use it; nothing else
/// changes stored data.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    /// The object.
    pub id: ObjectId,
    /// What changes of it.
    pub change: Change,
}

/// What changes of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Removes text from a version, or restores it. The version's hashes, times and items stay.
    Version {
        /// The version's transaction.
        tx_id: TxId,
        /// The new fields.
        fields: Map<String, Value>,
        /// The new content, with its SHA-256.
        content: Option<(Hash, String)>,
        /// The new additional contents.
        additional: BTreeMap<String, (Hash, String)>,
        /// The reason, and the payload hash of the rest; `None` if the version is complete again.
        redacted: Option<Redaction>,
    },
    /// Removes text from an item that is or was in a list.
    Item {
        /// Position in the list.
        position: u64,
        /// First transaction that has it there.
        from: TxId,
        /// The new item, with the same running hash and `redacted` set.
        item: Item,
    },
    /// Marks an object as forgotten: it gets no further versions.
    Forgotten,
    /// Takes an object's nicknames and its source, whose path may be private.
    Nameless,
}

/// The effect of a command that removes text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// Objects that were forgotten.
    pub forgotten: BTreeSet<ObjectId>,
    /// Objects whose text was replaced.
    pub changed: BTreeSet<ObjectId>,
    /// SHA-256 of contents that are not stored again.
    pub banned: Vec<Hash>,
}

impl Replaced {
    /// The effect of these replacements, some of them of forgotten objects.
    pub(super) fn of(
        replacements: &[Replacement],
        forgotten: BTreeSet<ObjectId>,
        banned: &[Hash],
    ) -> Self {
        let ids = replacements.iter().map(|one| one.id.clone());
        let changed = ids.filter(|id| !forgotten.contains(id)).collect();
        Self { changed, forgotten, banned: banned.to_vec() }
    }
}

/// The data that `gc` drops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Garbage {
    /// Number of contents that no version refers to.
    pub contents: u64,
    /// Their UTF-8 bytes.
    pub content_bytes: u64,
    /// Size of the store's files before, in bytes.
    pub bytes_before: u64,
    /// Size of the store's files after; as an estimate beforehand, an upper bound, without what
    /// outputs add to the search index that are to be searched again.
    pub bytes_after: u64,
    /// Whether a reader of an older state, in this process or another, still keeps dropped text in
    /// the log. If so, collect again.
    pub waits_for_readers: bool,
    /// Whether free pages stay, and may still hold dropped text, until it is collected while nobody
    /// else has the file open: it is one of an earlier version, or others freed pages all the while.
    pub waits_to_be_alone: bool,
    /// Bytes of the file that the search index takes; only beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_bytes: Option<u64>,
    /// What goes with the sessions that nobody went on with; `None` if that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aged: Option<Aged>,
}

/// How large a store is, and how it grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Growth {
    /// Bytes of the file and its log; 0 in memory.
    pub file_bytes: u64,
    /// About how many of these came in the last 30 days: the share of their versions.
    pub recent_bytes: u64,
    /// Sessions.
    pub sessions: u64,
    /// Of these, sessions that were last written 180 days ago or earlier.
    pub unused_sessions: u64,
}

/// Which outputs of tool calls the search index holds. Names and arguments are always in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SearchedOutputs {
    /// All.
    All,
    /// All that came since a person asked for them again, and some of those before.
    Some,
    /// None that came since a person asked for that, and maybe some of those before.
    None,
}

/// A part of a store and its size on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StorePart {
    /// Name of the table or index.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// Sizes of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreSize {
    /// Objects by type.
    pub objects: BTreeMap<ObjectType, u64>,
    /// Forgotten objects among them.
    pub forgotten: u64,
    /// Versions.
    pub versions: u64,
    /// Items, including those that left their list.
    pub items: u64,
    /// Contents.
    pub contents: u64,
    /// UTF-8 bytes of contents, items and fields, before compression.
    pub plain_bytes: u64,
    /// Bytes of the file; 0 in memory.
    pub file_bytes: u64,
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// Unused bytes in the file.
    pub free_bytes: u64,
    /// Bytes by table and index, largest first.
    pub parts: Vec<StorePart>,
}

/// A folder that a person had indexed. Where no other vault is marked, links inside it resolve
/// inside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexedFolder {
    /// The filesystem that holds it.
    pub filesystem_id: String,
    /// Its canonical path with slashes, without a trailing one.
    pub path: String,
}

impl IndexedFolder {
    /// Whether a folder is this one or inside it. `folder`: its path in the same form.
    pub fn holds(&self, filesystem_id: &str, folder: &str) -> bool {
        let rest = folder.strip_prefix(self.path.as_str());
        self.filesystem_id == filesystem_id
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Acknowledged transactions that were missing when the store was opened: something outside the
/// program removed or damaged them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// ID of the store that held them: this one, or an earlier one at the same path.
    pub store_id: String,
    /// The first transaction that is missing.
    pub from: TxId,
    /// The last transaction that is missing.
    pub to: TxId,
    /// When it was noticed.
    pub noticed: Timestamp,
}
