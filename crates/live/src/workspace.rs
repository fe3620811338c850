//! The files of a session: where they are, and what happened to them since the model saw them.
//!
//! The only part of this crate that looks at files. Records its findings in the journal. Must not
//! decide what the model sees.

mod check;
mod disk;
mod edits;
mod elsewhere;
mod finding;
mod indexing;
mod links;
mod met;
mod moves;
mod notes;
mod reach;
mod reconcile;
mod refresh;
mod reported;
mod seen_files;
mod sharing;
mod shell_reads;
mod telling;
mod tool_files;
mod tracked;

pub use self::check::CheckProgress;
pub(super) use self::disk::Disk;
pub use self::disk::ToolFiles;
pub(crate) use self::disk::is_temporary;
use self::met::Met;
use self::moves::Stood;
pub(super) use self::notes::{Announced, Detail, NoteBudget, describe_change, is_known};
pub(super) use self::reconcile::Due;
use self::seen_files::Pending;
pub(super) use self::telling::{record_told, tell_left};
pub use self::tool_files::FinishedToolCall;
use self::tracked::Tracked;
use base::object::Timestamp;

/// What is known of a session's files between looks.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    looked: Looked,
    /// The check of all known files after a pause.
    pub(crate) reconcile: Due,
    pub(crate) tracked: Option<Tracked>,
    /// Files that may have changed and were not checked yet.
    pending: Pending,
    /// What was reported of calls, until their results come in.
    pub(crate) met: Met,
    /// What stood beside known files at the last look.
    stood: Stood,
}

/// When files were last looked at; after a pause, when the session was last written.
#[derive(Debug, Default)]
struct Looked {
    /// Files that stand, see [`LiveSession::stands`](crate::LiveSession::stands).
    standing: Timestamp,
    /// All files whose text the model knows.
    known: Timestamp,
}

impl Looked {
    fn all_at(time: Timestamp) -> Self {
        Self { standing: time, known: time }
    }
}
