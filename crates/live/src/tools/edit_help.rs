//! What a failed `edit` returns besides the host's error: the changes in the file since the version
//! that the model saw, and the lines closest to the text that it wanted to replace.
//!
//! A change that this shows counts as known to the model: no note repeats it. `context::edit_help`
//! decides which lines help.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Tools;
use crate::Notice;
use crate::workspace::{Announced, NoteBudget, describe_change};
use base::error::{Error, Result};
use base::harness::Call;
use base::object::{Hash, ObjectId};
use context::edit_help::{self, EditTarget};
use context::log_layout::Texts;
use session::{Cause, Event, Subject};

impl Tools<'_> {
    /// The file of an `edit` that failed, by the agent's absolute path, if help may look at it.
    pub(crate) fn file_of_edit(&self, args: &Value) -> Result<Option<PathBuf>> {
        let disk = self.workspace.disk();
        let Some(given) = Call::new("edit", args).path() else { return Ok(None) };
        let path = disk.resolve(given)?;
        let is_met = || Ok::<_, Error>(self.is_met(&disk.file_id(&path)?));
        let may_look = disk.location(&path).open.is_some() && !disk.is_excluded(&path);
        let may_look = may_look && (!self.journal.state().is_confined() || is_met()?);
        Ok(may_look.then_some(path))
    }

    /// What to add to the error of an `edit` of the file at `path`, for the model, with notices for
    /// the user; see [`LiveSession::explain_failed_edit`](crate::LiveSession::explain_failed_edit).
    pub(crate) fn help_for_edit(
        &mut self,
        path: &Path,
        args: &Value,
    ) -> Result<(Option<String>, Vec<Notice>)> {
        let replaced = Call::new("edit", args).replacements().into_iter();
        self.help_for(path, &replaced.map(|(old, _)| old).collect::<Vec<_>>())
    }

    fn help_for(
        &mut self,
        path: &Path,
        old_texts: &[&str],
    ) -> Result<(Option<String>, Vec<Notice>)> {
        let file = self.workspace.disk().file_id(path)?;
        let is_known = self.journal.state().index().get(&file).is_some();
        if !is_known && self.workspace.disk().regular_file(path).is_none() {
            return Ok((None, Vec::new()));
        }
        let seen = self.journal.state().seen(&file).cloned();
        let before = self.journal.state().announced_path(&file).map(str::to_owned);
        let cause = if is_known { Cause::Changed } else { Cause::Found };
        let Some((file, now)) = self.workspace.index_file(self.journal, path, cause, None)? else {
            return Ok((None, Vec::new()));
        };
        let (mut parts, mut notices) = (Vec::new(), Vec::new());
        if let Some(seen) = seen.filter(|seen| *seen != now) {
            let told = Announced { version: seen, path: before };
            let mut budget = NoteBudget::of_one_call();
            let change = describe_change(self.journal, &file, &told, &now, &mut budget)?;
            parts.extend(change.note);
            notices = change.notices;
            self.journal.record(Event::Told { object: file.clone(), version: now.clone() });
        }
        parts.extend(self.nearest(&file, &now, old_texts));
        Ok(((!parts.is_empty()).then(|| parts.join("\n")), notices))
    }

    fn nearest(&self, file: &ObjectId, now: &Hash, old_texts: &[&str]) -> Option<String> {
        let entry = self.journal.state().index().get(file)?;
        let shown @ Subject::File { lines: Some(_), .. } = &entry.subject else { return None };
        let text = self.journal.text(file, now).ok()?;
        let (handle, path) = (entry.handle, self.journal.state().shown_path(shown.agent_path()));
        edit_help::help(&EditTarget { handle, path, text: &text }, old_texts)
    }
}
