//! "Never worse": at every call our bill is at most that of the plain host, plus a small share of it, a few tokens, and the cost
//! of the fixed overhead.

#![expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]

mod adversaries;
mod game;
mod transcripts;
