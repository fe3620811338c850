//! One small record per message, kept up to date by events, because the decision about an epoch
//! looks at every message before each call. Must not decide anything.

/// A message as the epoch decision first sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChatPlace {
    /// Its step.
    pub step: u32,
    /// What it is.
    pub role: Role,
    /// Whether more of it stands than a reference line.
    pub stands: bool,
    /// Whether a fold hides it.
    pub hidden: bool,
}

/// What a message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// A person's message.
    User,
    /// An answer of the model.
    Answer,
    /// A tool result that a reference line can replace.
    Output,
    /// Any other tool result.
    Result,
    /// Anything else.
    #[default]
    Other,
}
