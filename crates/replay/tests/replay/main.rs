//! Session files of other agents, their replays, and what is learned from them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/bound.rs"]
mod bound;
#[path = "../../../../tests/common/recorded.rs"]
mod recorded;

mod claude_code;
mod found_sessions;
mod hosts;
mod learn;
mod openclaw;
mod oracle;
mod readers;
mod recorded_bill;
mod session_files;
mod sessions;

/// A database of another program, for writing. Our reading replaces the locks of the process, and
/// never while a connection is at work.
fn opened(path: impl AsRef<std::path::Path>) -> rusqlite::Result<rusqlite::Connection> {
    store::install_locks();
    rusqlite::Connection::open(path)
}
