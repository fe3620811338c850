//! Turns a reading of a file into a version and an event in the journal.
//!
//! Every version that a session makes of a readable file is made here, except for moves. Must not
//! tell the model about it.

use std::path::Path;
use std::sync::Arc;

use super::notes::is_announced;
use crate::LiveSession;
use crate::journal::Journal;
use base::error::Result;
use base::object::{FileStamp, Hash, ObjectId};
use context::log_layout::Texts;
use session::{Cause, Event, FileEvent, LineMap, Subject};
use source::{FileReading, FileState, IndexOutcome, Indexed, Location};

impl LiveSession {
    /// Reads the file at an agent's path; see [`Self::index_reading`].
    pub(crate) fn index_file(
        &mut self,
        path: &Path,
        cause: Cause,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let location = self.disk.location(path);
        let reading = self.disk.read_at(path, &location);
        self.index_reading(&location, reading, cause, None)
    }

    /// Makes a version from the reading of a file. Returns its object and version. `None` if
    /// nothing can be said about it (no permission, no regular file, a path that is not UTF-8):
    /// earlier knowledge stands.
    pub(super) fn index_reading(
        &mut self,
        location: &Location,
        reading: FileReading,
        cause: Cause,
        call: Option<&str>,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let object = location.id()?;
        if self.journal.is_forgotten(&object)? || location.path.to_str().is_none() {
            return Ok(None);
        }
        if reading.state == FileState::Missing && !self.is_mounted(&object, location) {
            return Ok(None);
        }
        let known = self.state().version(&object);
        let is_deleted = known.is_some_and(|version| self.journal.is_deleted(&object, version));
        if reading.state == FileState::NotRead && known.is_some() && !is_deleted {
            // Nothing new is known of it.
            let of = (cause, reading.stamp);
            return Ok(self.record_touch(object, location, of, call));
        }
        let Some(found) = source::index(location, reading, self.journal.latest(&object)?)? else {
            return Ok(None);
        };
        self.record_version(location, found, cause, call).map(Some)
    }

    /// Stages a version of a file and records the event.
    pub(super) fn record_version(
        &mut self,
        location: &Location,
        found: Indexed,
        cause: Cause,
        call: Option<&str>,
    ) -> Result<(ObjectId, Hash)> {
        let object = found.envelope.id.clone();
        let Indexed { envelope, payload, version, outcome, stamp } = found;
        let mut text: Option<Arc<str>> = payload.content.as_deref().map(Arc::from);
        if outcome == IndexOutcome::Unchanged && self.disk.is_known_by_reports(location) {
            // The text that was reported to another session.
            text = self.journal.text(&object, &version).ok();
        }
        let bytes = payload.source_hash.clone().filter(|_| text.is_none());
        let moved = match (&text, text_before(&self.journal, &object, &version)) {
            (Some(new), Some(old)) => Some(LineMap::between(&old, new)),
            _ => None,
        };
        if let Some(text) = &text {
            self.journal.remember_text(&object, &version, Arc::clone(text));
        }
        if outcome != IndexOutcome::Unchanged {
            self.journal.stage_seen(envelope, payload, version.clone())?;
        } else if self.state().files().has_bytes(&object, bytes.as_ref())
            && brings_nothing(&self.journal, &object, &version, stamp, cause)
        {
            return Ok((object, version));
        }
        self.journal.record(Event::File(FileEvent {
            lines: text.map(|text| text.split('\n').count() as u64),
            call: call.map(str::to_owned),
            stamp,
            moved,
            bytes,
            ..self.disk.file_event(object.clone(), location, version.clone(), cause)
        }));
        Ok((object, version))
    }

    /// Records that a call touched a known file, when nothing new is known of it.
    fn record_touch(
        &mut self,
        object: ObjectId,
        location: &Location,
        (cause, stamp): (Cause, Option<FileStamp>),
        call: Option<&str>,
    ) -> Option<(ObjectId, Hash)> {
        let Some(Subject::File { version, lines, .. }) = self.state().subject(&object) else {
            return None;
        };
        let (version, lines) = (version.clone(), *lines);
        let event = self.disk.file_event(object.clone(), location, version.clone(), cause);
        let call = call.map(str::to_owned);
        self.journal.record(Event::File(FileEvent { lines, call, stamp, ..event }));
        Some((object, version))
    }
}

/// Whether a check found a file as it was known: with the same version, and without a new stamp.
fn brings_nothing(
    journal: &Journal,
    object: &ObjectId,
    version: &Hash,
    stamp: Option<FileStamp>,
    cause: Cause,
) -> bool {
    let is_known = matches!(
        journal.state().subject(object),
        Some(Subject::File { version: known, stamp: before, .. })
            if known == version && (stamp.is_none_or(|stamp| stamp.is_fresh) || *before == stamp)
    );
    match cause {
        // The event of this cause says that the model is told.
        Cause::Changed => is_known && is_announced(journal, object, version),
        Cause::Checked => is_known,
        _ => false,
    }
}

/// Text of the version that the session knew before, if the file has another version now.
fn text_before(journal: &Journal, object: &ObjectId, version: &Hash) -> Option<Arc<str>> {
    match journal.state().subject(object)? {
        Subject::File { version: before, lines: Some(_), .. } if before != version => {
            journal.text(object, before).ok()
        }
        _ => None,
    }
}
