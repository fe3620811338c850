//! Palimpsest: a context manager and memory for LLM agents.
//!
//! It decides what the model sees on every call: versioned objects and references instead of the same texts sent again and
//! again. The modules are the layers in `ARCHITECTURE.md`, which says which may use which.

pub mod addon;
pub mod context;
pub mod error;
pub mod graph;
pub mod harness;
pub mod live;
pub mod markdown;
pub mod memory;
pub mod object;
pub mod replay;
pub mod session;
pub mod settings;
pub mod source;
pub mod store;
pub mod tools;

pub use error::{Error, Result};
