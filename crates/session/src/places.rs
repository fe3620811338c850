//! One small record per message of the chat, kept up to date by events: what the decision about an epoch looks at in every
//! message before each call. Must not decide anything.

/// A message as the decision sees it at first glance.
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
    /// A person's.
    User,
    /// An answer of the model.
    Answer,
    /// A tool result that is a single text block which the store holds.
    Output,
    /// Any other tool result.
    Result,
    /// Anything else.
    #[default]
    Other,
}
