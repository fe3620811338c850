//! A session as memory sees it: its system prompt shows memory, and its model is told about
//! changes. Must not know what memory is.

use std::collections::BTreeSet;

use base::error::Result;

use crate::MemoryChange;

/// What stands in a session's system prompt and may become untrue between two calls.
pub trait Prompting: std::fmt::Debug + Send {
    /// Looks, before a call goes out, whether something of it did, and has the session tell the
    /// model. `prompt`: the system prompt, if the host gave it.
    ///
    /// # Errors
    /// What the store reports.
    fn before_call(&self, session: &mut dyn PromptedSession, prompt: Option<&str>) -> Result<()>;

    /// Answers what the model asks of it by a tool.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, `NO_PAGE`; where it does not answer in this session.
    fn asked(&self, question: &str) -> Result<String>;
}

/// A session whose system prompt includes memory, just before its next call.
pub trait PromptedSession {
    /// Whether changing the system prompt costs nothing now.
    fn is_cold(&self) -> bool;

    /// The tool by which the model asks, as it is called in this session; `None` if it has none, or
    /// the host did not say.
    fn asking_tool(&self) -> Option<String>;

    /// Paths of the files that the session knows besides these, as the agent sees them: whose text
    /// the model knows, that it edited, or that tool calls touched since the last request. Ascending.
    fn known_paths(&self, besides: &BTreeSet<String>) -> Vec<String>;

    /// Records that the next system prompt shows memory as it is. Stored when it returns.
    ///
    /// # Errors
    /// What the store reports.
    fn memory_rendered(&mut self) -> Result<()>;

    /// Records that memory changed and the system prompt does not show it, so that a later call
    /// tells the model. Stored when it returns.
    ///
    /// # Errors
    /// What the store reports.
    fn memory_changed(&mut self, changes: &[MemoryChange]) -> Result<()>;
}
