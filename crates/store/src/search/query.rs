//! The contract between the front and backends with a full-text index. Plain data.

use std::fmt::Debug;
use std::time::Duration;

use super::Expression;
use base::error::Result;
use base::object::{ObjectId, ObjectType, TxId};

/// What to search. Empty conditions match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Object types; empty for all.
    pub kinds: Vec<ObjectType>,
    /// A session by its ID without `session:`: its chat, toolcalls, notes and system prompt. Files
    /// belong to no session.
    pub session: Option<String>,
    /// Files whose path starts with this.
    pub path_prefix: Option<String>,
    /// Whether to search earlier texts of objects too.
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

/// One matching row of the index.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundText {
    /// The object.
    pub id: ObjectId,
    /// Its type.
    pub kind: ObjectType,
    /// Newest version with these texts; for an item, the transaction that added it; for a nickname,
    /// the latest version.
    pub tx_id: TxId,
    /// Where.
    pub part: FoundIn,
    /// Whether the object has it now, as far as indexed.
    pub is_latest: bool,
    /// Above 0; higher is better. Comparable within one search only.
    pub score: f64,
}

/// The result of a backend's search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundRows {
    /// The best rows, best first.
    pub best: Vec<FoundText>,
    /// Number of rows that were ranked.
    pub total: u64,
    /// Whether all matching rows were ranked. False for a search with only very common words: then
    /// only the newest rows were.
    pub is_complete: bool,
}

/// A full-text index. It is derived data that can always be rebuilt, and is filled after
/// commits or by searches, never within a commit.
pub trait SearchIndex: Debug + Send + Sync {
    /// Indexes what is not indexed yet, in short write transactions, for as long as `patience`;
    /// returns whether all is indexed. Several processes may do so at once.
    ///
    /// # Errors
    /// If the store cannot be written; what was indexed before stays.
    fn catch_up(&self, patience: Option<Duration>) -> Result<bool>;

    /// Number of versions that are not indexed yet.
    fn unindexed(&self) -> Result<u64>;

    /// The objects of these versions.
    fn unindexed_objects(&self) -> Result<Vec<ObjectId>>;

    /// The objects of the first `limit` rows that hold these terms in a row, and whether there may
    /// be more. `in_name`: only those that hold them in their name.
    fn holding(
        &self,
        terms: &[String],
        in_name: bool,
        limit: usize,
    ) -> Result<(Vec<ObjectId>, bool)>;

    /// Finds the rows that have at least one wanted unit and no excluded one: at most `limit`, best
    /// first.
    fn find(
        &self,
        expression: &Expression,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<FoundRows>;
}
