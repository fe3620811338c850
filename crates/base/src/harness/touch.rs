//! What a call does to a file. Must not read a call.

/// What a call does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// It shows the file.
    Read,
    /// It changes a part of the file, or removes it.
    Edit,
    /// It writes all of the file.
    Write,
}

/// A file that a call reads or changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch<'a> {
    /// Its path, as the model wrote it.
    pub path: &'a str,
    /// What the call does to it.
    pub access: FileAccess,
}
