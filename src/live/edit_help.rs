//! What a failed `edit` returns besides the host's error: what changed in the file since the version that the model saw, and
//! the lines that come nearest to what it wanted to replace (DESIGN.md section 7, *Rules*).
//!
//! What is told here counts as told: no note repeats it. Which lines help is decided in `context::edit_help`.

use std::path::Path;

use serde_json::Value;

use super::files::NOTE_TOKENS;
use super::{LiveSession, Notice};
use crate::context::edit_help::{self, Target};
use crate::context::log_layout::Texts;
use crate::error::Result;
use crate::object::{Hash, ObjectId};
use crate::session::{Cause, Event, Subject};

impl LiveSession {
    /// What to add to the error of an `edit` that failed, for the model; `None` where nothing helps: nothing changed and each
    /// text stands once, the file is not text, or is excluded, forgotten or unknown and not there.
    ///
    /// `args`: the arguments of the call: `path`, and `edits` with an `oldText` each, or one `oldText`. What is told is stored
    /// when it returns.
    pub fn edit_failed(&mut self, args: &Value) -> Result<Option<String>> {
        let Some(path) = args.get("path").and_then(Value::as_str) else { return Ok(None) };
        let path = self.resolve(path)?;
        if self.location(&path).open.is_none() || self.is_excluded(&path) {
            return Ok(None);
        }
        let old_texts = old_texts(args);
        self.durably(|live| {
            let mut notices = Vec::new();
            let help = live.help_for(&path, &old_texts, &mut notices)?;
            if !live.staged.events.is_empty() {
                live.commit()?;
            }
            live.waiting.extend(notices);
            Ok(help)
        })
    }

    fn help_for(
        &mut self,
        path: &Path,
        old_texts: &[&str],
        notices: &mut Vec<Notice>,
    ) -> Result<Option<String>> {
        self.renew_events_left();
        let file = self.file_id(path)?;
        let is_known = self.state.index().get(&file).is_some();
        if !is_known && self.regular_file(path).is_none() {
            return Ok(None);
        }
        let seen = self.state.seen(&file).cloned();
        let before = self.state.announced_path(&file).map(str::to_owned);
        let cause = if is_known { Cause::Changed } else { Cause::Found };
        let Some((file, now)) = self.index_file(path, cause, None)? else { return Ok(None) };
        let mut parts = Vec::new();
        if let Some(seen) = seen.filter(|seen| *seen != now) {
            let mut budget = NOTE_TOKENS;
            parts.extend(self.note(
                &file,
                (&seen, before.as_deref()),
                &now,
                &mut budget,
                notices,
            )?);
            self.record(Event::Told { object: file.clone(), version: now.clone() });
        }
        parts.extend(self.nearest(&file, &now, old_texts));
        Ok((!parts.is_empty()).then(|| parts.join("\n")))
    }

    fn nearest(&self, file: &ObjectId, now: &Hash, old_texts: &[&str]) -> Option<String> {
        let entry = self.state.index().get(file)?;
        let shown @ Subject::File { lines: Some(_), .. } = &entry.subject else { return None };
        let text = self.text(file, now).ok()?;
        let (handle, path) = (entry.handle, self.state.shown_path(shown.agent_path()));
        edit_help::help(&Target { handle, path, text: &text }, old_texts)
    }
}

/// The texts that an `edit` replaces, in the shapes that Pi's tool takes.
fn old_texts(args: &Value) -> Vec<&str> {
    let edits = args.get("edits").and_then(Value::as_array);
    let several = edits.into_iter().flatten().filter_map(|edit| edit.get("oldText")?.as_str());
    several.chain(args.get("oldText").and_then(Value::as_str)).collect()
}
