//! Files on a real filesystem: where they are, what version they should have, how they are tracked
//! while they change. Tests here must not need a session.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/tracked.rs"]
mod tracked;

mod indexing;
mod lineage;
#[cfg(unix)]
mod mounts;
mod tracking;
mod tracking_bursts;
mod tracking_properties;
