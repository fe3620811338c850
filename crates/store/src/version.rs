//! The data that a store holds, and the data written to it. Plain data; no policy, nothing about a
//! particular backend.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use base::object::{Envelope, Hash, Nickname, ObjectId, Origin, Redaction, Timestamp, TxId};

/// One version of an object, without its content, which [`super::Backend::content`] loads.
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
    /// Hash of the payload, see [`base::object::Payload::content_hash`].
    pub content_hash: Hash,
    /// Fields, which depend on the type.
    pub fields: Map<String, Value>,
    /// SHA-256 of the content's UTF-8 bytes, the key of [`super::Backend::content`]; `None` if the
    /// content is null.
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

/// The latest version that a put expects. It is compared first: of two writers that go from one
/// version to equal ones, the second gets `CONFLICT`, or a counter that both raise would lose a
/// step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Anything: the put always succeeds.
    Any,
    /// No version of the object.
    Absent,
    /// This version is the latest.
    Latest(TxId),
}

/// One element of a document's append-only list, and its line in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The element, as text (JSON in practice).
    pub text: String,
    /// Running hash of the list up to and including this element, as it was first written.
    #[serde(rename = "hash")]
    pub running_hash: Hash,
    /// SHA-256 of `text`, if text was removed from it and `running_hash` no longer covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// A change of a document's list: keeps the first `keep` items, then appends. Items beyond `keep`
/// stay visible as of earlier transactions.
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
    /// Where the version was first written, if it comes from another store; `None` for a new one. A
    /// version with an origin is written even if its payload equals the latest one's.
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
    /// The object was in this state already; holds its latest transaction. For removing a nickname
    /// that nobody has: the newest transaction.
    Unchanged(TxId),
}

/// Result of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The transaction's number; if nothing was written, that of the newest transaction (0 on an
    /// empty store).
    pub tx_id: TxId,
    /// That transaction's time (0 on an empty store).
    pub system_time: Timestamp,
    /// One outcome per operation, in order.
    pub outcomes: Vec<Outcome>,
}

/// The latest version of an object at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Its transaction.
    pub tx_id: TxId,
    /// What was taken out of it, if anything was.
    pub redacted: Option<Redaction>,
}
