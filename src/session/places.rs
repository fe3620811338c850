//! What the decision about an epoch looks at in every message before each call, packed: one small record for each message of
//! the chat, kept as events change it. Must not decide anything.

/// A message as the decision sees it first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// Its step.
    pub step: u32,
    /// What it is.
    pub role: Role,
    /// Whether it stands otherwise than by a line.
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
    /// A result of one text that the store holds.
    Output,
    /// Another result.
    Result,
    /// Anything else.
    #[default]
    Other,
}
