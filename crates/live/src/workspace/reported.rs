//! Versions of files in a sandbox that this process cannot open, built from what tool calls show of
//! them.
//!
//! Lines of a file are never stored as the whole file. Must not look at the disk.

use crate::LiveSession;
use base::error::Result;
use base::harness::{Call, has_line_numbers, without_notice};
use base::object::{Hash, ObjectId, locate_slice};
use context::host::{HostMessage, HostToolCall};
use context::log_layout::Texts;
use session::{Cause, Subject};
use source::{Location, ToldText};

impl LiveSession {
    /// Records a call that changed a file out of reach. A call that read one is recorded with its
    /// result.
    pub(crate) fn index_reported_change(
        &mut self,
        location: &Location,
        cause: Cause,
        id: &str,
        call: Call<'_>,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let report = match (cause, call.content()) {
            (Cause::Written, Some(text)) => ToldText::Whole(text),
            (cause, _) if cause.by_model() => ToldText::Changed,
            _ => return Ok(None),
        };
        self.index_report(location, report, cause, id)
    }

    /// Records the result of a `read` of a file out of reach. Returns the file and the version that
    /// holds the shown text: the known one if the lines are unchanged, else a new one if the whole
    /// file was shown.
    pub(crate) fn index_reported_read(
        &mut self,
        location: &Location,
        call: &HostToolCall,
        message: &HostMessage,
    ) -> Result<Option<(ObjectId, Vec<Hash>)>> {
        // If there are several texts, their arrangement in the file is unknown.
        let [text] = message.texts.as_slice() else { return Ok(None) };
        if has_line_numbers(text) {
            return Ok(None);
        }
        let asked = Call::new(&call.tool, &call.args);
        let (first, is_range) = (asked.first_line(), asked.has_range());
        let (shown, is_cut) = without_notice(text, &message.details);
        if !is_range && !is_cut {
            let report = ToldText::Whole(text);
            let indexed = self.index_report(location, report, Cause::Read, &call.id)?;
            return Ok(indexed.map(|(object, version)| (object, vec![version])));
        }
        let object = location.id()?;
        let first = first.unwrap_or(1);
        if let Some(Subject::File { version, lines: Some(_), .. }) = self.state().subject(&object) {
            let version = version.clone();
            let known = self.journal.text(&object, &version)?;
            if locate_slice(&known, text, first).is_some() {
                return Ok(Some((object, vec![version])));
            }
        }
        let report = ToldText::Part(first, shown);
        let indexed = self.index_report(location, report, Cause::Read, &call.id)?;
        Ok(indexed.map(|(object, _)| (object, Vec::new())))
    }

    fn index_report(
        &mut self,
        location: &Location,
        report: ToldText<'_>,
        cause: Cause,
        call: &str,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let object = location.id()?;
        let max_bytes = self.options.settings.max_text_bytes;
        let report = match report {
            // No text of an excluded file is stored.
            _ if self.disk.is_excluded_at(location) => ToldText::Changed,
            ToldText::Whole(text) if text.len() as u64 > max_bytes => ToldText::Changed,
            report => report,
        };
        if self.journal.was_refused(&object) || location.path.to_str().is_none() {
            return Ok(None);
        }
        let found = source::index_told(location, report, self.journal.latest(&object)?)?;
        self.record_version(location, found, cause, Some(call)).map(Some)
    }
}
