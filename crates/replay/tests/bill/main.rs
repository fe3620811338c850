//! What sessions cost: the bill on recorded sessions, and "never worse" at every call.
//!
//! Plays many hours of sessions, so it is compiled with optimisation: `npm test -- --bill-only`.
//! `crates/replay/tests/replay/recorded_bill.rs` checks a smaller part on fewer sessions in every run.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]
#![expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]

#[path = "../../../../tests/common/bound.rs"]
mod bound;

mod adversaries;
mod game;
mod recorded;
mod table;
