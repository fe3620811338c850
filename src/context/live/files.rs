//! Files that tools touch and that change on disk: from the file to a version, an event, a note.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{LiveSession, Notice};
use crate::context::forms;
use crate::context::log_layout::Texts;
use crate::context::tokens;
use crate::context::tool_kind::{self, ToolKind};
use crate::error::{Error, Result};
use crate::object::{AsOf, Handle, Hash, ObjectId, unified_diff};
use crate::session::{Cause, Event, FileEvent, LineMap, Subject};
use crate::source::{
    self, DiscoveryLimits, FileReading, FileStamp, FileState, IndexOutcome, Indexed, Latest,
    Location, Naming,
};
use crate::store::Expected;

/// Lines of difference that a note shows of one file.
const NOTE_LINES: usize = 40;
/// Tokens of difference that the notes of one call show.
pub(super) const NOTE_TOKENS: u64 = 1_000;
/// What one listing, search or command may bring into the session index, and cost.
const FOUND_LIMITS: DiscoveryLimits = DiscoveryLimits { files: 200, look_ups: 1_000 };
/// Arguments by which a shell is told where to run a command.
const FOLDER_ARGS: [&str; 3] = ["cwd", "workdir", "directory"];

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
    /// The text it showed, for tools that name files: `ls`, `find`, `grep` and shells.
    pub text: String,
}

impl LiveSession {
    /// Takes the side effects of a tool call: files read, edited, written, found. They are stored when it returns.
    pub fn tool_finished(&mut self, finished: &ToolFinished) -> Result<()> {
        let command = shell_command(finished);
        // A command that fails has shown what it shows: the places of a compiler's errors, the tests that failed.
        if finished.is_error && command.is_none() {
            return Ok(());
        }
        self.durably(|live| {
            match (live.touched(&finished.tool, &finished.args)?, &command) {
                (Some((cause, path)), _) => {
                    live.index_file(&path, cause, Some(&finished.call))?;
                }
                (None, Some(line)) => live.found(Naming::Command { line }, finished)?,
                (None, None) => {
                    let path = finished.args.get("path").and_then(Value::as_str);
                    match finished.tool.as_str() {
                        "ls" | "find" => live.found(Naming::Listing { path }, finished)?,
                        "grep" => live.found(Naming::Search { path }, finished)?,
                        _ => {}
                    }
                }
            }
            if live.staged.events.is_empty() { Ok(()) } else { live.commit() }
        })
    }

    /// The file that a call of a tool reads or changes.
    pub(super) fn touched(&self, tool: &str, args: &Value) -> Result<Option<(Cause, PathBuf)>> {
        let Some(path) = args.get("path").and_then(Value::as_str) else { return Ok(None) };
        let (cause, path) = match tool {
            "read" => (Cause::Read, self.path_read(path)?),
            "edit" => (Cause::Edited, source::resolve_path(path, &self.options.cwd)?),
            "write" => (Cause::Written, source::resolve_path(path, &self.options.cwd)?),
            _ => return Ok(None),
        };
        Ok(Some((cause, path)))
    }

    /// Reads a file and makes a version of what is there (SSOT 5.6). Returns its object and version; `None` where nothing
    /// can be said of it (no permission, no file that has bytes, a path that is no UTF-8): what was known stands.
    pub(super) fn index_file(
        &mut self,
        path: &Path,
        cause: Cause,
        call: Option<&str>,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let location = self.location(path);
        let object = location.id()?;
        if self.is_forgotten(&object)? || location.path.to_str().is_none() {
            return Ok(None);
        }
        let reading = source::look(&location, self.is_excluded(path), self.settings.max_text_bytes);
        let Some(found) = source::index(&location, reading, self.latest(&object)?)? else {
            return Ok(None);
        };
        let Indexed { envelope, payload, version, outcome, stamp } = found;
        let text: Option<Arc<str>> = payload.content.as_deref().map(Arc::from);
        let moved = match (&text, self.text_before(&object, &version)) {
            (Some(new), Some(old)) => Some(LineMap::between(&old, new)),
            _ => None,
        };
        if let Some(text) = &text {
            self.remember_text(&object, &version, Arc::clone(text));
        }
        if outcome != IndexOutcome::Unchanged {
            self.staged.objects.push((envelope, payload, Expected::Any));
        }
        if cause == Cause::Changed && self.is_as_told(&object, &version, stamp) {
            return Ok(Some((object, version)));
        }
        self.record(Event::File(FileEvent {
            object: object.clone(),
            path: location.path.to_string_lossy().into_owned(),
            version: version.clone(),
            lines: text.map(|text| text.split('\n').count() as u64),
            cause,
            call: call.map(str::to_owned),
            stamp,
            moved,
        }));
        Ok(Some((object, version)))
    }

    /// The latest version of an object, waiting to be stored or stored.
    fn latest(&self, id: &ObjectId) -> Result<Option<Latest>> {
        let staged = self.staged.objects.iter().rev().find(|(envelope, ..)| envelope.id == *id);
        match staged {
            Some((_, payload, _)) => Latest::staged(payload).map(Some),
            None => Ok(self.store.get(id, AsOf::Latest)?.map(Latest::from)),
        }
    }

    /// Files whose text stands in the window.
    pub(super) fn standing_files(&self) -> Vec<ObjectId> {
        let mut seen = HashSet::new();
        let standing = self.state.all_showings().map(|showing| &showing.object);
        standing.filter(|object| seen.insert(*object)).cloned().collect()
    }

    /// Files whose content is active (`pools`).
    pub(super) fn active_files(&self) -> Vec<ObjectId> {
        self.state.sets().active().map(|active| active.id.clone()).collect()
    }

    /// Looks at files and returns notes on those that changed on disk since the model was told of them.
    ///
    /// The model's own edits made their versions when they happened and are no change here.
    pub(super) fn changed_on_disk(
        &mut self,
        files: Vec<ObjectId>,
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        if !self.files_are_here() {
            return Ok(notes);
        }
        let mut budget = NOTE_TOKENS;
        for file in files {
            let Some(Subject::File { path, version, stamp, .. }) =
                self.state.index().get(&file).map(|entry| &entry.subject)
            else {
                continue;
            };
            let path = PathBuf::from(path);
            let Some(told) = self.state.told(&file).cloned() else { continue };
            if source::stamp(&path) == *stamp && told == *version {
                continue;
            }
            let indexed = self.index_file(&path, Cause::Changed, None)?;
            if let Some((_, now)) = indexed.filter(|(_, now)| *now != told) {
                notes.extend(self.note(&file, &told, &now, &mut budget, notices)?);
            }
        }
        Ok(notes)
    }

    /// What is to be said of a file that was told in one version and is another now; `None` where nothing is.
    pub(super) fn note(
        &self,
        file: &ObjectId,
        told: &Hash,
        now: &Hash,
        budget: &mut u64,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<String>> {
        let Some(entry) = self.state.index().get(file) else { return Ok(None) };
        let Subject::File { path, lines, .. } = &entry.subject else { return Ok(None) };
        let (handle, path) = (entry.handle, self.state.shown_path(path));
        let seen = self.seen_in(file);
        if lines.is_none() {
            let fields = self.latest_fields(file)?;
            let is_gone =
                fields.is_some_and(|fields| fields.get("no_content") == Some(&json!("deleted")));
            let line = if is_gone { forms::gone_line } else { forms::no_text_line };
            return Ok(Some(line(handle, path, seen)));
        }
        let Some(old) = self.text_told(file, told)? else { return Ok(None) };
        let new = self.text(file, now)?;
        if old == new && self.text(file, told).is_ok() {
            // Only what people say of the file differs.
            return Ok(None);
        }
        let moved = LineMap::between(&old, &new);
        let (added, removed) = moved.added_removed();
        let path_shown = path.to_owned();
        notices.push(Notice::FileChanged {
            handle: handle.to_string(),
            path: path_shown,
            added,
            removed,
        });
        if old == new {
            return Ok(Some(forms::back_line(handle, path, seen)));
        }
        let by_other = self.is_by_another_session(file, told, now);
        let head = forms::changed_line(handle, path, seen, by_other, (added, removed));
        if moved.is_coarse() {
            let rest = forms::more_changes_line(handle, added + removed);
            return Ok(Some(format!("{head}\n{rest}")));
        }
        Ok(Some(with_difference(head, handle, &old, &new, budget)))
    }

    /// The text of a file that the model knows: that of the version it was told of, or if this had none, of what stands.
    fn text_told(&self, file: &ObjectId, told: &Hash) -> Result<Option<Arc<str>>> {
        match self.text(file, told) {
            Err(Error::NotFound { .. }) => match self.state.showings(file).next_back() {
                Some(showing) => self.text(file, &showing.version).map(Some),
                None => Ok(None),
            },
            text => text.map(Some),
        }
    }

    /// The result in which the model last saw text of a file.
    fn seen_in(&self, object: &ObjectId) -> Option<Handle> {
        let last = self.state.showings(object).next_back()?;
        self.state.handle(self.state.result(last.at)?.object.as_ref()?)
    }

    /// Enters the files that a call named and that the session has not met, by their paths alone.
    fn found(&mut self, naming: Naming<'_>, finished: &ToolFinished) -> Result<()> {
        let given = FOLDER_ARGS.iter().find_map(|name| finished.args.get(*name)?.as_str());
        let folder = match (naming, given) {
            (Naming::Command { .. }, Some(given)) => {
                source::absolute_path(given, &self.options.cwd)
            }
            _ => self.options.cwd.clone(),
        };
        let look = |path: &Path| self.regular_file(path);
        let files = source::discovered_files(naming, &folder, &finished.text, FOUND_LIMITS, &look);
        // Of a path that is not UTF-8 no object is made.
        for location in files.iter().filter(|location| location.path.to_str().is_some()) {
            let object = location.id()?;
            if self.state.index().get(&object).is_none() && !self.is_forgotten(&object)? {
                self.enter_found(location, object)?;
            }
        }
        Ok(())
    }

    /// Enters a file of which only the path is known; a version that the store already has stands.
    fn enter_found(&mut self, location: &Location, object: ObjectId) -> Result<()> {
        let reading = FileReading { state: FileState::NotRead, stamp: None };
        let Some(found) = source::index(location, reading, self.latest(&object)?)? else {
            return Ok(());
        };
        if found.outcome != IndexOutcome::Unchanged {
            self.staged.objects.push((found.envelope, found.payload, Expected::Any));
        }
        let path = location.path.to_string_lossy().into_owned();
        self.record(met_file(object, path, found.version, Cause::Found));
        Ok(())
    }

    /// Whether a file is in the version that is known and told, with the stamp that is known: a look brought nothing.
    fn is_as_told(&self, object: &ObjectId, version: &Hash, stamp: Option<FileStamp>) -> bool {
        let is_known = matches!(
            self.state.index().get(object).map(|entry| &entry.subject),
            Some(Subject::File { version: known, stamp: before, .. })
                if known == version && *before == stamp
        );
        is_known && self.state.told(object) == Some(version)
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

    /// Path of a file.
    pub(super) fn path_of(&self, object: &ObjectId) -> Result<Option<PathBuf>> {
        if let Some(Subject::File { path, .. }) =
            self.state.index().get(object).map(|entry| &entry.subject)
        {
            return Ok(Some(PathBuf::from(path)));
        }
        let version = self.store.get(object, AsOf::Latest)?;
        let source = version.and_then(|version| version.envelope.source);
        Ok(source.and_then(|source| source.path().map(PathBuf::from)))
    }
}

/// The command that a call ran in a shell.
fn shell_command(finished: &ToolFinished) -> Option<String> {
    match tool_kind::kind(&finished.tool, &finished.args) {
        ToolKind::Shell(_) => tool_kind::command_of(&finished.args),
        _ => None,
    }
}

/// The event of a file that is met without a look at it.
pub(super) fn met_file(object: ObjectId, path: String, version: Hash, cause: Cause) -> Event {
    Event::File(FileEvent {
        object,
        path,
        version,
        lines: None,
        cause,
        call: None,
        stamp: None,
        moved: None,
    })
}

/// A heading and the unified difference of two texts, within the limits of a note.
fn with_difference(head: String, handle: Handle, old: &str, new: &str, budget: &mut u64) -> String {
    let unified = unified_diff(old, new, 2);
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
