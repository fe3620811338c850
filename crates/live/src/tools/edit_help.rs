//! What a failed `edit` returns besides the host's error: the changes in the file since the version
//! that the model saw, and the lines closest to the text that it wanted to replace.
//!
//! A change that this shows counts as known to the model: no note repeats it. `context::edit_help`
//! decides which lines help.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::LiveSession;
use crate::Notice;
use crate::workspace::{Announced, Detail, NoteBudget, describe_change, is_known, record_told};
use base::error::Result;
use base::harness::Call;
use base::object::{Hash, ObjectId};
use context::additions::Additions;
use context::edit_help::{self, EditTarget};
use context::log_layout::Texts;
use session::{Cause, Event, Subject};

impl LiveSession {
    /// The file of an `edit` that failed, by the agent's absolute path, if help may look at it.
    fn file_of_edit(&self, args: &Value) -> Result<Option<PathBuf>> {
        let disk = &self.disk;
        let Some(given) = Call::new("edit", args).path() else { return Ok(None) };
        let path = disk.resolve(given)?;
        let location = disk.location(&path);
        let file = location.id()?;
        // Of an excluded file that the model saw, the stamp is compared; it is not opened.
        let is_seen = || self.state().files().seen(&file).is_some();
        let may_look = location.open.is_some() && (is_seen() || !disk.is_excluded(&path));
        let may_look = may_look && (!self.state().is_confined() || self.is_met(&file));
        Ok(may_look.then_some(path))
    }

    /// What to add to the error of a failed `edit`, for the model. `None` if nothing helps: nothing
    /// changed and each text occurs once, or the file is not text, excluded, forgotten, or unknown
    /// and missing.
    ///
    /// `args`: the arguments of the call: `path`, and `edits` with an `oldText` each, or one
    /// `oldText`. What this tells the model is stored when it returns.
    pub fn explain_failed_edit(&mut self, args: &Value) -> Result<Option<String>> {
        let _bounded = self.bounded();
        let Some(path) = self.file_of_edit(args)? else { return Ok(None) };
        let replaced = Call::new("edit", args).replacements().into_iter();
        let old_texts: Vec<&str> = replaced.map(|(old, _)| old).collect();
        self.durably(|live| {
            let (help, notices) = live.help_for(&path, &old_texts)?;
            live.commit_staged()?;
            live.waiting.extend(notices);
            Ok(help)
        })
    }

    /// With notices for the user.
    fn help_for(
        &mut self,
        path: &Path,
        old_texts: &[&str],
    ) -> Result<(Option<String>, Vec<Notice>)> {
        let file = self.disk.file_id(path)?;
        let is_met = self.state().subject(&file).is_some();
        if !is_met && self.disk.regular_file(path).is_none() {
            return Ok((None, Vec::new()));
        }
        let seen = self.state().files().seen(&file).cloned();
        let before = self.state().announced_path(&file).map(str::to_owned);
        let cause = if is_met { Cause::Checked } else { Cause::Found };
        let Some((file, now)) = self.index_file(path, cause)? else {
            return Ok((None, Vec::new()));
        };
        let room = Additions::of(self.state());
        let mut budget = NoteBudget::of_one_call(room.texts);
        let (mut parts, mut notices) = (Vec::new(), Vec::new());
        let was_told = self.state().was_told_since_seen(&file);
        let is_new =
            |seen: &Hash| *seen != now || was_told || !is_known(&self.journal, &file, &now);
        let mut told_of = None;
        if let Some(seen) = seen.filter(is_new) {
            let is_other = seen != now;
            let told = Announced { version: seen, path: before };
            let detail = (Detail::Lines, &mut budget);
            let change = describe_change(&self.journal, &file, &told, &now, detail)?;
            told_of = Some((now.clone(), is_other && change.is_in_part()));
            parts.extend(change.note);
            notices = change.notices;
        }
        let left = room.texts.saturating_sub(self.options.counter.count(&parts.join("\n")));
        parts.extend(self.nearest(&file, &now, old_texts, left));
        let text = parts.join("\n");
        let tokens = self.options.counter.count(&text);
        if text.is_empty() || !room.holds(tokens) {
            return Ok((None, Vec::new()));
        }
        if let Some((version, is_in_part)) = told_of {
            record_told(&mut self.journal, file.clone(), version, is_in_part);
        }
        self.journal.record(Event::Helped { object: file, text: text.clone(), tokens });
        Ok((Some(text), notices))
    }

    /// `room`: tokens of the file's lines that may be shown.
    fn nearest(
        &self,
        file: &ObjectId,
        now: &Hash,
        old_texts: &[&str],
        room: u64,
    ) -> Option<String> {
        let entry = self.state().index().get(file)?;
        let shown @ Subject::File { lines: Some(_), .. } = &entry.subject else { return None };
        let text = self.journal.text(file, now).ok()?;
        let (handle, path) = (entry.handle, self.state().shown_path(shown.agent_path()));
        edit_help::help(&EditTarget { handle, path, text: &text }, old_texts, room)
    }
}
