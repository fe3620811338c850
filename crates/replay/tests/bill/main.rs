//! What sessions cost: the bill on recorded sessions, and "never worse" at every call.
//!
//! Plays many hours of sessions, so `npm test` compiles it with optimisation: `npm test -- --bill-only`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]
#![expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]

#[path = "../../../../tests/common/data.rs"]
mod data;
#[path = "../../../../tests/common/skip.rs"]
mod skip;

mod adversaries;
mod game;
mod recorded;
mod table;
