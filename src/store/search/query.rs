//! Asking a store's index: the contract between the front and the backends that have one. Plain data.

use std::fmt::Debug;

use super::Expression;
use crate::error::Result;
use crate::object::{ObjectId, ObjectType, TxId};

/// What is looked through. Empty conditions hold for everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Object types; empty for all.
    pub kinds: Vec<ObjectType>,
    /// A session as its ID names it, without `session:`: its chat, toolcalls, notes and system prompt. Files belong to none.
    pub session: Option<String>,
    /// Files whose path starts with this.
    pub path_prefix: Option<String>,
    /// Whether texts that objects had before are looked through too.
    pub all_versions: bool,
}

/// Where in an object something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundIn {
    /// In a version's name, content or fields.
    Version,
    /// In a nickname.
    Nickname,
    /// In the item at this position.
    Item(u64),
}

/// One row of the index that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The object.
    pub id: ObjectId,
    /// Its type.
    pub kind: ObjectType,
    /// Newest version with these texts; for an item the transaction that added it; for a nickname the latest version.
    pub tx_id: TxId,
    /// Where.
    pub part: FoundIn,
    /// Whether the object has it now, as far as is indexed.
    pub is_latest: bool,
    /// Above 0; higher is better. Comparable within one search only.
    pub score: f64,
}

/// What a backend found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundRows {
    /// The best, best first.
    pub best: Vec<Found>,
    /// How many were ranked.
    pub total: u64,
    /// Whether these are all that fit. False where a search had only words that stand in very many rows: then the newest of
    /// them were ranked.
    pub is_complete: bool,
}

/// A full-text index of what a backend stores. Derived: it can always be made anew, and is filled when it is asked, not when
/// something is committed.
pub trait SearchIndex: Debug + Send + Sync {
    /// Indexes all that is stored, in several short write transactions where it is much. Several processes may do it at once.
    ///
    /// # Errors
    /// Where the store cannot be written: what was indexed before stands.
    fn catch_up(&self) -> Result<()>;

    /// Number of versions that are not indexed yet.
    fn unindexed(&self) -> Result<u64>;

    /// Finds the rows that have at least one wanted unit and no excluded one: at most `limit`, best first.
    fn find(
        &self,
        expression: &Expression,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<FoundRows>;

    /// Makes the index of some objects anew from what is stored of them now. Afterwards no term that only they had is left,
    /// in free space neither. For whoever removes or changes what was stored; takes time in proportion to the whole index.
    fn reindex(&self, ids: &[ObjectId]) -> Result<()>;

    /// Empties the index; the next [`Self::catch_up`] makes it anew.
    fn clear(&self) -> Result<()>;
}
