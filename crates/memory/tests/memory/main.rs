//! Memory: its files under kills, other writers, damage and read-only folders, and what recall
//! finds in them. Tests here must not need a session.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod asked;
mod cited;
mod desk;
mod facts;
mod flush;
#[cfg(unix)]
mod flush_kill;
mod locomo;
mod many;
mod marks;
mod objects;
mod recall;
mod repository;
mod section;
mod teams;
mod trusted;
mod unanswered;
