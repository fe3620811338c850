//! The contract between the front and backends with a full-text index. Plain data.

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
