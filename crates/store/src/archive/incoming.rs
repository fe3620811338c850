//! Versions to merge into a store, in the order of the store they come from, wherever their texts
//! are read. Must not know what the store holds.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::format::{Key, VersionLine};
use super::standing::Refusal;
use crate::Item;
use base::error::Result;
use base::object::{Hash, Nickname, ObjectId, ObjectType, Origin};

/// Versions from elsewhere, addressed by their index in [`Arrivals::entries`].
pub(super) trait Incoming {
    /// A version in its archive form.
    fn version(&mut self, version: usize) -> Result<VersionLine>;

    /// The fields of a call there, and whether some of its text was replaced; `None` for an ID that
    /// is not known to be a call's. `latest`: its latest version among those that come, if any is.
    fn call(&mut self, id: &ObjectId, latest: Option<usize>) -> Result<Option<Call>>;

    /// The text of a content that one of the versions names.
    fn content(&mut self, hash: &Hash) -> Result<String>;

    /// The running hash of a version's list up to and including `position`; `None` if the list is
    /// shorter.
    fn hash_at(&self, version: usize, position: u64) -> Result<Option<Hash>>;

    /// The items of a version from a position on.
    fn items(&mut self, version: usize, from: u64) -> Result<Vec<Item>>;
}

/// The fields of a call, and whether some of its text was replaced.
pub(super) type Call = (Map<String, Value>, bool);

/// What comes from another store, without its texts.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// The versions, each once.
    pub entries: Vec<Entry>,
    /// The transactions of the store they come from, in its order.
    pub transactions: Vec<Vec<Member>>,
    /// The latest version of each object in that store.
    pub latest: HashMap<ObjectId, usize>,
    /// Nicknames that come with them.
    pub nicknames: Vec<(Nickname, ObjectId)>,
}

/// A version in a transaction: its index, and whether this is its first transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub version: usize,
    pub is_new: bool,
}

/// A version from elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub id: ObjectId,
    /// `None` if this program does not know the type or the source; such a version is not taken.
    pub kind: Option<ObjectType>,
    pub identity_hash: Hash,
    pub content_hash: Hash,
    pub origin: Origin,
    pub key: Key,
    pub is_redacted: bool,
    /// Why it is not taken, whatever the store holds.
    pub refused: Option<Refusal>,
    /// Number of its items; `None` if it has no list.
    pub items: Option<u64>,
    /// For a session its chat, for a chat its session; see [`super::merge`].
    pub partner: Option<ObjectId>,
    /// For a session: the chat's version in the same transaction or before.
    pub beside: Option<usize>,
}

impl Arrivals {
    /// Begins the next transaction.
    pub(super) fn begin(&mut self) {
        self.pair();
        self.transactions.push(Vec::new());
    }

    /// Adds a version to the transaction begun last.
    pub(super) fn join(&mut self, id: &ObjectId, member: Member) {
        self.latest.insert(id.clone(), member.version);
        self.transactions.last_mut().into_iter().for_each(|members| members.push(member));
    }

    /// Records the chat's version beside each session of the last transaction, which is whole.
    pub(super) fn pair(&mut self) {
        let members = self.transactions.last().into_iter().flatten();
        for member in members.filter(|member| member.is_new) {
            let entry = &mut self.entries[member.version];
            if entry.kind == Some(ObjectType::Session) {
                let chat = entry.partner.as_ref().and_then(|chat| self.latest.get(chat));
                entry.beside = chat.copied();
            }
        }
    }
}
