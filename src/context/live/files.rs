//! Files that tools touch and that change on disk: from the file to a version, an event, a note.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use similar::TextDiff;

use super::{LiveSession, Notice};
use crate::context::forms;
use crate::context::log_layout::Texts;
use crate::context::tokens;
use crate::error::Result;
use crate::object::{AsOf, Envelope, Handle, Hash, ObjectId, Payload};
use crate::session::{Cause, Event, FileEvent, LineMap, Subject};
use crate::source::{self, FileReading, FileState};
use crate::store::Expected;

/// Lines of difference that a note shows of one file.
const NOTE_LINES: usize = 40;
/// Tokens of difference that the notes of one call show.
const NOTE_TOKENS: u64 = 1_000;
/// Paths that one listing or search may bring into the session index.
const FOUND_PATHS: usize = 200;

/// A tool call that came to its end.
#[derive(Debug, Clone)]
pub struct ToolFinished {
    /// The provider's call ID.
    pub call: String,
    /// Tool name.
    pub tool: String,
    /// Arguments.
    pub args: Value,
    /// Whether it failed.
    pub is_error: bool,
    /// The text it showed, for tools that list paths.
    pub text: String,
}

impl LiveSession {
    /// Takes the side effects of a tool call: files read, edited, written, found. Stored with the next call's record.
    pub fn tool_finished(&mut self, finished: &ToolFinished) -> Result<()> {
        if finished.is_error {
            return Ok(());
        }
        self.refresh_if_stale()?;
        let cause = match finished.tool.as_str() {
            "read" => Cause::Read,
            "edit" => Cause::Edited,
            "write" => Cause::Written,
            "ls" | "find" | "grep" => return self.found(finished),
            _ => return Ok(()),
        };
        let Some(path) = finished.args.get("path").and_then(Value::as_str) else { return Ok(()) };
        let path = match cause {
            Cause::Read => source::read_path(path, &self.options.cwd)?,
            _ => source::resolve_path(path, &self.options.cwd)?,
        };
        self.index_file(&path, cause, Some(&finished.call))?;
        Ok(())
    }

    /// Reads a file and makes a version of what is there (SSOT 5.6). Returns its object and version; `None` where nothing
    /// can be said of it (no permission, no file that has bytes): what was known stands.
    pub(super) fn index_file(
        &mut self,
        path: &Path,
        cause: Cause,
        call: Option<&str>,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let canonical = source::canonical_path(path);
        let FileReading { state, stamp } =
            source::read_file(&canonical, self.settings.max_text_bytes);
        if matches!(state, FileState::Unreadable { .. } | FileState::NotAFile) {
            return Ok(None);
        }
        let (envelope, payload) =
            source::file_object(&self.options.filesystem_id, &canonical, &state)?;
        let version = payload.content_hash(None)?;
        let object = envelope.id.clone();
        let text: Option<Arc<str>> = payload.content.as_deref().map(Arc::from);
        let moved = match (&text, self.text_before(&object, &version)) {
            (Some(new), Some(old)) => Some(LineMap::between(&old, new)),
            _ => None,
        };
        if let Some(text) = &text {
            self.remember_text(&object, &version, Arc::clone(text));
        }
        if !self.knows_version(&object, &version) {
            self.staged.objects.push((envelope, payload, Expected::Any));
        }
        self.record(Event::File(FileEvent {
            object: object.clone(),
            path: canonical.to_string_lossy().into_owned(),
            version: version.clone(),
            lines: text.map(|text| text.split('\n').count() as u64),
            cause,
            call: call.map(str::to_owned),
            stamp,
            moved,
        }));
        Ok(Some((object, version)))
    }

    /// Looks at the files whose text stands in the window and returns notes on those that changed on disk.
    ///
    /// The model's own edits made their versions when they happened and are no change here.
    pub(super) fn changed_on_disk(&mut self, notices: &mut Vec<Notice>) -> Result<Vec<String>> {
        let mut standing: Vec<ObjectId> = Vec::new();
        for showing in self.state.all_showings() {
            if !standing.contains(&showing.object) {
                standing.push(showing.object.clone());
            }
        }
        let mut notes = Vec::new();
        let mut budget = NOTE_TOKENS;
        for object in standing {
            let Some((path, before)) = self.stamp_differs(&object)? else { continue };
            let indexed = self.index_file(&path, Cause::Changed, None)?;
            if let Some((_, after)) = indexed.filter(|(_, after)| *after != before) {
                notes.extend(self.note(&object, &before, &after, &mut budget, notices)?);
            }
        }
        Ok(notes)
    }

    /// The file's path and known version, if it may have changed on disk.
    fn stamp_differs(&self, object: &ObjectId) -> Result<Option<(PathBuf, Hash)>> {
        let Some(Subject::File { version, stamp, .. }) =
            self.state.index().get(object).map(|entry| &entry.subject)
        else {
            return Ok(None);
        };
        let Some(path) = self.path_of(object)? else { return Ok(None) };
        Ok((source::stamp(&path) != *stamp).then(|| (path, version.clone())))
    }

    fn note(
        &self,
        object: &ObjectId,
        before: &Hash,
        after: &Hash,
        budget: &mut u64,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<String>> {
        let Some(entry) = self.state.index().get(object) else { return Ok(None) };
        let Subject::File { path, lines, .. } = &entry.subject else { return Ok(None) };
        let path = self.state.shown_path(path);
        let seen = self.seen_in(object);
        if lines.is_none() {
            return Ok(Some(forms::gone_line(entry.handle, path, seen)));
        }
        let (old, new) = (self.text(object, before)?, self.text(object, after)?);
        let (added, removed) = LineMap::between(&old, &new).added_removed();
        notices.push(Notice::FileChanged {
            handle: entry.handle.to_string(),
            path: path.to_owned(),
            added,
            removed,
        });
        let head = forms::changed_line(entry.handle, path, seen, added, removed);
        Ok(Some(with_difference(head, entry.handle, &old, &new, budget)))
    }

    /// The result in which the model last saw text of a file.
    fn seen_in(&self, object: &ObjectId) -> Option<Handle> {
        let last = self.state.showings(object).next_back()?;
        self.state.handle(self.state.result(last.at)?.object.as_ref()?)
    }

    fn found(&mut self, finished: &ToolFinished) -> Result<()> {
        let paths = source::discovered_paths(
            &finished.tool,
            &finished.args,
            &self.options.cwd,
            &finished.text,
            FOUND_PATHS,
        );
        for path in paths {
            let canonical = source::canonical_path(&path);
            let (envelope, payload) =
                source::discovered_object(&self.options.filesystem_id, &canonical)?;
            if self.state.index().get(&envelope.id).is_none() {
                self.enter_found(envelope, payload, &canonical)?;
            }
        }
        Ok(())
    }

    /// Enters a file of which only the path is known; a version that the store already has stands.
    fn enter_found(&mut self, envelope: Envelope, payload: Payload, path: &Path) -> Result<()> {
        let object = envelope.id.clone();
        let version = if let Some(known) = self.store.get(&object, AsOf::Latest)? {
            known.content_hash
        } else {
            let version = payload.content_hash(None)?;
            self.staged.objects.push((envelope, payload, Expected::Any));
            version
        };
        self.record(Event::File(FileEvent {
            object,
            path: path.to_string_lossy().into_owned(),
            version,
            lines: None,
            cause: Cause::Found,
            call: None,
            stamp: None,
            moved: None,
        }));
        Ok(())
    }

    fn knows_version(&self, object: &ObjectId, version: &Hash) -> bool {
        matches!(
            self.state.index().get(object).map(|entry| &entry.subject),
            Some(Subject::File { version: known, .. }) if known == version
        )
    }

    /// Text of the version that the session knew before, if the file has another one now.
    fn text_before(&self, object: &ObjectId, version: &Hash) -> Option<Arc<str>> {
        match &self.state.index().get(object)?.subject {
            Subject::File { version: before, lines: Some(_), .. } if before != version => {
                self.text(object, before).ok()
            }
            _ => None,
        }
    }

    /// Canonical path of a file of the session index.
    pub(super) fn path_of(&self, object: &ObjectId) -> Result<Option<PathBuf>> {
        let staged =
            self.staged.objects.iter().map(|(envelope, ..)| envelope).find(|e| e.id == *object);
        let stored = match staged {
            Some(envelope) => Some(envelope.clone()),
            None => self.store.get(object, AsOf::Latest)?.map(|version| version.envelope),
        };
        Ok(stored.and_then(|envelope| envelope.source).map(|source| PathBuf::from(source.path())))
    }
}

/// A heading and the unified difference of two texts, within the limits of a note.
fn with_difference(head: String, handle: Handle, old: &str, new: &str, budget: &mut u64) -> String {
    let diff = TextDiff::from_lines(old, new);
    let unified = diff.unified_diff().context_radius(2).to_string();
    let lines: Vec<&str> = unified.lines().collect();
    let mut shown = vec![head];
    let mut rest = 0;
    for (index, line) in lines.iter().enumerate() {
        let cost = tokens::count(line) + 1;
        if rest > 0 || index >= NOTE_LINES || cost > *budget {
            rest += u64::from(line.starts_with('+') || line.starts_with('-'));
        } else {
            *budget -= cost;
            shown.push((*line).to_owned());
        }
    }
    if rest > 0 {
        shown.push(forms::more_changes_line(handle, rest));
    }
    shown.join("\n")
}
