//! Object IDs and how they are made.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Stable ID of an object.
///
/// Sourced objects: 64 hexadecimal digits, see [`crate::object::Envelope::sourced`]. Toolcalls: the
/// provider's call ID, or a UUIDv7. The rest: `chat:{session}`, `session:{session}`,
/// `system_prompt:{session}`, `chat_segment:{session}:{first}-{last}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(String);

/// What comes before a session's own ID in that of its document.
const SESSION: &str = "session:";

/// The ID of a session as hosts write it: that of its document, without `session:`.
pub fn session_name(id: &str) -> &str {
    id.strip_prefix(SESSION).unwrap_or(id)
}

impl ObjectId {
    /// Takes an ID as it is: one read from a store, or a provider's call ID.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The chat of a session.
    pub fn chat(session: &str) -> Self {
        Self(format!("chat:{session}"))
    }

    /// The session document.
    pub fn session(session: &str) -> Self {
        Self(format!("{SESSION}{session}"))
    }

    /// The system prompt of a session.
    pub fn system_prompt(session: &str) -> Self {
        Self(format!("system_prompt:{session}"))
    }

    /// A run of messages of a session's chat, both ends included.
    pub fn chat_segment(session: &str, first: u64, last: u64) -> Self {
        Self(format!("chat_segment:{session}:{first}-{last}"))
    }

    /// The ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
