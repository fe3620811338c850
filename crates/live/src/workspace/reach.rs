//! Known files that cannot be read although they may still exist: no permission, a folder in their
//! place, a file system that is not mounted. Earlier knowledge of them stands.
//!
//! Must not decide that a file was deleted.

use super::finding::Finding;
use super::notes::{FileChange, seen_in, shown_name};
use crate::{LiveSession, Notice};
use base::object::ObjectId;
use context::forms;
use session::{Event, Subject};
use source::{FileState, Location};

/// The reason for a file whose file system is gone.
const NOT_MOUNTED: &str = "its file system is not mounted";

impl LiveSession {
    /// Why a known file cannot be read although it may still exist; `None` if it was read or is gone.
    /// `state`: what was found.
    pub(super) fn why_out_of_reach(
        &self,
        file: &ObjectId,
        location: &Location,
        state: &FileState,
    ) -> Option<String> {
        let open = location.open.as_deref().filter(|_| !self.journal.was_refused(file))?;
        let is_unmounted = || *state == FileState::Missing && !self.is_mounted(file, location);
        source::obstacle(open, state).or_else(|| is_unmounted().then(|| NOT_MOUNTED.to_owned()))
    }

    /// Whether the file system of a file is still mounted, as far as is known.
    pub(super) fn is_mounted(&self, object: &ObjectId, location: &Location) -> bool {
        let subject = self.state().subject(object);
        match (subject, &location.open) {
            (Some(Subject::File { stamp: Some(stamp), .. }), Some(open)) => {
                source::is_mounted(stamp, open)
            }
            _ => true,
        }
    }

    /// Records that a file went out of reach or came back. Returns whether it did.
    pub(super) fn record_reach(&mut self, file: &ObjectId, finding: &Finding) -> bool {
        let was_out = self.state().files().orphaned(file).is_some();
        let object = file.clone();
        let event = match finding {
            Finding::OutOfReach(reason) if !was_out && self.state().subject(file).is_some() => {
                Event::Orphaned { object, reason: reason.clone() }
            }
            Finding::Version(_) if was_out => Event::Resumed { object },
            _ => return false,
        };
        self.journal.record(event);
        true
    }

    /// As [`Self::record_reach`]; returns what to say about it.
    pub(super) fn change_of_reach(
        &mut self,
        file: &ObjectId,
        finding: &Finding,
    ) -> Option<FileChange> {
        if !self.record_reach(file, finding) {
            return None;
        }
        let (handle, path) = shown_name(&self.journal, file)?;
        let (name, seen) = (handle.to_string(), seen_in(&self.journal, file));
        let (note, notice) = if let Finding::OutOfReach(reason) = finding {
            let note = forms::kept_line(handle, &path, forms::OUT_OF_REACH, seen);
            (note, Notice::FileOrphaned { handle: name, path, reason: reason.clone() })
        } else {
            let note = forms::back_line(handle, &path, forms::WITHIN_REACH, seen);
            (note, Notice::FileResumed { handle: name, path })
        };
        Some(FileChange { note: Some(note), notices: vec![notice], ..FileChange::default() })
    }
}
