//! ARCHITECTURE.md, the manifests of the crates and the pages of docs/ against each other. Tests here read texts alone.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod crates;
mod pages;
