//! Known files that can neither be read nor are known to be deleted: no permission, another kind of thing in their place, a
//! file system that is not mounted. What was known of them stands.
//!
//! Must not decide that a file was deleted.

use super::disk::Disk;
use super::notes::{FileChange, seen_in};
use crate::context::forms;
use crate::error::Result;
use crate::live::Notice;
use crate::live::journal::Journal;
use crate::object::{Handle, Hash, ObjectId};
use crate::session::{Event, Subject};
use crate::source::Location;

/// What keeps a file from being read whose file system is gone.
const NOT_MOUNTED: &str = "its file system is not mounted";

/// Why a file can neither be read nor is known to be deleted; `None` where it can or is.
pub(super) fn why_out_of_reach(
    journal: &Journal,
    file: &ObjectId,
    location: &Location,
) -> Option<String> {
    if journal.was_refused(file) || location.open.is_none() {
        return None;
    }
    let unmounted = || (!is_mounted(journal, file, location)).then(|| NOT_MOUNTED.to_owned());
    Disk::obstacle(location).or_else(unmounted)
}

/// Whether the file system of a file is where it was, as far as is known.
pub(super) fn is_mounted(journal: &Journal, object: &ObjectId, location: &Location) -> bool {
    let subject = journal.state().index().get(object).map(|entry| &entry.subject);
    match (subject, &location.open) {
        (Some(Subject::File { stamp: Some(stamp), .. }), Some(open)) => stamp.is_mounted(open),
        _ => true,
    }
}

/// Whether a version says that the file is deleted.
pub(super) fn is_deleted(journal: &Journal, object: &ObjectId, version: &Hash) -> Result<bool> {
    let known = journal.known_version(object, version)?;
    Ok(known.is_some_and(|known| {
        known.fields.get("no_content").is_some_and(|reason| reason == "deleted")
    }))
}

/// Records that a file is out of reach, once; says so.
pub(super) fn record_out_of_reach(
    journal: &mut Journal,
    file: &ObjectId,
    location: &Location,
) -> Option<FileChange> {
    let reason = why_out_of_reach(journal, file, location)?;
    if journal.state().orphaned(file).is_some() {
        return None;
    }
    journal.record(Event::Orphaned { object: file.clone(), reason: reason.clone() });
    let (handle, path) = shown_name(journal, file)?;
    let note = forms::out_of_reach_line(handle, &path, seen_in(journal, file));
    let notice = Notice::FileOrphaned { handle: handle.to_string(), path, reason };
    Some(FileChange { note: Some(note), notices: vec![notice] })
}

/// Records that a file is back in reach, if it was out of it; says so, for the case that it is as it was.
pub(super) fn record_back_in_reach(journal: &mut Journal, file: &ObjectId) -> Option<FileChange> {
    journal.state().orphaned(file)?;
    journal.record(Event::Resumed { object: file.clone() });
    let (handle, path) = shown_name(journal, file)?;
    let note = forms::within_reach_line(handle, &path, seen_in(journal, file));
    let notice = Notice::FileResumed { handle: handle.to_string(), path };
    Some(FileChange { note: Some(note), notices: vec![notice] })
}

/// Handle and path of a file, as shown to the model.
fn shown_name(journal: &Journal, file: &ObjectId) -> Option<(Handle, String)> {
    let entry = journal.state().index().get(file)?;
    match &entry.subject {
        file @ Subject::File { .. } => {
            Some((entry.handle, journal.state().shown_path(file.agent_path()).to_owned()))
        }
        Subject::Toolcall { .. } => None,
    }
}
