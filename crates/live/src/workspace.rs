//! The files of a session: where they are, and what happened to them since the model saw them.
//!
//! The only part of this crate that looks at files. Records its findings in the journal, and never
//! commits. Must not decide what the model sees.

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

use std::sync::Arc;

pub use self::check::CheckProgress;
pub(super) use self::disk::Disk;
pub use self::disk::ToolFiles;
pub(crate) use self::disk::is_temporary;
use self::met::Met;
use self::moves::Stood;
pub(super) use self::notes::{Announced, Detail, NoteBudget, describe_change, is_known};
use self::reconcile::Due;
pub(super) use self::reconcile::MAX_STAGED_TEXT_BYTES;
pub use self::reconcile::Reconciled;
use self::seen_files::Pending;
pub(super) use self::shell_reads::ShellRead;
pub(super) use self::telling::{may_tell_again, record_told};
pub use self::tool_files::FinishedToolCall;
use self::tracked::Tracked;
pub(super) use self::tracked::TrackerReport;
use super::OpenSession;
use super::journal::Journal;
use base::error::Result;
use base::object::Timestamp;

/// The files of a session; see the module.
#[derive(Debug)]
pub(super) struct Workspace {
    options: Arc<OpenSession>,
    /// Where the files are.
    pub(super) disk: Disk,
    looked: Looked,
    /// The check of all known files after a pause.
    reconcile: Due,
    tracked: Option<Tracked>,
    /// Files that may have changed and were not checked yet.
    pending: Pending,
    /// What was reported of calls, until their results come in.
    met: Met,
    /// What stood beside known files at the last look.
    stood: Stood,
}

/// When files were last looked at; after a pause, when the session was last written.
#[derive(Debug)]
struct Looked {
    /// Files that stand, see [`Workspace::stands`].
    standing: Timestamp,
    /// All files whose text the model knows.
    known: Timestamp,
}

impl Looked {
    fn all_at(time: Timestamp) -> Self {
        Self { standing: time, known: time }
    }
}

impl Workspace {
    /// The workspace of the session with this key.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an unusable exclusion glob or mount mapping; errors of reading a
    /// sandbox's mounts.
    pub(super) fn open(options: Arc<OpenSession>, key: &str) -> Result<Self> {
        Ok(Self {
            disk: Disk::open(Arc::clone(&options), key)?,
            options,
            looked: Looked::all_at(Timestamp(0)),
            reconcile: Due::No,
            tracked: None,
            pending: Pending::default(),
            met: Met::default(),
            stood: Stood::default(),
        })
    }

    /// Call after a commit: hands the tracker the files that the model saw since the last one.
    pub(super) fn committed(&mut self, journal: &Journal) {
        self.reconcile.staged_is_stored();
        self.track_seen_files(journal);
    }

    /// Call after a request has gone out.
    pub(super) fn sent(&mut self) {
        self.met.clear();
    }

    /// Call after the journal was read again from the store, which discards everything staged.
    pub(super) fn reloaded(&mut self) {
        self.reconcile.staged_is_lost();
    }
}
