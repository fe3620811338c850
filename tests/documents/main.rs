//! ARCHITECTURE.md and the pages of docs/ against the code. Tests here read texts and sources alone.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod circles;
mod layers;
mod pages;
mod sources;
