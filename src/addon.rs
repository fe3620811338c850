//! The Node addon: converts, calls the core, converts back. The only place that names napi.
//!
//! Whatever touches disk runs on a worker thread and returns a promise ([`blocking`]). Errors carry the core's codes, and
//! no panic gets past this layer. Must not decide anything about the domain.
//!
//! Arguments are napi's objects, which are checked ([`argument`]). Answers are JSON that serde makes of the core's own types
//! ([`blocking::Answer`]); `types` describes them. The hand-written JavaScript in `lib/` wraps what is exported here: it
//! finds what is new in the host's list, so that only that crosses, and builds the list that goes out.
pub mod archive;
pub mod argument;
pub mod blocking;
pub mod calls;
mod compaction;
mod crossing;
pub mod doctor;
pub mod forget;
pub mod graph;
pub mod index;
pub mod learn;
pub mod ledger;
pub mod maintenance;
pub mod memory;
mod memory_upkeep;
mod memory_writes;
pub mod names;
pub mod objects;
mod progress;
pub mod query;
pub mod recall;
mod recorded;
pub mod relation;
pub mod replay;
mod running;
pub mod search;
pub mod session;
pub mod sessions;
mod sets;
pub mod settings;
mod shared;
pub mod sharing;
pub mod store;
pub mod timeline;
pub mod tools;
pub mod tracking;
mod trackings;
pub mod trust;
pub mod version;
