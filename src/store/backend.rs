//! The contract that every backend fulfils. Plain data in and out; no policy, nothing about a particular backend.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Query;
use super::RelationIndex;
use super::SearchIndex;
use crate::error::{Error, Result};
use crate::object::{
    AsOf, Envelope, FieldPath, Hash, Nickname, ObjectId, ObjectType, Origin, Redaction, Timestamp,
    TxId,
};

/// One version of an object, without its content, which [`Backend::content`] loads.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The immutable part.
    pub envelope: Envelope,
    /// Transaction in this store.
    pub tx_id: TxId,
    /// Time of that transaction in this store; never decreases with `tx_id`.
    pub system_time: Timestamp,
    /// Where the version was first written; this store, unless it was imported.
    pub origin: Origin,
    /// Hash of the raw source bytes.
    pub source_hash: Option<Hash>,
    /// Hash of the payload, see [`crate::object::Payload::content_hash`].
    pub content_hash: Hash,
    /// Fields, which depend on the type.
    pub fields: Map<String, Value>,
    /// SHA-256 of the content's UTF-8 bytes, the key of [`Backend::content`]; `None` if the content is null.
    pub content: Option<Hash>,
    /// Number of items (chat messages, session events); 0 for other documents.
    pub item_count: u64,
    /// Running hash of the items; `None` for documents without items.
    pub items_hash: Option<Hash>,
    /// SHA-256 of each additional content, by name.
    pub additional: BTreeMap<String, Hash>,
    /// Set if text was removed from it.
    pub redacted: Option<Redaction>,
}

/// The latest version that a put expects. It is compared first: of two writers that go from one version to equal ones,
/// the second gets `CONFLICT`, or a counter that both raise would lose a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Anything: the put always succeeds.
    Any,
    /// No version of the object.
    Absent,
    /// This version is the latest.
    Latest(TxId),
}

/// One element of a document's append-only list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The element, as text (JSON in practice).
    pub text: String,
    /// Running hash of the list up to and including this element, as it was first written.
    pub running_hash: Hash,
    /// SHA-256 of `text`, if text was removed from it and `running_hash` no longer covers it.
    pub redacted: Option<Hash>,
}

/// An element with the range of transactions in which it is part of its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedItem {
    /// Position in the list, from 0.
    pub position: u64,
    /// First transaction that has it there.
    pub from: TxId,
    /// First transaction that no longer has it there; `None` if the latest still does.
    pub until: Option<TxId>,
    /// The element.
    pub item: Item,
}

/// A change of a document's list: keeps the first `keep` items, then appends. Items beyond `keep` stay visible as of
/// earlier transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// Number of items to keep; at most the present number.
    pub keep: u64,
    /// Items to append.
    pub add: Vec<Item>,
}

/// A new version of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Put {
    /// The immutable part; must equal that of earlier versions.
    pub envelope: Envelope,
    /// Hash of the raw source bytes.
    pub source_hash: Option<Hash>,
    /// Hash of the payload.
    pub content_hash: Hash,
    /// Fields by type.
    pub fields: Map<String, Value>,
    /// The content and its SHA-256.
    pub content: Option<(Hash, String)>,
    /// Change of the items; `None` keeps them.
    pub items: Option<Splice>,
    /// Additional contents by name, each with its SHA-256.
    pub additional: BTreeMap<String, (Hash, String)>,
    /// Where the version was first written, if it comes from another store; `None` for a new one. A version with an
    /// origin is written even if its payload equals the latest one's.
    pub origin: Option<Origin>,
    /// Set if the version comes redacted from another store.
    pub redacted: Option<Redaction>,
    /// The latest version that the put expects.
    pub expected: Expected,
}

/// One operation of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Writes a version, unless `content_hash` and `source_hash` both equal those of the latest.
    Put(Box<Put>),
    /// Gives a nickname to an object that exists after this transaction, or removes it (`None`).
    Name {
        /// The nickname; unique in the store.
        nickname: Nickname,
        /// Its object from now on; `None` to remove it.
        id: Option<ObjectId>,
    },
}

/// Result of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A version was written.
    Written,
    /// The object was in this state already; holds its latest transaction. For removing a nickname that nobody has:
    /// the newest transaction.
    Unchanged(TxId),
}

/// Result of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The transaction's number; if nothing was written, that of the newest transaction (0 on an empty store).
    pub tx_id: TxId,
    /// That transaction's time (0 on an empty store).
    pub system_time: Timestamp,
    /// One outcome per operation, in order.
    pub outcomes: Vec<Outcome>,
}

/// A change of stored data. Only commands that a person runs (`forget`) use it; nothing else changes what is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Replacement {
    /// Removes text from a version, or puts back what was removed. Its hashes, times and items stay.
    Version {
        /// The object.
        id: ObjectId,
        /// The version's transaction.
        tx_id: TxId,
        /// The new fields.
        fields: Map<String, Value>,
        /// The new content, with its SHA-256.
        content: Option<(Hash, String)>,
        /// The new additional contents.
        additional: BTreeMap<String, (Hash, String)>,
        /// The reason, and the payload hash of what is left; `None` if the version is whole again.
        redacted: Option<Redaction>,
    },
    /// Removes text from an item that is or was in a list.
    Item {
        /// The object.
        id: ObjectId,
        /// Position in the list.
        position: u64,
        /// First transaction that has it there.
        from: TxId,
        /// The new item, with the same running hash and `redacted` set.
        item: Item,
    },
    /// Marks an object as forgotten: it gets no further versions, and loses its nicknames and its source, whose path
    /// may be private.
    Forgotten {
        /// The object.
        id: ObjectId,
    },
}

impl Replacement {
    /// The object concerned.
    pub fn id(&self) -> &ObjectId {
        match self {
            Self::Version { id, .. } | Self::Item { id, .. } | Self::Forgotten { id } => id,
        }
    }
}

/// What [`Backend::collect`] drops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Number of contents that no version refers to.
    pub contents: u64,
    /// Their UTF-8 bytes.
    pub content_bytes: u64,
    /// Size of the store's files before, in bytes.
    pub bytes_before: u64,
    /// Size of the store's files after; as an estimate beforehand, an upper bound.
    pub bytes_after: u64,
    /// Whether a reader of an older state, in this process or another, still keeps dropped text in the log. Then
    /// collect again.
    pub waits_for_readers: bool,
}

/// A part of a store and its size on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Name of the table or index.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// Sizes of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Size {
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
    pub parts: Vec<Part>,
}

/// A folder that a person had indexed: where no other vault is marked, links within it resolve within it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexedFolder {
    /// The filesystem that holds it.
    pub filesystem_id: String,
    /// Its canonical path with slashes, and none at the end.
    pub path: String,
}

impl IndexedFolder {
    /// Whether a folder is this one or lies in it. `folder`: its path in the same form.
    pub fn holds(&self, filesystem_id: &str, folder: &str) -> bool {
        let rest = folder.strip_prefix(self.path.as_str());
        self.filesystem_id == filesystem_id
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Acknowledged transactions that were missing when the store was opened: something outside the program removed or
/// damaged them.
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

/// The latest version of an object at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Its transaction.
    pub tx_id: TxId,
    /// What was taken out of it, if anything was.
    pub redacted: Option<Redaction>,
}

/// Stores versions of objects and keeps every one. The contract tests run on every implementation.
///
/// Made for a remote server as well as for a file: it addresses whole documents and list elements by ID, without
/// joins or cursors. Calls block; callers run on worker threads.
pub trait Backend: Debug + Send + Sync {
    /// Short name for messages: `sqlite`, `memory`.
    fn name(&self) -> &'static str;

    /// ID of this store, made at its creation; part of a version's portable identity.
    fn store_id(&self) -> &str;

    /// Applies all operations or none, as one transaction; see [`Self::commit_all`].
    fn commit(&self, ops: &[Op], now: Timestamp) -> Result<Receipt> {
        let receipts = self.commit_all(&[ops], now)?;
        receipts.into_iter().next().ok_or_else(|| Error::internal("a transaction has no receipt"))
    }

    /// Applies several transactions in order, all of them or none; no reader sees a state between them. Each has one
    /// `tx_id`, one `system_time` and one receipt.
    ///
    /// `now`: the wall clock. If it is earlier than the newest transaction's time, that time is used instead. Each
    /// `tx_id` is greater than the one before, the first at least 1; gaps are allowed. The data is durable on return.
    ///
    /// # Errors
    /// `FORGOTTEN` if a put goes to a forgotten object or has a forgotten content; `CONFLICT` with the winner if the
    /// latest version is not the expected one; `INVALID_ARGUMENT` if one object is put twice, a text has more than
    /// 256 MiB, a field has more than 100 levels or a name of [`crate::object::RESERVED_FIELDS`], an envelope differs
    /// from that of earlier versions, a hash is malformed, a splice keeps more items than there are, or a nickname
    /// goes to an unknown object; `INVALID_NICKNAME` if another object has it. The form of all transactions is
    /// checked first. Puts apply before names, in order; the first failure is reported.
    fn commit_all(&self, transactions: &[&[Op]], now: Timestamp) -> Result<Vec<Receipt>>;

    /// Number and time of the newest transaction; zeros on an empty store.
    fn newest(&self) -> Result<(TxId, Timestamp)>;

    /// Reads the version of `id` visible at `at`. `None` if there is none.
    fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>>;

    /// Lists versions of `id`, newest first.
    fn history(&self, id: &ObjectId) -> Result<Vec<Version>>;

    /// The newest version of `id` with this `content_hash`. `None` if there is none.
    fn find_version(&self, id: &ObjectId, content_hash: &Hash) -> Result<Option<Version>> {
        let mut versions = self.history(id)?.into_iter();
        Ok(versions.find(|version| version.content_hash == *content_hash))
    }

    /// What tells the latest version of `id` from others, at less cost than [`Self::get`]. `None` if there is no such object.
    fn glance(&self, id: &ObjectId) -> Result<Option<Glance>> {
        let latest = self.get(id, AsOf::Latest)?;
        Ok(latest.map(|version| Glance { tx_id: version.tx_id, redacted: version.redacted }))
    }

    /// Reads a content by its hash. `None` if the store does not hold it.
    fn content(&self, hash: &Hash) -> Result<Option<String>>;

    /// Reads the items of `id` at positions `range` (clipped) as visible at `at`, in order.
    fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>>;

    /// Reads the items that ever stood at positions `range` of `id`, by position, then transaction.
    fn placed_items(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>>;

    /// Lists the versions of all objects that were written after transaction `after`, in the order of writing.
    /// Returns whole transactions, at least one, and stops after the one that reaches `limit` versions.
    fn changes(&self, after: TxId, limit: usize) -> Result<Vec<Version>>;

    /// Lists the versions of `id` with this origin, newest first; a version that was put again is listed each time.
    /// Compares store and transaction, not time.
    fn find_origin(&self, id: &ObjectId, origin: &Origin) -> Result<Vec<Version>> {
        let same = |version: &Version| {
            version.origin.store_id == origin.store_id && version.origin.tx_id == origin.tx_id
        };
        Ok(self.history(id)?.into_iter().filter(same).collect())
    }

    /// Lists the latest versions of objects of one type in the order of their IDs, those after `after`; at most
    /// `limit`.
    fn list(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<Version>>;

    /// Lists the versions that came before the latest ones, of all objects of one type in the order of their IDs; an object with one
    /// version has none.
    fn list_before_latest(&self, kind: ObjectType) -> Result<Vec<Version>>;

    /// Finds versions by their metadata, see [`Query`]. Reads neither contents nor items. Fields that no version has
    /// are no error here; [`super::Store::query`] reports them.
    ///
    /// # Errors
    /// Those of [`Query::check`].
    fn query(&self, query: &Query) -> Result<Vec<Version>>;

    /// Whether a version of any object, the latest or not, has a value at a path.
    ///
    /// # Errors
    /// `UNKNOWN_FIELD` as [`Query::check`].
    fn has_field(&self, path: &FieldPath) -> Result<bool>;

    /// Lists existing payload fields, and the members of those that are objects, in order. Meant for hints: it reads
    /// at most 10,000 versions and stops after about 1,000 fields.
    fn field_paths(&self) -> Result<Vec<FieldPath>>;

    /// Lists IDs that start with `prefix`, in order; at most `limit`.
    fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>>;

    /// The object that has a nickname.
    fn find_nickname(&self, nickname: &Nickname) -> Result<Option<ObjectId>>;

    /// The nicknames of an object, in order.
    fn nicknames(&self, id: &ObjectId) -> Result<Vec<Nickname>>;

    /// Lists the hashes of contents in order, those after `after`; at most `limit`.
    fn content_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>>;

    /// The full-text index; `None` if the backend has none.
    fn search_index(&self) -> Option<&dyn SearchIndex> {
        None
    }

    /// The index of relations; `None` if the backend has none.
    fn relation_index(&self) -> Option<&dyn RelationIndex> {
        None
    }

    /// Replaces stored data, all of it or nothing, and refuses contents with the hashes `banned` from then on. Only
    /// for commands that a person runs. [`Self::collect`] then drops the replaced data from the files.
    ///
    /// # Errors
    /// `CONFLICT` if the newest transaction is no longer `newest`; `INVALID_ARGUMENT` if the store lacks what is to
    /// be replaced.
    fn replace(&self, replacements: &[Replacement], banned: &[Hash], newest: TxId) -> Result<()>;

    /// Measures what [`Self::collect`] would drop.
    fn garbage(&self) -> Result<Garbage>;

    /// Drops everything that no version, item or object needs, so that no byte of it is left in the store's files,
    /// and returns free space to the file system. Keeps every version of every object. Only for commands that a
    /// person runs.
    fn collect(&self) -> Result<Garbage>;

    /// Counts and measures the store.
    fn size(&self) -> Result<Size>;

    /// Records that a person had a folder indexed, unless a folder is recorded that holds it.
    fn add_folder(&self, folder: &IndexedFolder) -> Result<()>;

    /// The recorded folders, in the order of their filesystems and paths.
    fn folders(&self) -> Result<Vec<IndexedFolder>>;

    /// Acknowledged transactions that were found missing, in the order of discovery.
    fn lost(&self) -> Result<Vec<Lost>> {
        Ok(Vec::new())
    }

    /// Checks what the contract cannot see: pages, indexes, references between rows. Reads only. Returns one text per
    /// problem.
    fn check_integrity(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Releases files and connections. Later calls fail with `CLOSED`. Idempotent.
    fn close(&self) -> Result<()>;
}
