//! The Node addon of Palimpsest: a context manager and memory for LLM agents, which decides what the model sees on every call.
//!
//! The layers are crates in `crates/`; ARCHITECTURE.md says what each is for. Here is only the border to Node.

pub mod addon;
