//! Files of a sandbox that this process cannot open: what the tools told of them (DESIGN.md section 5).
//!
//! A range never poses as the whole file. Must not look at the disk.

use serde_json::Value;

use super::LiveSession;
use super::disk::Files;
use crate::context::host::{HostCall, HostMessage};
use crate::context::log_layout::Texts;
use crate::error::Result;
use crate::object::{Hash, ObjectId, locate_slice};
use crate::session::{Cause, Subject};
use crate::source::{self, Location, Told};

impl LiveSession {
    /// Whether nothing is known of a file but what tools tell.
    pub(super) fn is_told_of(&self, location: &Location) -> bool {
        self.options.files != Files::Elsewhere && location.open.is_none()
    }

    /// Takes a call that changed a file out of reach; one that read it is taken with its result.
    pub(super) fn told_of_change(
        &mut self,
        location: &Location,
        cause: Cause,
        call: &str,
        args: &Value,
    ) -> Result<Option<(ObjectId, Hash)>> {
        match (cause, args.get("content").and_then(Value::as_str)) {
            (Cause::Written, Some(text)) => self.told(location, Told::Whole(text), cause, call),
            (cause, _) if cause.by_model() => self.told(location, Told::Changed, cause, call),
            _ => Ok(None),
        }
    }

    /// Takes the result of a `read` of a file out of reach. Returns the file and the version that holds what was shown: one
    /// that was known, where the lines are as they were, else a new one if the whole file was shown.
    pub(super) fn told_by_read(
        &mut self,
        location: &Location,
        call: &HostCall,
        message: &HostMessage,
    ) -> Result<Option<(ObjectId, Vec<Hash>)>> {
        let text = message.text().into_owned();
        let first = call.args.get("offset").and_then(Value::as_u64);
        let is_range = first.is_some() || call.args.get("limit").is_some_and(Value::is_number);
        let (shown, is_cut) = without_notice(&text, message);
        if !is_range && !is_cut {
            let told = self.told(location, Told::Whole(&text), Cause::Read, &call.id)?;
            return Ok(told.map(|(object, version)| (object, vec![version])));
        }
        let object = location.id()?;
        let first = first.unwrap_or(1).max(1);
        if let Some(Subject::File { version, lines: Some(_), .. }) =
            self.state.index().get(&object).map(|entry| &entry.subject)
        {
            let version = version.clone();
            let known = self.text(&object, &version)?;
            if locate_slice(&known, &text, first).is_some() {
                return Ok(Some((object, vec![version])));
            }
        }
        let told = self.told(location, Told::Part(first, shown), Cause::Read, &call.id)?;
        Ok(told.map(|(object, _)| (object, Vec::new())))
    }

    fn told(
        &mut self,
        location: &Location,
        told: Told<'_>,
        cause: Cause,
        call: &str,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let object = location.id()?;
        let told = match told {
            // Of a file that is excluded no text is stored.
            _ if self.is_excluded_at(location) => Told::Changed,
            Told::Whole(text) if text.len() as u64 > self.settings.max_text_bytes => Told::Changed,
            told => told,
        };
        if self.forgotten.contains(&object) || location.path.to_str().is_none() {
            return Ok(None);
        }
        let found = source::index_told(location, told, self.latest(&object)?)?;
        Ok(Some(self.enter_version(location, found, cause, Some(call))))
    }
}

/// The lines of a `read` without the notice that says that there are more, and whether there are. Hosts put it behind an empty
/// line, in brackets.
fn without_notice<'a>(text: &'a str, message: &HostMessage) -> (&'a str, bool) {
    let is_cut = message.details.get("truncation").is_some_and(|found| !found.is_null());
    let notice = text.rsplit_once("\n\n[").filter(|(_, notice)| {
        notice.ends_with(']') && !notice.contains('\n') && notice.contains(" line")
    });
    match notice {
        Some((shown, _)) => (shown, true),
        // `[Line 1 is 80KB, exceeds the limit …]` shows nothing of the file.
        None if is_cut => (if text.starts_with('[') { "" } else { text }, true),
        None => (text, false),
    }
}
