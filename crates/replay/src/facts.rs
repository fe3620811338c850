//! Gives a played session what a live one knows besides its messages: which calls ended, and the
//! files as they were at that time.
//!
//! A file's text comes from a whole `read`, a `write`, or an edit of a known text; with snapshots
//! of the working folder (see `snapshots`) it comes from those. No other file is created, and a
//! call that would need one is counted. Must not decide how a message is shown.

mod snapshots;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::snapshots::Snapshots;
use super::tree::Tree;
use base::error::Result;
use base::harness::{Call, FileAccess, Patched, has_line_numbers, without_notice};
use base::object::locate_slice;
use context::host::{HostMessage, HostToolCall};
use context::tokens::Counter;
use live::model_tools::Tool;
use live::{FinishedToolCall, LiveSession};
use session::is_own_tool;

/// Counts of tool calls, and of those that a live session might have treated differently, because
/// the transcript does not contain the files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCalls {
    /// All calls.
    pub all: u64,
    /// Reads, writes and edits of a file whose text is unknown, or was changed by something outside
    /// the transcript; calls of our own tools with a different answer.
    pub unknown_files: u64,
    /// Commands and unknown tools that may have changed a file whose text was in the window.
    pub possible_changes: u64,
}

impl ToolCalls {
    /// Adds other counts.
    pub fn add(&mut self, other: Self) {
        self.all += other.all;
        self.unknown_files += other.unknown_files;
        self.possible_changes += other.possible_changes;
    }
}

/// The files and open calls of a played session; see the module.
#[derive(Debug)]
pub(super) struct Facts {
    /// The files.
    pub(super) tree: Tree,
    snapshots: Option<Snapshots>,
    /// Calls without a result, by ID.
    open: HashMap<String, HostToolCall>,
    /// Tool calls since they were last taken.
    calls: ToolCalls,
}

/// What is known about the files after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilesKnown {
    /// Everything that the call touched.
    Yes,
    /// A file that it touched is unknown.
    NotAFile,
    /// It may have changed other files.
    NotOthers,
}

impl Facts {
    /// Starts without files. `cwd`: the agent's working folder. `snapshots`: the folder with this
    /// transcript's snapshots.
    ///
    /// # Errors
    /// `FILE` if the scratch folder cannot be created.
    pub(super) fn new(cwd: &Path, snapshots: Option<PathBuf>) -> Result<Self> {
        Ok(Self {
            tree: Tree::new(cwd)?,
            snapshots: snapshots.map(Snapshots::new),
            open: HashMap::new(),
            calls: ToolCalls::default(),
        })
    }

    /// Takes the transcript's next message, before the request of this number. If it ends a call,
    /// the call is reported to the session, with the files as they were then.
    ///
    /// # Errors
    /// Those of the session; `FILE` if files cannot be written.
    pub(super) fn take(
        &mut self,
        live: &mut LiveSession,
        message: &str,
        request: usize,
    ) -> Result<()> {
        let message = HostMessage::parse(message, Counter::Characters);
        self.open.extend(message.calls.iter().map(|call| (call.id.clone(), call.clone())));
        if message.key.role != "toolResult" {
            return Ok(());
        }
        let id = message.key.calls.first().map(String::as_str).unwrap_or_default();
        let Some(call) = self.open.remove(id) else { return Ok(()) };
        self.calls.all += 1;
        if is_own_tool(&call.tool) {
            self.lay_snapshot(|all| all.of_result(&call.id))?;
            self.calls.unknown_files += u64::from(!answers_alike(live, &call, &message));
            return Ok(());
        }
        let stands = live.state().all_showings().next().is_some();
        let known = self.lay_after(&call, &message, request)?;
        self.calls.unknown_files += u64::from(known == FilesKnown::NotAFile);
        self.calls.possible_changes += u64::from(known == FilesKnown::NotOthers && stands);
        let HostToolCall { id, tool, args } = call;
        let (is_error, text) = (message.has_failed(), message.text().into_owned());
        live.record_tool_call(&FinishedToolCall { call: id, tool, args, is_error, text })
    }

    /// Restores the files as of a request, if it has a snapshot. Returns the tool calls since the
    /// previous request.
    ///
    /// # Errors
    /// `FILE` if files cannot be written.
    pub(super) fn at_request(&mut self, request: usize) -> Result<ToolCalls> {
        self.lay_snapshot(|all| all.of_request(request))?;
        Ok(std::mem::take(&mut self.calls))
    }

    fn snapshot(&self, find: impl Fn(&Snapshots) -> Option<PathBuf>) -> Option<PathBuf> {
        self.snapshots.as_ref().and_then(find)
    }

    /// Restores a snapshot if there is one. Returns whether there was.
    fn lay_snapshot(&mut self, find: impl Fn(&Snapshots) -> Option<PathBuf>) -> Result<bool> {
        let Some(snapshot) = self.snapshot(find) else { return Ok(false) };
        self.tree.become_folder(&snapshot)?;
        Ok(true)
    }

    /// Restores the files as of the end of a call.
    fn lay_after(
        &mut self,
        call: &HostToolCall,
        message: &HostMessage,
        request: usize,
    ) -> Result<FilesKnown> {
        if self.lay_snapshot(|all| all.of_result(&call.id))? {
            return Ok(FilesKnown::Yes);
        }
        let next = self.snapshot(|all| all.of_request(request));
        let asked = Call::new(&call.tool, &call.args);
        if asked.may_have_changed_unnamed_files() {
            if let Some(snapshot) = next {
                self.tree.become_folder(&snapshot)?;
                return Ok(FilesKnown::Yes);
            }
            if let Some(line) = asked.command().filter(|_| !message.has_failed()) {
                self.rename(&line, asked);
            }
            return Ok(FilesKnown::NotOthers);
        }
        let touches = if message.has_failed() { Vec::new() } else { asked.touches() };
        let mut known = FilesKnown::Yes;
        for touch in touches {
            let is_known = match touch.access {
                _ if asked.patched_lines().is_some() => {
                    self.lay_patched(asked, touch.path, next.as_deref())
                }
                FileAccess::Read => self.lay_read(asked, touch.path, message, next.as_deref()),
                FileAccess::Edit => self.lay_edit(asked, touch.path, next.as_deref()),
                FileAccess::Write => self.lay_write(asked, touch.path, next.as_deref()),
            };
            if !is_known {
                known = FilesKnown::NotAFile;
            }
        }
        Ok(known)
    }

    /// Writes what a call read. Returns whether the file is known as far as the result depends on
    /// it.
    fn lay_read(
        &mut self,
        asked: Call<'_>,
        given: &str,
        message: &HostMessage,
        next: Option<&Path>,
    ) -> bool {
        // Numbered lines, several texts, and a text beside an image are never verbatim lines of a
        // file.
        let is_text = message.images == 0 && !message.has_other_blocks;
        let [text] = message.texts.as_slice() else { return true };
        if !is_text || has_line_numbers(text) {
            return true;
        }
        let Some(path) = self.tree.resolve_read(given).filter(|path| !self.tree.is_folder(path))
        else {
            return true;
        };
        let is_cut = without_notice(text, &message.details).1;
        let is_whole = !is_cut && asked.reads_beyond(text.split('\n').count() as u64);
        let first = asked.first_line().unwrap_or(1);
        let is_shown = |known: &str| {
            if is_whole { known == text } else { locate_slice(known, text, first).is_some() }
        };
        let known = self.tree.text(&path);
        if known.as_deref().is_some_and(is_shown) {
            return true;
        }
        if let Some(next) = next
            && self.tree.lay_from(next, &path)
            && self.tree.text(&path).as_deref().is_some_and(is_shown)
        {
            return true;
        }
        // A known file with another text was changed by something else, at an unknown time.
        is_whole && self.tree.lay(&path, text.as_bytes()) && known.is_none()
    }

    /// Applies an edit to a known file. Returns whether the result is known; for an unknown file,
    /// nothing depends on it.
    fn lay_edit(&mut self, asked: Call<'_>, given: &str, next: Option<&Path>) -> bool {
        let Some(path) = self.tree.resolve(given) else { return true };
        let Some(known) = self.tree.text(&path) else { return true };
        match edited(known, &asked.replacements(), asked.replaces_all()) {
            Some(text) => self.tree.lay(&path, text.as_bytes()),
            None => next.is_some_and(|next| self.tree.lay_from(next, &path)),
        }
    }

    /// Applies a patch to one of its files. Returns whether the result is known, as for an edit.
    fn lay_patched(&mut self, asked: Call<'_>, given: &str, next: Option<&Path>) -> bool {
        let Some(path) = self.tree.resolve(given) else { return true };
        let known = self.tree.text(&path);
        match asked.patched(given, known.as_deref()) {
            Some(Patched::Text(text)) => self.tree.lay(&path, text.as_bytes()),
            Some(Patched::Gone) => self.tree.remove(&path) || known.is_none(),
            None => next.is_some_and(|next| self.tree.lay_from(next, &path)) || known.is_none(),
        }
    }

    fn lay_write(&mut self, asked: Call<'_>, given: &str, next: Option<&Path>) -> bool {
        let Some(path) = self.tree.resolve(given) else { return true };
        match asked.content() {
            Some(text) => self.tree.lay(&path, text.as_bytes()),
            None => next.is_some_and(|next| self.tree.lay_from(next, &path)),
        }
    }

    /// Performs the moves of files that a command names.
    fn rename(&mut self, line: &str, asked: Call<'_>) {
        let cwd = self.tree.agent_cwd();
        let folder = asked
            .folder()
            .map_or_else(|| cwd.to_owned(), |given| base::path::absolute_path(given, cwd));
        for (from, to) in source::renames(line, &folder) {
            // `mv a b` may mean `b/a`; if `b` is not known to be a folder, a name with the same
            // extension is taken for a file's.
            if self.tree.is_folder(&to) || from.extension() == to.extension() {
                self.tree.rename(&from, &to);
            }
        }
    }
}

/// Makes a call to one of our own tools, unless it failed. Returns whether the answer equals the
/// transcript's.
fn answers_alike(live: &mut LiveSession, call: &HostToolCall, message: &HostMessage) -> bool {
    let tool = Tool::ALL.into_iter().find(|tool| tool.name() == call.tool);
    let Some(tool) = tool.filter(|_| !message.has_failed()) else { return true };
    tool.repeat(live, &call.id, &call.args).is_ok_and(|answer| answer.text == message.text())
}

/// Applies replacements to a text; `None` if one of them does not match exactly once.
fn edited(text: String, replacements: &[(&str, &str)], all: bool) -> Option<String> {
    if replacements.is_empty() {
        return None;
    }
    replacements.iter().try_fold(text, |text, (old, new)| {
        let places = if old.is_empty() { 0 } else { text.matches(old).take(2).count() };
        (places == 1 || (all && places > 1)).then(|| text.replace(old, new))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_applied_only_where_its_place_is_certain() {
        let edit = |old, new, all| edited("a b a".to_owned(), &[(old, new)], all);
        assert_eq!(edit("b", "c", false).as_deref(), Some("a c a"));
        assert_eq!(edit("a", "c", true).as_deref(), Some("c b c"));
        for (old, all) in [("a", false), ("x", true), ("", true)] {
            assert_eq!(edit(old, "c", all), None, "{old}");
        }
        assert_eq!(edited("a".to_owned(), &[], false), None, "a patch, or an insertion");
        let both = edited("a b".to_owned(), &[("a", "b"), ("b", "c")], false);
        assert_eq!(both, None, "`b` has two places by then");
    }
}
