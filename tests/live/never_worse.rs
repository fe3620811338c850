//! "Never worse" (DESIGN.md section 7, rule 3): at every call our bill is at most that of the plain host and a small share of
//! it, a few tokens, and what the fixed overhead cost.

#![expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]

mod adversaries;
mod game;
mod transcripts;
