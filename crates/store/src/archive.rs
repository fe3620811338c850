//! Archives: a store, a session or an object as JSON Lines, to carry it from one store to another.
//!
//! `docs/archive-format.md` describes the format. An import checks the whole archive before it
//! writes anything, and never changes existing data: it adds versions, or reports those that it
//! left out.

mod archive_lines;
mod calls;
mod checked;
mod export;
mod format;
mod import;
mod incoming;
mod known;
mod merge;
mod nicknames;
mod of_store;
mod parting;
mod prefix;
mod reader;
mod scope;
mod secrets;
mod standing;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use base::object::{ObjectId, ObjectType, Timestamp};

pub use archive_lines::{MAX_WINDOW_LOG, max_expanded};
pub use of_store::Taking;
pub use parting::{copied_from, provided_id};
pub use scope::session_versions;

/// Means standard output or input instead of a path.
const STANDARD: &str = "-";

/// The scope of an archive, and of its header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scope", content = "id", rename_all = "snake_case")]
pub enum ArchiveScope {
    /// The entire store.
    Everything,
    /// A session: its document, chat and system prompt with their histories, and the versions of
    /// other objects that their items and fields refer to. If it is a fork, also the history of the
    /// original up to the fork.
    Session(ObjectId),
    /// One object with its history.
    Object(ObjectId),
}

impl ArchiveScope {
    /// Makes a scope from a session's or an object's ID; everything if neither is given.
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

/// Options of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportOptions {
    /// The scope of the archive.
    pub scope: ArchiveScope,
    /// Whether to replace text that looks like a secret, see [`redact::redact_text`].
    pub redact: bool,
    /// Whether to compress the archive with zstd.
    pub compress: bool,
}

impl ExportOptions {
    /// Whether an archive with this name is compressed by default, that is, whether the name ends
    /// in `.zst`.
    pub fn compresses(path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending == "zst")
    }
}

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
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
    /// Bytes written, after compression.
    pub written_bytes: u64,
    /// Number of replacements by rule; empty without `redact`.
    pub redactions: BTreeMap<&'static str, u64>,
    /// Versions whose text or items are not what was written, and of a session with such a chat,
    /// with the error.
    pub left_out: Vec<LeftOut>,
}

/// Whether the text of the file at a path must not be stored.
pub type IsExcluded = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Options of an import.
#[derive(Clone)]
pub struct ImportOptions {
    /// Longest line, in bytes: a line is held in memory while it is checked.
    pub max_line_bytes: usize,
    /// Only report what would happen. Default: no.
    pub dry_run: bool,
    /// Files whose text is not imported. Default: none.
    pub is_excluded: IsExcluded,
    /// Whether everything in the archive is the user's own, including names, as when a store moves.
    /// Default: no.
    pub is_own: bool,
    /// Whether a file that this store saw itself keeps its latest version: other stores' versions
    /// of it are stored as earlier ones. Default: no.
    pub keeps_files: bool,
}

impl Default for ImportOptions {
    /// 256 MiB: room for an escaped document of 100 MB.
    fn default() -> Self {
        Self {
            max_line_bytes: 256 << 20,
            dry_run: false,
            is_excluded: Arc::new(|_| false),
            is_own: false,
            keeps_files: false,
        }
    }
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// Whether this is a dry run; the figures then say what would happen.
    pub dry_run: bool,
    /// ID of the store that wrote the archive.
    pub store_id: String,
    /// Bytes read, uncompressed.
    pub bytes: u64,
    /// Versions that the store did not have.
    pub versions: u64,
    /// Number of objects that got these versions.
    pub objects: u64,
    /// Versions that the store already had.
    pub present: u64,
    /// Versions that were written again, either to be the latest or to be in another version's
    /// transaction.
    pub put_again: u64,
    /// Nicknames assigned.
    pub nicknames: u64,
    /// Versions that the store had without text left out by an earlier archive, and now has
    /// complete.
    pub restored: u64,
    /// Objects already in the store whose latest version changed, by ID.
    pub changed: Vec<ChangedLatest>,
    /// Sessions that continued differently here and in the archive.
    pub parted: Vec<PartedSession>,
    /// The IDs under which calls are stored, by their own, which the store has for other calls.
    #[serde(skip)]
    pub calls: BTreeMap<ObjectId, ObjectId>,
    /// Everything left out, with the reason, by object.
    pub left_out: Vec<LeftOut>,
    /// Number of lines of each unknown kind; they were skipped.
    pub unknown_lines: BTreeMap<String, u64>,
}

/// An object whose latest version changed in an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedLatest {
    /// The object.
    pub id: ObjectId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ObjectType,
    /// Path of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// When the previous latest version was written, in its original store.
    pub before: Timestamp,
    /// When the new latest version was written, in its original store.
    pub after: Timestamp,
    /// That store of the new latest version.
    pub store_id: String,
}

/// A session of an archive that was imported under a separate ID, because the store's session with
/// its ID continued differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartedSession {
    /// The session's ID, in the archive and here.
    pub id: ObjectId,
    /// The ID under which the archive's session is stored.
    pub stored_as: ObjectId,
}

/// A part of an archive that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The object.
    pub id: ObjectId,
    /// Path of a file, if it is among the first 50 of an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Stable lower-snake word: `forgotten`, `other_object`, `unknown_type`, `redacted_here`,
    /// `without_items`, `excluded`, `parted`, `damaged`, `nickname_taken`, `nickname_mistakable`,
    /// `nickname_without_object`.
    pub reason: &'static str,
    /// The reason in words.
    pub detail: String,
    /// Versions concerned; 0 for a nickname.
    pub versions: u64,
}

/// The progress of an export or import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Amount done: versions written, lines checked, or transactions imported.
    pub done: u64,
    /// Total amount, if known.
    pub of: Option<u64>,
}

/// Stages of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Versions are written to an archive.
    Exporting,
    /// Lines of an archive are read and checked.
    Checking,
    /// Transactions of an archive are written to the store.
    Importing,
    /// Versions are sent to a shared store.
    Sending,
    /// Versions are taken from another store.
    Taking,
}

/// Called with the progress from time to time. An error from it stops the work and is returned.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> Result<()>;
