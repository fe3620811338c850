//! Memory: its files under kills, other writers, damage and folders that cannot be written. Tests here must not need a session.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../common/child.rs"]
mod child;
#[path = "../common/privilege.rs"]
mod privilege;
#[path = "../common/skip.rs"]
mod skip;

mod cited;
mod desk;
mod facts;
mod flush;
#[cfg(unix)]
mod flush_kill;
mod objects;
mod repository;
mod section;
