//! One small record per message, kept up to date by events, because the decision about an epoch
//! looks at every message before each call. Must not decide anything.

/// A message as the epoch decision first sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChatPlace {
    /// Its step.
    pub step: u32,
    /// What it is.
    pub role: Role,
    /// Whether it holds an output that a reference line can replace.
    pub is_output: bool,
    /// Whether more of it stands than a reference line.
    pub stands: bool,
    /// Whether a fold hides it.
    pub hidden: bool,
}

impl ChatPlace {
    /// Whether it is a result, or a person's message that holds an output.
    pub fn has_result(self) -> bool {
        self.role == Role::Result || self.is_output
    }
}

/// What a message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// A person's message.
    User,
    /// An answer of the model.
    Answer,
    /// A tool result, or a message of the host's that holds an output.
    Result,
    /// Anything else.
    #[default]
    Other,
}
