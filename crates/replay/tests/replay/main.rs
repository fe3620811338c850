//! Session files of other agents, replays of them, and what is learned from them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/bound.rs"]
mod bound;
#[path = "../../../../tests/common/recorded.rs"]
mod recorded;

mod found_sessions;
mod learn;
mod openclaw;
mod oracle;
mod recorded_bill;
mod session_files;
mod sessions;
