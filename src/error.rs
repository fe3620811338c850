//! The one error type, its stable codes and hints. No I/O, no policy.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::object::{ObjectId, TxId};

/// Result with the crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A cause from another library, kept for the error chain.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Everything that can go wrong. [`Error::code`] is stable; the text is for people.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No version of the object is visible at the time asked for.
    #[error("object `{id}` has no version {at}")]
    NotFound {
        /// The object asked for.
        id: ObjectId,
        /// The version or time asked for, in words.
        at: String,
    },
    /// A name fits no object.
    #[error("nothing is named `{name}`")]
    UnknownName {
        /// The name as given.
        name: String,
    },
    /// A name fits several objects.
    #[error("`{name}` fits {} objects: {}", candidates.len(), quoted(candidates))]
    AmbiguousName {
        /// The name as given.
        name: String,
        /// What it fits.
        candidates: Vec<String>,
    },
    /// A nickname has a form that could be mistaken for another kind of name, or is taken.
    #[error("`{name}` cannot be a nickname: {reason}")]
    InvalidNickname {
        /// The nickname as given.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A put expected another latest version than there is.
    #[error("object `{id}` was changed by another writer (latest is {})", winner_text(*winner))]
    Conflict {
        /// The object.
        id: ObjectId,
        /// The latest version's transaction; `None` where the object does not exist.
        winner: Option<TxId>,
    },
    /// A person had the object forgotten; it is not stored again.
    #[error("object `{id}` was forgotten")]
    Forgotten {
        /// The object.
        id: ObjectId,
    },
    /// A query names a field that no object of the store has.
    #[error("no object has the field `{field}`{}", near_text(known))]
    UnknownField {
        /// The field as given.
        field: String,
        /// Fields that there are and that come close.
        known: Vec<String>,
    },
    /// An archive cannot be read; nothing of it was imported.
    #[error("line {line} of the archive {problem}")]
    MalformedArchive {
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A file is no session file of an agent that is known.
    #[error("line {line} of `{}` {problem}", path.display())]
    MalformedTranscript {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// Sessions show too little of what is needed again to learn from them.
    #[error("too few needs of {what}: there are {found}, and {wanted} are wanted")]
    TooFewNeeds {
        /// `outputs` or `steps`.
        what: &'static str,
        /// So many times one was.
        found: u64,
        /// So many times at least are wanted.
        wanted: u64,
    },
    /// The object is infrastructure and has no place among the active objects.
    #[error("`{id}` is a {kind} and cannot be activated")]
    NotActivatable {
        /// The object.
        id: ObjectId,
        /// Its type.
        kind: &'static str,
    },
    /// Activating or pinning would take more of the window than it may.
    #[error("`{name}` is {tokens} tokens, {room} are free for it")]
    NoRoom {
        /// The object as named.
        name: String,
        /// What it would cost.
        tokens: u64,
        /// What is left.
        room: u64,
    },
    /// An argument has the wrong shape or value.
    #[error("`{argument}` {problem}")]
    InvalidArgument {
        /// The argument's name.
        argument: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A `read` starts after the file's last line. The text is Pi's own, since the model gets it.
    #[error("Offset {offset} is beyond end of file ({total_lines} lines total)")]
    OffsetBeyondEnd {
        /// The offset as the model gave it.
        offset: String,
        /// Lines of the file.
        total_lines: u64,
    },
    /// A settings file is wrong.
    #[error("settings in `{path}`: {problem}")]
    InvalidSettings {
        /// The file.
        path: PathBuf,
        /// What is wrong, the key in backticks.
        problem: String,
    },
    /// Stored bytes do not hash to what was recorded.
    #[error("stored {what} hashes to `{found}`, recorded is `{recorded}`")]
    HashMismatch {
        /// What was checked.
        what: String,
        /// The hash of what is there.
        found: String,
        /// The hash that was recorded.
        recorded: String,
    },
    /// The store's schema is newer than this program.
    #[error("store `{path}` has schema {found}, this program knows up to {known}")]
    NewerSchema {
        /// The store.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// The store cannot be opened or used.
    #[error("cannot use the store `{path}`: {problem}")]
    StoreUnavailable {
        /// The store.
        path: PathBuf,
        /// What is wrong, in words.
        problem: String,
        /// Cause.
        source: Option<BoxError>,
    },
    /// The store's file is damaged.
    #[error("store `{path}` is not a database or is damaged")]
    StoreCorrupt {
        /// The store.
        path: PathBuf,
        /// Cause.
        source: BoxError,
    },
    /// The store may be read but not written.
    #[error("store `{path}` is read-only")]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// No space is left for a write.
    #[error("no space left for the store `{path}`")]
    NoSpace {
        /// The store.
        path: PathBuf,
    },
    /// A file outside the store cannot be read or written.
    #[error("cannot {act} `{path}`: {}", file_problem(source))]
    File {
        /// `read`, `write`, `create`, `move`.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The backend lacks an ability that not all have.
    #[error("the {backend} backend has no {what}")]
    Unsupported {
        /// The ability.
        what: &'static str,
        /// The backend's name.
        backend: &'static str,
    },
    /// The store, session or tool was used after `close()`.
    #[error("the {what} is closed")]
    Closed {
        /// What is closed.
        what: &'static str,
    },
    /// A defect of this program.
    #[error("internal error: {problem}")]
    Internal {
        /// What was found.
        problem: String,
    },
}

impl Error {
    /// Stable upper-snake code, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "NOT_FOUND",
            Self::UnknownName { .. } => "UNKNOWN_NAME",
            Self::AmbiguousName { .. } => "AMBIGUOUS_NAME",
            Self::InvalidNickname { .. } => "INVALID_NICKNAME",
            Self::Conflict { .. } => "CONFLICT",
            Self::Forgotten { .. } => "FORGOTTEN",
            Self::UnknownField { .. } => "UNKNOWN_FIELD",
            Self::MalformedArchive { .. } => "MALFORMED_ARCHIVE",
            Self::MalformedTranscript { .. } => "MALFORMED_TRANSCRIPT",
            Self::TooFewNeeds { .. } => "TOO_FEW_NEEDS",
            Self::NotActivatable { .. } => "NOT_ACTIVATABLE",
            Self::NoRoom { .. } => "NO_ROOM",
            Self::InvalidArgument { .. } => "INVALID_ARGUMENT",
            Self::OffsetBeyondEnd { .. } => "OFFSET_BEYOND_END",
            Self::InvalidSettings { .. } => "INVALID_SETTINGS",
            Self::HashMismatch { .. } => "HASH_MISMATCH",
            Self::NewerSchema { .. } => "NEWER_SCHEMA",
            Self::StoreUnavailable { .. } => "STORE_UNAVAILABLE",
            Self::StoreCorrupt { .. } => "STORE_CORRUPT",
            Self::ReadOnly { .. } => "READ_ONLY",
            Self::NoSpace { .. } => "NO_SPACE",
            Self::File { .. } => "FILE",
            Self::Unsupported { .. } => "UNSUPPORTED",
            Self::Closed { .. } => "CLOSED",
            Self::Internal { .. } => "INTERNAL",
        }
    }

    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AmbiguousName { .. } => "give more of the name, or the full ID",
            Self::UnknownName { .. } => {
                "name it by its path, its ID or a nickname, or within a session by a handle such as `t17`"
            }
            Self::UnknownField { .. } => {
                "fields of a payload are named by path (`args.command`), odd names in quotes; a text to compare with goes \
                 to the right"
            }
            Self::NoRoom { .. } => "give a line range or a pattern, or deactivate something first",
            Self::MalformedTranscript { .. } => {
                "session files of Pi, Claude Code and Codex can be read, plain or gzipped, and the neutral form: a line \
                 `{\"session\":{…}}`, then one message a line"
            }
            Self::TooFewNeeds { .. } => {
                "take more sessions, or longer ones; until then the weights that are shipped serve better"
            }
            Self::NewerSchema { .. } => "update palimpsest",
            Self::StoreCorrupt { .. } => {
                "`palimpsest doctor` says what is damaged; `palimpsest doctor --set-aside` moves the file away, so \
                 that a new store can start"
            }
            Self::ReadOnly { .. } => {
                "make the file and its folder writable, or set PALIMPSEST_STORE to another place"
            }
            Self::StoreUnavailable { .. } => {
                "check the path, or set PALIMPSEST_STORE to another place"
            }
            Self::NoSpace { .. } => "free some space on the disk",
            Self::Internal { .. } => "please report this with the text of the error",
            _ => return None,
        })
    }

    /// What an ambiguous name fits; empty for other errors.
    pub fn candidates(&self) -> &[String] {
        match self {
            Self::AmbiguousName { candidates, .. } => candidates,
            _ => &[],
        }
    }

    /// The message, its causes and the hint, on one line each: for logs.
    pub fn report(&self) -> String {
        let mut text = format!("{}: {self}", self.code());
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str("\n  caused by: ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        if let Some(hint) = self.hint() {
            text.push_str("\n  hint: ");
            text.push_str(hint);
        }
        text
    }

    /// Shorthand for a defect of this program.
    pub(crate) fn internal(problem: impl Into<String>) -> Self {
        Self::Internal { problem: problem.into() }
    }

    /// Shorthand for a wrong argument.
    pub(crate) fn argument(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidArgument { argument: argument.into(), problem: problem.into() }
    }
}

/// What is wrong with a file, for the model too, which sees no cause.
fn file_problem(source: &std::io::Error) -> String {
    match source.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        kind => kind.to_string(),
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The rest of the message where names come near.
fn near_text(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; near it: {}", quoted(names)) }
}

fn winner_text(winner: Option<TxId>) -> String {
    winner.map_or_else(|| "none".to_owned(), |tx| format!("transaction {tx}"))
}
