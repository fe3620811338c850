//! A session as memory sees it: whose system prompt holds memory, and who is told what changed. Must not know what memory is.

use base::error::Result;

use crate::MemoryChange;

/// A session of which memory is a part of the system prompt, at the moment of its next call.
pub trait PromptedSession {
    /// Whether another system prompt costs nothing now.
    fn is_cold(&self) -> bool;

    /// Paths of the files whose text the model knows or that it edited, as the agent sees them.
    fn known_paths(&self) -> Vec<String>;

    /// The next system prompt holds memory as it is. Stored when it returns.
    ///
    /// # Errors
    /// What the store reports.
    fn memory_rendered(&mut self) -> Result<()>;

    /// Memory changed and the system prompt does not hold that: a coming call tells the model. Stored when it returns.
    ///
    /// # Errors
    /// What the store reports.
    fn memory_changed(&mut self, changes: &[MemoryChange]) -> Result<()>;
}
