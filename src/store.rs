//! Versioned objects on a backend: the [`Backend`] contract and the typed [`Store`] front.
//!
//! Only backends know SQL or HTTP. Nothing stored is changed or removed here. Sources: DESIGN.md sections 2 and 4.

mod backend;
mod front;
mod memory;
mod relations;
mod rules;
mod sqlite;
mod transaction;

pub use backend::{
    Backend, Expected, Item, Op, Outcome, PlacedItem, Put, Receipt, Splice, Version,
};
pub use front::{Clock, Store};
pub use memory::MemoryBackend;
pub(crate) use relations::slashed;
pub use relations::{
    Pin, PlacedRelation, Relation, RelationIndex, RelationKind, RelationPlace, Written,
};
pub use sqlite::{Journal, SqliteBackend};
pub use transaction::Transaction;
