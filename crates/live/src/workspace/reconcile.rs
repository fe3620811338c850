//! Checks all known files after a pause, before the first call: which changed, moved or are gone.
//!
//! The findings are stored with the next call, so that a session which is merely opened stays as it
//! is. The notes of that call tell the model about the files whose text stands.

use super::check::CheckProgress;
use super::{Looked, ToolFiles};
use crate::LiveSession;
use crate::journal::{Activity, written};
use base::error::Result;
use base::object::{AsOf, ObjectId, Timestamp};
use session::Cause;

/// Number of files that are read before they are recorded.
const BATCH_FILES: usize = 512;
/// Bytes of text that may wait for the next call. Beyond that, the findings are stored at once.
const MAX_STAGED_TEXT_BYTES: usize = 64 << 20;

/// Whether the check is still due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Due {
    /// There is nothing to check, or the findings are stored.
    #[default]
    No,
    /// It is still to be made.
    Yes,
    /// It was made, and its findings are not stored yet.
    Staged,
}

impl Due {
    /// Call after a commit, or when staged events are discarded, with what follows from it.
    pub(crate) fn staged_becomes(&mut self, due: Self) {
        if *self == Self::Staged {
            *self = due;
        }
    }
}

impl LiveSession {
    /// Whether the check of all known files is still due.
    pub fn is_reconcile_due(&self) -> bool {
        self.workspace.reconcile == Due::Yes
    }

    /// Whether the findings are not stored yet. They need not be: the next check finds them again.
    pub(crate) fn is_check_staged(&self) -> bool {
        self.workspace.reconcile == Due::Staged
    }

    /// Plans the check, if the session knows files from before.
    pub(crate) fn plan_check(&mut self) -> Result<()> {
        if self.options.files != ToolFiles::Elsewhere && !self.state().index().entries.is_empty() {
            self.workspace.reconcile = Due::Yes;
            let latest = self.journal.store.get(self.journal.session_id(), AsOf::Latest)?;
            let written = latest.map(|latest| written(&self.journal.store, &latest)).transpose()?;
            self.workspace.looked =
                Looked::all_at(written.map_or(Timestamp(0), |written| written.time));
        }
        Ok(())
    }

    /// Checks all known files: compares their stamps, follows those that moved, and reads those that
    /// differ. The findings wait for the next commit, unless they are large. `progress` is called
    /// from several threads.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn check_files(&mut self, progress: &(dyn Fn(CheckProgress) + Sync)) -> Result<()> {
        let (began, staged_before) = (self.journal.store.now(), self.journal.staged_events());
        let index = self.state().index();
        let known = index
            .entries
            .iter()
            .filter(|entry| index.is_shown(entry) && !self.journal.was_refused(&entry.id));
        let known: Vec<ObjectId> = known.map(|entry| entry.id.clone()).collect();
        let files = self.find_differing(&known, progress)?;
        for batch in files.chunks(BATCH_FILES) {
            let findings = self.read_known_files(batch, Cause::Checked)?;
            for (file, finding) in batch.iter().zip(findings) {
                // For a standing file, the check before the next call records and reports it.
                if !self.stands(file) {
                    self.record_reach(file, &finding);
                }
            }
            if self.journal.staged_text_bytes() > MAX_STAGED_TEXT_BYTES {
                self.commit(Activity::Active)?;
            }
        }
        self.workspace.looked = Looked::all_at(began);
        let has_staged = self.journal.staged_events() > staged_before;
        self.workspace.reconcile = if has_staged { Due::Staged } else { Due::No };
        Ok(())
    }
}
