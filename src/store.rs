//! Versioned objects on a backend: the [`Backend`] contract and the typed [`Store`] front.
//!
//! Only backends know SQL or HTTP. Nothing stored is changed or removed but by `forget` and `gc`, which a person asks for. Sources: DESIGN.md sections 2 and 4.

mod backend;
mod forget;
mod front;
mod gc;
mod memory;
mod relations;
mod rules;
mod sqlite;
mod stats;
mod transaction;

pub use backend::{
    Backend, Expected, Garbage, Item, Op, Outcome, Part, PlacedItem, Put, Receipt, Replacement,
    Size, Splice, Version,
};
pub use forget::{ForgetOptions, ForgetReport, Holder, HostSession};
pub use front::{Clock, Store};
pub use memory::MemoryBackend;
pub(crate) use relations::slashed;
pub use relations::{
    Pin, PlacedRelation, Relation, RelationIndex, RelationKind, RelationPlace, Written,
};
pub use sqlite::{Journal, SqliteBackend};
pub use stats::Stats;
pub use transaction::Transaction;
