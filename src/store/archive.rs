//! Archives: a store, a session or an object as JSON Lines, out of one store and into another (DESIGN.md section 4).
//!
//! `docs/archive-format.md` describes the format. An import reads and checks all of an archive before it writes any of it.
//! Nothing that a store holds is changed by one: versions are added, or left out and listed.

mod checked;
mod export;
mod file;
mod format;
mod import;
mod json;
mod lines;
mod merge;
mod prefix;
mod reader;
mod redact;
mod scope;
mod standing;

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::object::ObjectId;

pub use redact::{Redacted, redact_json, redact_text};

/// What an archive is to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything that the store holds.
    Everything,
    /// A session: its document, chat and system prompt with their histories, and the versions of other objects that their
    /// items and fields refer to. Of a session that it is a fork of, what was before the fork.
    Session(ObjectId),
    /// One object with its history.
    Object(ObjectId),
}

impl Scope {
    /// What the one that is given of a session's and an object's ID stands for; everything without them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if both are given.
    pub fn of(session: Option<ObjectId>, object: Option<ObjectId>) -> Result<Self> {
        match (session, object) {
            (None, None) => Ok(Self::Everything),
            (Some(id), None) => Ok(Self::Session(id)),
            (None, Some(id)) => Ok(Self::Object(id)),
            (Some(_), Some(_)) => {
                Err(Error::argument("object", "excludes `session`: give one of them"))
            }
        }
    }
}

/// How an archive is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportOptions {
    /// What it holds.
    pub scope: Scope,
    /// Whether what looks like a secret is replaced, see [`redact_text`].
    pub redact: bool,
    /// Whether it is compressed by zstd.
    pub compress: bool,
}

impl ExportOptions {
    /// Whether an archive of this name is compressed, unless something else is asked for: it ends in `.zst`.
    pub fn compresses(path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending == "zst")
    }
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Objects.
    pub objects: u64,
    /// Versions.
    pub versions: u64,
    /// Distinct contents.
    pub contents: u64,
    /// Items.
    pub items: u64,
    /// Nicknames.
    pub nicknames: u64,
    /// Lines.
    pub lines: u64,
    /// Bytes of the lines.
    pub bytes: u64,
    /// Bytes written: fewer where they are compressed.
    pub written_bytes: u64,
    /// How often something was replaced, by rule; empty without `redact`.
    pub redactions: BTreeMap<&'static str, u64>,
}

/// How an archive is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportOptions {
    /// No line may be longer: what a line holds is kept in memory while it is checked.
    pub max_line_bytes: usize,
}

impl Default for ImportOptions {
    /// Lines of 256 MiB: the text of a document of 100 MB and its escapes.
    fn default() -> Self {
        Self { max_line_bytes: 256 << 20 }
    }
}

/// What became of an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// ID of the store that wrote the archive.
    pub store_id: String,
    /// Bytes read, uncompressed.
    pub bytes: u64,
    /// Versions that the store did not have.
    pub versions: u64,
    /// Objects of these.
    pub objects: u64,
    /// Versions that the store had.
    pub present: u64,
    /// Versions that were put again: to be the latest, or to stand beside another.
    pub put_again: u64,
    /// Nicknames given.
    pub nicknames: u64,
    /// Everything that was left out, and why, by object.
    pub left_out: Vec<LeftOut>,
    /// Lines of kinds that this program does not know, by kind; they were passed over.
    pub unknown_lines: BTreeMap<String, u64>,
}

/// Something of an archive that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The object.
    pub id: ObjectId,
    /// Stable lower-snake word: `forgotten`, `other_object`, `unknown_type`, `redacted_here`, `without_items`,
    /// `nickname_taken`, `nickname_without_object`.
    pub reason: &'static str,
    /// The reason in words.
    pub detail: String,
    /// Versions concerned; 0 for a nickname.
    pub versions: u64,
}

/// How far a long work has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// So much is done: versions written, lines checked, or transactions taken.
    pub done: u64,
    /// Of so much, where that is known.
    pub of: Option<u64>,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Versions are written to an archive.
    Exporting,
    /// Lines of an archive are read and checked.
    Checking,
    /// Transactions of an archive are written to the store.
    Importing,
}

/// Is told how far the work has come, now and then; an error ends the work and comes back from it.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> Result<()>;
