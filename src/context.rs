//! What the model sees on a call: built from the session's state as pure functions of (state, event, settings).
//!
//! Must not do I/O or read the clock inside a decision. Sources: DESIGN.md sections 3, 7 and 8.

pub mod tokens;
