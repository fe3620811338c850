//! The words of the project, as plain data: objects, references, hashes and payloads ([`object`]), errors with stable codes ([`error`]),
//! what Markdown says ([`markdown`]), and what a tool call of a harness does ([`harness`]).
//!
//! Every other crate stands on this one. Must not read or write anything, nor know a store, a session or a host. Read [`object`] first.

pub mod clock;
pub mod error;
pub mod harness;
pub mod markdown;
pub mod object;
pub mod path;

pub use error::{Error, Result};
