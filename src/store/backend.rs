//! The contract that every backend fulfils. Plain data in and out; no policy, no knowledge of any backend.

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

/// One version of an object, without its content: that is loaded apart, by [`Backend::content`].
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
    /// Fields by type.
    pub fields: Map<String, Value>,
    /// SHA-256 of the content's UTF-8 bytes, under which it is kept; `None` where the content is null.
    pub content: Option<Hash>,
    /// Number of items (chat messages, session events); 0 for other documents.
    pub item_count: u64,
    /// Running hash of the items; `None` for documents without items.
    pub items_hash: Option<Hash>,
    /// SHA-256 of each additional content, under which it is kept, by name.
    pub additional: BTreeMap<String, Hash>,
    /// What was taken out of it, if anything was.
    pub redacted: Option<Redaction>,
}

/// What a put expects to find. A put that changes nothing is [`Outcome::Unchanged`] whatever it expects: of two
/// concurrent equal puts the second finds its wish fulfilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Anything: the put always succeeds.
    Any,
    /// No version of the object.
    Absent,
    /// This latest version.
    Latest(TxId),
}

/// One element of a document's append-only list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The element, as text (JSON in practice).
    pub text: String,
    /// Running hash of the list up to and including this element, as it was written first.
    pub running_hash: Hash,
    /// SHA-256 of `text` where that is no longer what `running_hash` covers: something was taken out of it.
    pub redacted: Option<Hash>,
}

/// An element with the transactions at which it stands in its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedItem {
    /// Place in the list, from 0.
    pub position: u64,
    /// First transaction at which it stands there.
    pub from: TxId,
    /// First transaction at which it no longer does; `None` while it does.
    pub until: Option<TxId>,
    /// The element.
    pub item: Item,
}

/// A change of a document's list: keep the first `keep` items, then append. Items beyond `keep` stay visible to reads as
/// of earlier transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// How many items stay; at most the present number.
    pub keep: u64,
    /// Items that follow.
    pub add: Vec<Item>,
}

/// A new version of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Put {
    /// The immutable part; equal to that of earlier versions.
    pub envelope: Envelope,
    /// Hash of the raw source bytes.
    pub source_hash: Option<Hash>,
    /// Hash of the payload.
    pub content_hash: Hash,
    /// Fields by type.
    pub fields: Map<String, Value>,
    /// The content and its SHA-256.
    pub content: Option<(Hash, String)>,
    /// Change of the items; `None` leaves them as they are.
    pub items: Option<Splice>,
    /// Additional contents by name, each with its SHA-256.
    pub additional: BTreeMap<String, (Hash, String)>,
    /// Where the version was first written, for one that comes from another store; `None` for a new one. A version with an
    /// origin is written even where its payload equals the latest's.
    pub origin: Option<Origin>,
    /// What was taken out of it, for a version that comes redacted from another store.
    pub redacted: Option<Redaction>,
    /// What the put expects to find.
    pub expected: Expected,
}

/// One operation of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Writes a version, unless `content_hash` and `source_hash` both equal the latest's.
    Put(Box<Put>),
    /// Gives a nickname to an object that the store holds after this transaction, or takes it away (`None`).
    Name {
        /// The nickname; unique in the store.
        nickname: Nickname,
        /// The object that has it from now on.
        id: Option<ObjectId>,
    },
}

/// What became of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A version was written.
    Written,
    /// The object already was in this state; its latest version is named. For a nickname that nothing had and nothing
    /// gets: the newest transaction.
    Unchanged(TxId),
}

/// What became of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The transaction's number; that of the newest transaction (0 on an empty store) where nothing was written.
    pub tx_id: TxId,
    /// That transaction's time (0 on an empty store).
    pub system_time: Timestamp,
    /// One outcome per operation, in order.
    pub outcomes: Vec<Outcome>,
}

/// A change of what is stored, for explicit commands of a person alone: nothing else changes or removes anything.
#[derive(Debug, Clone, PartialEq)]
pub enum Replacement {
    /// Takes text out of a version. Its hashes, times and items stay.
    Version {
        /// The object.
        id: ObjectId,
        /// The version's transaction.
        tx_id: TxId,
        /// The fields from now on.
        fields: Map<String, Value>,
        /// The content from now on, with its SHA-256.
        content: Option<(Hash, String)>,
        /// The additional contents from now on.
        additional: BTreeMap<String, (Hash, String)>,
        /// Why, and the hash of what is there now.
        redacted: Redaction,
    },
    /// Takes text out of an item that is or was in a list.
    Item {
        /// The object.
        id: ObjectId,
        /// Place in the list.
        position: u64,
        /// First transaction at which it stands there.
        from: TxId,
        /// The item from now on: with the running hash that it has, and `redacted` set.
        item: Item,
    },
    /// Marks an object forgotten: it gets no further version. Its nicknames go, and its source, whose path may be private.
    Forgotten {
        /// The object.
        id: ObjectId,
    },
}

impl Replacement {
    /// The object that it concerns.
    pub fn id(&self) -> &ObjectId {
        match self {
            Self::Version { id, .. } | Self::Item { id, .. } | Self::Forgotten { id } => id,
        }
    }
}

/// What [`Backend::collect`] would drop, or dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Contents that no version has.
    pub contents: u64,
    /// Their UTF-8 bytes.
    pub content_bytes: u64,
    /// Bytes of files before.
    pub bytes_before: u64,
    /// Bytes of files after; before the fact, what is certain at least to be given back subtracted.
    pub bytes_after: u64,
    /// Whether a reader of an older state, in this process or another, keeps dropped text in the log until it is collected
    /// again.
    pub waits_for_readers: bool,
}

/// A part of a store and its bytes on disk.
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
    /// Objects that were forgotten, among those.
    pub forgotten: u64,
    /// Versions.
    pub versions: u64,
    /// Items, those that no longer stand in their list included.
    pub items: u64,
    /// Contents.
    pub contents: u64,
    /// UTF-8 bytes of contents, items and fields, before compression.
    pub plain_bytes: u64,
    /// Bytes of the file; 0 in memory.
    pub file_bytes: u64,
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// Bytes of the file that are free.
    pub free_bytes: u64,
    /// Bytes by table and index, largest first.
    pub parts: Vec<Part>,
}

/// Acknowledged transactions that a backend found missing when it was opened: something outside the program removed or
/// damaged what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The store that held them: this one, or one that stood in its place before.
    pub store_id: String,
    /// The first transaction that is missing.
    pub from: TxId,
    /// The last one.
    pub to: TxId,
    /// When it was noticed.
    pub noticed: Timestamp,
}

/// Stores versions of objects. Implementations keep every version and are checked by one contract test body.
///
/// Shaped for a remote server as well as for a file: whole documents and list elements by ID, no joins, no iteration
/// over everything. Calls block; callers are on worker threads.
pub trait Backend: Debug + Send + Sync {
    /// Short name for messages: `memory`, `sqlite`.
    fn name(&self) -> &'static str;

    /// ID of this store, made when it was created; part of a version's portable identity.
    fn store_id(&self) -> &str;

    /// Applies all operations or none, as one transaction: [`Self::commit_all`] of one.
    fn commit(&self, ops: &[Op], now: Timestamp) -> Result<Receipt> {
        let receipts = self.commit_all(&[ops], now)?;
        receipts.into_iter().next().ok_or_else(|| Error::internal("a transaction has no receipt"))
    }

    /// Applies transactions in order, each with one `tx_id` and one `system_time`; all of them or none. Nobody sees a state
    /// between them. One receipt each.
    ///
    /// `now`: the wall clock; where it stands before the newest transaction's time, that time is used instead.
    /// `tx_id`s grow, with gaps allowed; the first is at least 1. Durable when it returns.
    ///
    /// # Errors
    /// `FORGOTTEN` if a put goes to an object that was forgotten or brings a content that is not to be stored again;
    /// `CONFLICT` carrying the winner if a put's expectation fails; `INVALID_ARGUMENT` if one object is put twice, a text has
    /// more than 256 MiB, a field has more than 100 levels or a name of [`crate::object::RESERVED_FIELDS`], an envelope
    /// differs from that of earlier versions, a hash is malformed, a splice keeps more items than there are, or a nickname
    /// goes to an unknown object; `INVALID_NICKNAME` if another object has it. The shape of all transactions is judged
    /// first. Puts apply before names, each in their order; the first that fails decides the error.
    fn commit_all(&self, transactions: &[&[Op]], now: Timestamp) -> Result<Vec<Receipt>>;

    /// Number and time of the newest transaction; zeros on an empty store.
    fn newest(&self) -> Result<(TxId, Timestamp)>;

    /// Reads the version of `id` visible at `at`. `None` if there is none.
    fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>>;

    /// Lists versions of `id`, newest first.
    fn history(&self, id: &ObjectId) -> Result<Vec<Version>>;

    /// Reads a content by its hash. `None` if the store does not hold it.
    fn content(&self, hash: &Hash) -> Result<Option<String>>;

    /// Reads the items of `id` at positions `range` (clipped) as visible at `at`, in order.
    fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>>;

    /// Reads the items that ever stood at positions `range` of `id`, by position, then transaction.
    fn placed_items(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>>;

    /// Lists versions of all objects in the order in which they were written, those of transactions after `after`; whole
    /// transactions, as many as reach `limit` versions, at least one.
    fn changes(&self, after: TxId, limit: usize) -> Result<Vec<Version>>;

    /// Lists the versions of `id` that were first written in one transaction of one store, newest first; one that was put
    /// again is listed each time. The origin's time is no part of the question.
    fn find_origin(&self, id: &ObjectId, origin: &Origin) -> Result<Vec<Version>> {
        let same = |version: &Version| {
            version.origin.store_id == origin.store_id && version.origin.tx_id == origin.tx_id
        };
        Ok(self.history(id)?.into_iter().filter(same).collect())
    }

    /// Lists the latest versions of objects of one type, by ID, that come after `after`; at most `limit`.
    fn list(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<Version>>;

    /// Finds versions by their metadata, see [`Query`]. Reads neither contents nor items. A payload field that a version lacks
    /// is missing there, also where no version has it.
    ///
    /// # Errors
    /// Those of [`Query::check`].
    fn query(&self, query: &Query) -> Result<Vec<Version>>;

    /// Whether a version of any object, the latest or not, has a value at a path.
    ///
    /// # Errors
    /// `UNKNOWN_FIELD` as [`Query::check`].
    fn has_field(&self, path: &FieldPath) -> Result<bool>;

    /// Lists payload fields that there are, with the members of those that are objects, in order: enough for a hint, at most
    /// about 1,000 of at most 10,000 versions.
    fn field_paths(&self) -> Result<Vec<FieldPath>>;

    /// Lists IDs that start with `prefix`, in order; at most `limit`.
    fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>>;

    /// The object that has a nickname.
    fn find_nickname(&self, nickname: &Nickname) -> Result<Option<ObjectId>>;

    /// The nicknames of an object, in order.
    fn nicknames(&self, id: &ObjectId) -> Result<Vec<Nickname>>;

    /// Lists the hashes of all contents, in order, that come after `after`; at most `limit`.
    fn content_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>>;

    /// The backend's full-text index; `None` where it has none.
    fn search_index(&self) -> Option<&dyn SearchIndex> {
        None
    }

    /// The backend's index of relations; `None` where it has none.
    fn relation_index(&self) -> Option<&dyn RelationIndex> {
        None
    }

    /// Replaces what is stored, all of it or nothing, and from then on refuses contents with the hashes `banned`. For
    /// explicit commands of a person alone. What is replaced is dropped by [`Self::collect`], and not yet here.
    ///
    /// # Errors
    /// `CONFLICT` if the newest transaction is no longer `newest`; `INVALID_ARGUMENT` if something replaced is not there.
    fn replace(&self, replacements: &[Replacement], banned: &[Hash], newest: TxId) -> Result<()>;

    /// Finds what no version, item or object needs, without dropping it.
    fn garbage(&self) -> Result<Garbage>;

    /// Drops it so that no byte of it is left in the store's files, and gives free space back. Every version of every object
    /// stays. For explicit commands of a person alone.
    fn collect(&self) -> Result<Garbage>;

    /// Counts and measures.
    fn size(&self) -> Result<Size>;

    /// Acknowledged transactions that were found missing, in the order in which it was noticed.
    fn lost(&self) -> Result<Vec<Lost>> {
        Ok(Vec::new())
    }

    /// Checks what the contract cannot see: pages, indexes, rows that name others. Reads only. One text per problem.
    fn check_integrity(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Releases files and connections. Later calls fail with `CLOSED`. Idempotent.
    fn close(&self) -> Result<()>;
}
