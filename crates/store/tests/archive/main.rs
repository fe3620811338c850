//! Archives: out of one store and into another, whole or in part, merged, redacted, damaged.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/recorded.rs"]
mod recorded;

mod calls;
mod content;
mod document;
mod foreign;
mod fuzz;
mod merge;
mod redaction;
mod scope;
mod world;
