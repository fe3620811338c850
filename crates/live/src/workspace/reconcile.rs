//! Checks all known files after a pause, before the first call: which changed, moved or are gone.
//!
//! The findings are stored with the next call, so that a session which is merely opened stays as it
//! is. The notes of that call tell the model about the files whose text stands.

use super::check::{CheckProgress, Differing};
use super::finding::Finding;
use super::reach::record_reach;
use super::{Looked, ToolFiles, Workspace};
use crate::journal::{Journal, written};
use base::error::Result;
use base::object::{AsOf, ObjectId, Timestamp};
use session::Cause;

/// Number of files that are read before they are recorded.
const BATCH_FILES: usize = 512;
/// Bytes of text that may wait for the next call. Beyond that, the findings are stored at once.
pub(crate) const MAX_STAGED_TEXT_BYTES: usize = 64 << 20;

/// Whether the check is still due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// There is nothing to check, or the findings are stored.
    No,
    /// It is still to be made.
    Yes,
    /// It was made, and its findings are not stored yet.
    Staged,
}

impl Due {
    /// Call after a commit.
    pub(super) fn staged_is_stored(&mut self) {
        if *self == Self::Staged {
            *self = Self::No;
        }
    }

    /// Call when staged events are discarded.
    pub(super) fn staged_is_lost(&mut self) {
        if *self == Self::Staged {
            *self = Self::Yes;
        }
    }
}

/// Result of checking a session's files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Files that this process can look at.
    pub files: u64,
    /// Files with changed text or bytes.
    pub changed: u64,
    /// Files that moved.
    pub moved: u64,
    /// Files that were deleted.
    pub deleted: u64,
    /// Files that cannot be read although they may still exist.
    pub orphaned: u64,
}

impl Reconciled {
    fn count(&mut self, finding: &Finding) {
        match finding {
            Finding::OutOfReach(_) => self.orphaned += 1,
            Finding::Version { is_new: true, is_gone: true, .. } => self.deleted += 1,
            Finding::Version { is_new: true, .. } => self.changed += 1,
            Finding::Version { .. } | Finding::Nothing => {}
        }
    }
}

/// A running check of all known files. Files that differ are read in batches, so that large amounts
/// of text can be stored in between.
#[derive(Debug)]
pub(crate) struct Check {
    began: Timestamp,
    /// Files that differ and were not read yet.
    differing: std::vec::IntoIter<ObjectId>,
    /// Number of events that were staged before.
    staged_before: usize,
    found: Reconciled,
}

impl Workspace {
    /// Whether the check of all known files is still due.
    pub(crate) fn is_check_due(&self) -> bool {
        self.reconcile == Due::Yes
    }

    /// Whether the findings are not stored yet. They need not be: the next check finds them again.
    pub(crate) fn is_check_staged(&self) -> bool {
        self.reconcile == Due::Staged
    }

    /// Plans the check, if the session knows files from before.
    pub(crate) fn plan_check(&mut self, journal: &Journal) -> Result<()> {
        if self.options.files != ToolFiles::Elsewhere && !journal.state().index().entries.is_empty()
        {
            self.reconcile = Due::Yes;
            let latest = journal.store.get(journal.session_id(), AsOf::Latest)?;
            let written = latest.map(|latest| written(&journal.store, &latest)).transpose()?;
            self.looked = Looked::all_at(written.map_or(Timestamp(0), |written| written.time));
        }
        Ok(())
    }

    /// Starts a check of all known files: compares their stamps and follows those that moved.
    /// [`Self::check_batch`] and [`Self::finish_check`] do the rest. `progress` is called from
    /// several threads.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn start_check(
        &mut self,
        journal: &mut Journal,
        progress: &(dyn Fn(CheckProgress) + Sync),
    ) -> Result<Check> {
        let (began, staged_before) = (journal.store.now(), journal.staged_events());
        let index = journal.state().index();
        let known = index
            .entries
            .iter()
            .filter(|entry| index.is_shown(entry) && !journal.was_refused(&entry.id));
        let known: Vec<ObjectId> = known.map(|entry| entry.id.clone()).collect();
        let Differing { files, compared, moved } =
            self.find_differing(journal, &known, progress)?;
        let found = Reconciled { files: compared, moved, ..Reconciled::default() };
        Ok(Check { began, differing: files.into_iter(), staged_before, found })
    }

    /// Reads the next files that differ, and records what happened to them. Returns whether there
    /// were any. The journal may be committed in between.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn check_batch(&self, journal: &mut Journal, check: &mut Check) -> Result<bool> {
        let batch: Vec<ObjectId> = check.differing.by_ref().take(BATCH_FILES).collect();
        let findings = self.read_known_files(journal, &batch, Cause::Checked)?;
        for (file, finding) in batch.iter().zip(findings) {
            // For a standing file, the check before the next call records and reports it.
            if !self.stands(journal, file) {
                record_reach(journal, file, &finding);
            }
            check.found.count(&finding);
        }
        Ok(!batch.is_empty())
    }

    /// Ends a check; returns its findings.
    pub(crate) fn finish_check(&mut self, journal: &Journal, check: &Check) -> Reconciled {
        self.looked = Looked::all_at(check.began);
        let has_staged = journal.staged_events() > check.staged_before;
        self.reconcile = if has_staged { Due::Staged } else { Due::No };
        check.found
    }
}
