//! Versioned objects on a backend: the [`Backend`] contract and the typed [`Store`] front.
//!
//! Only the backend in `sqlite` knows SQL; the one that knows HTTP is the crate `xtdb`. Only
//! `forget` and `gc`, which a person runs, change or remove stored data. Must not know a session:
//! `base::object::item` defines what its items hold. Read [`Backend`] first, then [`Store`].

mod aged;
pub mod archive;
mod backend;
mod backup;
mod derived;
mod diff;
pub mod doctor;
mod forget;
mod front;
mod gc;
mod lineage;
mod names;
mod put;
pub mod query;
mod relations;
pub mod rules;
mod search;
mod sqlite;
mod transaction;
mod upkeep;
mod verified;
mod version;

pub use aged::Aged;
pub use archive::{
    ArchiveScope, ChangedLatest, ExportOptions, Exported, ImportOptions, Imported, IsExcluded,
    LeftOut, OnProgress, PartedSession, Progress, Stage, copied_from, provided_id,
};
pub use archive::{MAX_WINDOW_LOG, max_expanded};
pub use backend::Backend;
pub use backup::Backup;
pub use diff::{DEFAULT_DIFF_CONTEXT, Difference};
pub use forget::{ForgetOptions, ForgetReport, Holder, HostSession};
pub use front::{Clock, Stats, Store};
pub use gc::GcOptions;
pub use lineage::MOVED_FROM;
pub use names::{MAX_CANDIDATES, Named};
pub use put::NewVersion;
pub use query::{Comparison, Condition, Glob, Literal, Order, Query, Test};
pub use relations::slashed;
pub use relations::{
    HANDLES, PREFIX_DIGITS, Pin, PlacedRelation, Properties, Relation, RelationKind, RelationPlace,
    Written, is_markdown_type, named,
};
pub use search::{
    Expression, FoundIn, FoundRows, FoundText, MAX_UNITS, SearchFilter, SearchHit, SearchQuery,
    SearchResults, SnippetLine,
};
pub use search::{
    Phrase, Ranking, SearchUnit, TermKind, each_term, inverse_frequency, session_of, snippet,
    term_frequency,
};
use sqlite::IN_MEMORY;
pub use sqlite::install_locks;
pub use sqlite::{Dropping, HoldingRow, JournalMode, SqliteBackend};
pub use transaction::Transaction;
pub use upkeep::{
    Change, Garbage, Growth, IndexedFolder, Lost, Replaced, Replacement, SearchedOutputs,
    StorePart, StoreSize,
};
pub use version::{Expected, Glance, Item, Op, Outcome, PlacedItem, Put, Receipt, Splice, Version};
