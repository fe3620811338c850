//! The state of versions and objects during an import, and the transactions planned. Plain data;
//! must not decide what is written.

use std::collections::{BTreeMap, HashSet};

use super::format::Key;
use crate::{Op, Version};
use base::object::item::partner;
use base::object::{Hash, ObjectId, ObjectType, Origin, Timestamp, TxId};

/// Why a version is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Refusal {
    /// The object was forgotten in this store.
    Forgotten,
    /// The store has another object under its ID.
    OtherObject,
    /// Its type or source belongs to a later release.
    UnknownType,
    /// It is complete in the archive; the store has it redacted and keeps it redacted.
    RedactedHere,
    /// It has no items, but the object's other versions do.
    WithoutItems,
    /// It holds text of a file that is excluded here.
    Excluded,
    /// Its time is over an hour ahead of this machine's.
    Ahead,
    /// It belongs to a session that continued differently here.
    Parted,
}

/// Transactions that are written together.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub transactions: Vec<Vec<Op>>,
    /// IDs of the versions that the store did not have, one per version.
    pub written: Vec<ObjectId>,
    /// Versions that the store had.
    pub present: u64,
    /// Versions written again.
    pub again: u64,
    pub refused: BTreeMap<(ObjectId, Refusal), u64>,
    /// Versions of the archive that the store has without some of their text, and their
    /// transactions in the store.
    pub incomplete: Vec<(usize, TxId)>,
    pub rows: u64,
    pub bytes: u64,
}

/// Where a version can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionSource {
    /// In the archive, by its index.
    Archive(usize),
    /// In the store, as of a transaction.
    Store(TxId),
}

/// A version: its identity, and where it can be read.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub key: Key,
    pub place: VersionSource,
    /// Number of its items; `None` if it has no list.
    pub items: Option<u64>,
    pub rank: Rank,
}

/// Order of versions by origin time, then store, transaction and hash; for a session, first by the
/// number of events, because a session only grows. The greatest is the right latest version, the
/// same in every store; but on request, a file's versions that this store saw itself rank above all
/// versions from others.
pub(super) type Rank = (u64, Timestamp, String, TxId, Hash);

/// The state of an object after everything planned so far.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub identity_hash: Option<Hash>,
    /// Transaction of the latest version before the current chunk.
    pub latest: Option<TxId>,
    pub last: Option<Placed>,
    pub newest: Option<Placed>,
    /// Its versions, and those that the current chunk puts.
    pub known: HashSet<Key>,
    /// A chat's session.
    pub session: Option<ObjectId>,
    /// Its versions before the import, newest first, where they were read for many objects at once.
    pub history: Vec<Version>,
    /// Whether the current chunk puts the object.
    pub is_put: bool,
}

impl Chunk {
    /// Counts a version that is left out.
    pub(super) fn refuse(&mut self, id: &ObjectId, refusal: Refusal) {
        *self.refused.entry((id.clone(), refusal)).or_default() += 1;
    }
}

/// A version of the store. `is_seen`: for a file, whether it ranks above all versions from others.
pub(super) fn in_store(version: &Version, is_seen: bool) -> Placed {
    let events = (version.envelope.kind == ObjectType::Session).then_some(version.item_count);
    Placed {
        key: Key::of(&version.envelope.id, &version.content_hash, &version.origin),
        place: VersionSource::Store(version.tx_id),
        items: version.items_hash.as_ref().map(|_| version.item_count),
        rank: rank(events.or(is_seen.then_some(1)), &version.origin, &version.content_hash),
    }
}

/// The rank of a version. `first`: for a session, its number of events.
pub(super) fn rank(first: Option<u64>, origin: &Origin, content_hash: &Hash) -> Rank {
    (
        first.unwrap_or_default(),
        origin.time,
        origin.store_id.clone(),
        origin.tx_id,
        content_hash.clone(),
    )
}

/// The chat that a session's version names.
pub(super) fn chat_of(version: &Version) -> Option<ObjectId> {
    let kind = version.envelope.kind;
    partner(kind, &version.fields).filter(|_| kind == ObjectType::Session)
}

/// The session that a chat's version names.
pub(super) fn session_of(version: &Version) -> Option<ObjectId> {
    let kind = version.envelope.kind;
    partner(kind, &version.fields).filter(|_| kind == ObjectType::Chat)
}
