//! The project's vocabulary as plain data: objects, references, hashes and payloads ([`object`]),
//! errors with stable codes ([`error`]), the structure of Markdown ([`markdown`]), and what a
//! harness's tool calls do ([`harness`]).
//!
//! Every other crate builds on this one. Must not do I/O or know a store, a session or a host. Read
//! [`object`] first.

pub mod clock;
pub mod error;
pub mod harness;
pub mod markdown;
pub mod object;
pub mod path;
mod sync;

pub use error::{Error, Result};
pub use sync::lock;
