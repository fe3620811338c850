//! Session files of other agents, replays of them, and what is learned from them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/data.rs"]
mod data;
#[path = "../../../../tests/common/skip.rs"]
mod skip;

mod found_sessions;
mod learn;
mod openclaw;
mod oracle;
mod session_files;
mod sessions;
