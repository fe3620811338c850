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
                    let location = live.location(&path);
                    if live.is_told_of(&location) {
                        live.told_of_change(&location, cause, &finished.call, &finished.args)?;
                    } else {
                        live.index_found(&path, &location, cause, Some(&finished.call))?;
                    }
                }
                (None, Some(line)) => {
                    // Before its new place is met as a file of its own.
                    live.moved_by_command(line, &live.folder_of(&finished.args))?;
                    live.found(Naming::Command { line }, finished)?;
                }
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
            "edit" => (Cause::Edited, self.resolve(path)?),
            "write" => (Cause::Written, self.resolve(path)?),
            _ => return Ok(None),
        };
        Ok(Some((cause, path)))
    }

    /// Reads the file at an agent's path, see [`Self::index_at`].
    pub(super) fn index_file(
        &mut self,
        path: &Path,
        cause: Cause,
        call: Option<&str>,
    ) -> Result<Option<(ObjectId, Hash)>> {
        self.index_found(path, &self.location(path), cause, call)
    }

    /// As [`Self::index_file`], where the path is known to lead to `location`: to follow its links is a look at the disk.
    fn index_found(
        &mut self,
        path: &Path,
        location: &Location,
        cause: Cause,
        call: Option<&str>,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let is_excluded = self.exclude.excludes_name(path) || self.is_excluded_at(location);
        let reading = source::look(location, is_excluded, self.settings.max_text_bytes);
        self.index_at(location, reading, cause, call)
    }

    /// Reads a file that is known.
    pub(super) fn look_again(&self, location: &Location) -> FileReading {
        source::look(location, self.is_excluded_at(location), self.settings.max_text_bytes)
    }

    /// Makes a version of what was found of a file (SSOT 5.6). Returns its object and version; `None` where nothing can be
    /// said of it (no permission, no file that has bytes, a path that is no UTF-8): what was known stands.
    pub(super) fn index_at(
        &mut self,
        location: &Location,
        reading: FileReading,
        cause: Cause,
        call: Option<&str>,
    ) -> Result<Option<(ObjectId, Hash)>> {
        let object = location.id()?;
        if self.is_forgotten(&object)? || location.path.to_str().is_none() {
            return Ok(None);
        }
        if reading.state == FileState::Missing && !self.is_mounted(&object, location) {
            return Ok(None);
        }
        if reading.state == FileState::NotRead && self.knows(&object) {
            // Nothing new is known of it.
            return Ok(self.enter_again(object, location, cause, call));
        }
        let Some(found) = source::index(location, reading, self.latest(&object)?)? else {
            return Ok(None);
        };
        Ok(Some(self.enter_version(location, found, cause, call)))
    }

    /// Takes a version that a file should have.
    pub(super) fn enter_version(
        &mut self,
        location: &Location,
        found: Indexed,
        cause: Cause,
        call: Option<&str>,
    ) -> (ObjectId, Hash) {
        let object = found.envelope.id.clone();
        let Indexed { envelope, payload, version, outcome, stamp } = found;
        let mut text: Option<Arc<str>> = payload.content.as_deref().map(Arc::from);
        if outcome == IndexOutcome::Unchanged && self.is_told_of(location) {
            // What another session was told of it.
            text = self.text(&object, &version).ok();
        }
        let moved = match (&text, self.text_before(&object, &version)) {
            (Some(new), Some(old)) => Some(LineMap::between(&old, new)),
            _ => None,
        };
        if let Some(text) = &text {
            self.remember_text(&object, &version, Arc::clone(text));
        }
        if outcome != IndexOutcome::Unchanged {
            self.staged.objects.push((envelope, payload, Expected::Any));
        } else if cause == Cause::Changed && self.is_as_told(&object, &version, stamp) {
            return (object, version);
        }
        self.record(Event::File(FileEvent {
            lines: text.map(|text| text.split('\n').count() as u64),
            call: call.map(str::to_owned),
            stamp,
            moved,
            ..self.met(object.clone(), location, version.clone(), cause)
        }));
        (object, version)
    }

    fn knows(&self, object: &ObjectId) -> bool {
        self.state.index().get(object).is_some()
    }

    /// Notes a call that touched a file of which nothing new is known.
    fn enter_again(
        &mut self,
        object: ObjectId,
        location: &Location,
        cause: Cause,
        call: Option<&str>,
    ) -> Option<(ObjectId, Hash)> {
        let Some(Subject::File { version, lines, .. }) =
            self.state.index().get(&object).map(|entry| &entry.subject)
        else {
            return None;
        };
        let (version, lines) = (version.clone(), *lines);
        let met = self.met(object.clone(), location, version.clone(), cause);
        self.record(Event::File(FileEvent { lines, call: call.map(str::to_owned), ..met }));
        Some((object, version))
    }

    /// The latest version of an object, waiting to be stored or stored.
    pub(super) fn latest(&self, id: &ObjectId) -> Result<Option<Latest>> {
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
        self.renew_events_left();
        let began = self.store.now();
        let mut budget = NOTE_TOKENS;
        for file in self.settle_moves(files)? {
            let Some(Subject::File { version, stamp, lines, .. }) =
                self.state.index().get(&file).map(|entry| &entry.subject)
            else {
                continue;
            };
            let Some(location) = self.location_of(&file)? else { continue };
            let Some(told) = self.state.announced(&file).cloned() else { continue };
            let before = self.state.announced_path(&file).map(str::to_owned);
            let is_settled = before.is_none() && self.state.orphaned(&file).is_none();
            let Some(open) = &location.open else { continue };
            let now = source::stamp(open);
            // Of a text that got no stamp, as it was written just then, nothing is known yet.
            let is_known = now.is_some() || lines.is_none();
            if is_settled && is_known && now == *stamp && told == *version {
                continue;
            }
            let Some(now) = self.index_known(&file, &location, Cause::Changed)? else {
                notes.extend(self.out_of_reach(&file, &location, notices));
                continue;
            };
            let is_back = self.back_in_reach(&file, notices);
            if now != told || before.is_some() {
                let told = (&told, before.as_deref());
                notes.extend(self.note(&file, told, &now, &mut budget, notices)?);
            } else {
                notes.extend(is_back);
            }
        }
        self.looked = began;
        Ok(notes)
    }

    /// Makes a version of what is in the place of a file that is known; `None` where nothing can be said of it. A link that
    /// took the place is not the file.
    pub(super) fn index_known(
        &mut self,
        file: &ObjectId,
        location: &Location,
        cause: Cause,
    ) -> Result<Option<Hash>> {
        let reading = if self.led_to(location).id()? == *file {
            self.look_again(location)
        } else {
            FileReading { state: FileState::Missing, stamp: None }
        };
        Ok(self.index_at(location, reading, cause, None)?.map(|(_, now)| now))
    }

    /// What is to be said of a file that was told in one version and is another now; `None` where nothing is.
    pub(super) fn note(
        &self,
        file: &ObjectId,
        (told, before): (&Hash, Option<&str>),
        now: &Hash,
        budget: &mut u64,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<String>> {
        let Some(entry) = self.state.index().get(file) else { return Ok(None) };
        let file_subject @ Subject::File { lines, .. } = &entry.subject else { return Ok(None) };
        let (handle, path) = (entry.handle, self.state.shown_path(file_subject.agent_path()));
        let seen = self.seen_in(file);
        if lines.is_none() {
            let fields = self.latest_fields(file)?;
            let is_gone =
                fields.is_some_and(|fields| fields.get("no_content") == Some(&json!("deleted")));
            let line = if is_gone { forms::gone_line } else { forms::no_text_line };
            return Ok(Some(line(handle, path, seen)));
        }
        let before = before.map(|before| self.state.shown_path(before));
        if let Some(before) = before {
            let (from, path) = (before.to_owned(), path.to_owned());
            notices.push(Notice::FileMoved { handle: handle.to_string(), from, path });
        }
        let is_now = before.map(|before| forms::moved_line(handle, before, path));
        let Some(old) = self.text_told(file, told)? else { return Ok(is_now) };
        let new = self.text(file, now)?;
        if old == new && (is_now.is_some() || self.text(file, told).is_ok()) {
            // Apart from a move, only what people say of the file differs.
            return Ok(is_now);
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
        let head = if let Some(before) = before {
            forms::moved_changed_line(handle, (before, path), seen, added, removed)
        } else {
            let by_other = self.is_by_another_session(file, told, now);
            forms::changed_line(handle, path, seen, by_other, (added, removed))
        };
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
    pub(super) fn seen_in(&self, object: &ObjectId) -> Option<Handle> {
        let last = self.state.showings(object).next_back()?;
        self.state.handle(self.state.result(last.at)?.object.as_ref()?)
    }

    /// Enters the files that a call named and that the session has not met, by their paths alone.
    fn found(&mut self, naming: Naming<'_>, finished: &ToolFinished) -> Result<()> {
        let folder = match naming {
            Naming::Command { .. } => self.folder_of(&finished.args),
            _ => self.agent_cwd.clone(),
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

    /// The folder in which a command with these arguments runs.
    fn folder_of(&self, args: &Value) -> PathBuf {
        let given = FOLDER_ARGS.iter().find_map(|name| args.get(*name)?.as_str());
        let cwd = &self.agent_cwd;
        given.map_or_else(|| cwd.clone(), |given| source::absolute_path(given, cwd))
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
        self.record(Event::File(self.met(object, location, found.version, Cause::Found)));
        Ok(())
    }

    /// Whether a file is in the version that is known and told, with the stamp that is known: a look brought nothing.
    fn is_as_told(&self, object: &ObjectId, version: &Hash, stamp: Option<FileStamp>) -> bool {
        let is_known = matches!(
            self.state.index().get(object).map(|entry| &entry.subject),
            Some(Subject::File { version: known, stamp: before, .. })
                if known == version && *before == stamp
        );
        let is_settled =
            self.state.announced_path(object).is_none() && self.state.orphaned(object).is_none();
        is_known && is_settled && self.state.announced(object) == Some(version)
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

    /// The event of a file that is met without a look at it.
    pub(super) fn met(
        &self,
        object: ObjectId,
        location: &Location,
        version: Hash,
        cause: Cause,
    ) -> FileEvent {
        let Location { filesystem_id, path, .. } = location;
        let is_own = *filesystem_id == self.options.filesystem_id;
        FileEvent {
            object,
            path: path.to_string_lossy().into_owned(),
            filesystem_id: (!is_own).then(|| filesystem_id.clone()),
            agent_path: self.namespace.agent_path(filesystem_id, path),
            version,
            lines: None,
            cause,
            call: None,
            stamp: None,
            moved: None,
        }
    }
}

/// The command that a call ran in a shell.
fn shell_command(finished: &ToolFinished) -> Option<String> {
    match tool_kind::kind(&finished.tool, &finished.args) {
        ToolKind::Shell(_) => tool_kind::command_of(&finished.args),
        _ => None,
    }
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
