//! Known files that cannot be read although they may still exist: no permission, a folder in their
//! place, a file system that is not mounted. Earlier knowledge of them stands.
//!
//! Must not decide that a file was deleted.

use super::finding::Finding;
use super::notes::{FileChange, seen_in, shown_name};
use crate::Notice;
use crate::journal::Journal;
use base::object::ObjectId;
use context::forms;
use session::{Event, Subject};
use source::{FileState, Location};

/// The reason for a file whose file system is gone.
const NOT_MOUNTED: &str = "its file system is not mounted";

/// Why a known file cannot be read although it may still exist; `None` if it was read or is gone.
/// `state`: what was found.
pub(super) fn why_out_of_reach(
    journal: &Journal,
    file: &ObjectId,
    location: &Location,
    state: &FileState,
) -> Option<String> {
    let open = location.open.as_deref().filter(|_| !journal.was_refused(file))?;
    let is_unmounted = || *state == FileState::Missing && !is_mounted(journal, file, location);
    source::obstacle(open, state).or_else(|| is_unmounted().then(|| NOT_MOUNTED.to_owned()))
}

/// Whether the file system of a file is still mounted, as far as is known.
pub(super) fn is_mounted(journal: &Journal, object: &ObjectId, location: &Location) -> bool {
    let subject = journal.state().subject(object);
    match (subject, &location.open) {
        (Some(Subject::File { stamp: Some(stamp), .. }), Some(open)) => {
            source::is_mounted(stamp, open)
        }
        _ => true,
    }
}

/// Records that a file went out of reach or came back. Returns whether it did.
pub(super) fn record_reach(journal: &mut Journal, file: &ObjectId, finding: &Finding) -> bool {
    let was_out = journal.state().files().orphaned(file).is_some();
    let object = file.clone();
    let event = match finding {
        Finding::OutOfReach(reason) if !was_out && journal.state().subject(file).is_some() => {
            Event::Orphaned { object, reason: reason.clone() }
        }
        Finding::Version { .. } if was_out => Event::Resumed { object },
        _ => return false,
    };
    journal.record(event);
    true
}

/// As [`record_reach`]; returns what to say about it.
pub(super) fn change_of_reach(
    journal: &mut Journal,
    file: &ObjectId,
    finding: &Finding,
) -> Option<FileChange> {
    if !record_reach(journal, file, finding) {
        return None;
    }
    let (handle, path) = shown_name(journal, file)?;
    let (name, seen) = (handle.to_string(), seen_in(journal, file));
    let (note, notice) = if let Finding::OutOfReach(reason) = finding {
        let note = forms::out_of_reach_line(handle, &path, seen);
        (note, Notice::FileOrphaned { handle: name, path, reason: reason.clone() })
    } else {
        let note = forms::within_reach_line(handle, &path, seen);
        (note, Notice::FileResumed { handle: name, path })
    };
    Some(FileChange { note: Some(note), notices: vec![notice], ..FileChange::default() })
}
