//! Markdown texts and the graph of their links, on synthetic texts and on real vaults. Tests here
//! must not need a session.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod links;
mod markdown_properties;
mod markdown_vaults;
mod vaults;
