//! Records the files that tools read, edit, write, move by a command or name in their output.
//!
//! Must not tell the model about them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::disk::Disk;
use crate::LiveSession;
use base::error::Result;
use base::harness::{Call, FileAccess, ToolKind, Touch};
use session::{Cause, Event, FileEvent, Subject};
use source::{DiscoveryLimits, FileReading, FileState, Naming};

/// Limits for one listing, search or command: files that it may bring into the session index, and
/// disk look-ups for them.
const NAMED_LIMITS: DiscoveryLimits = DiscoveryLimits { files: 200, look_ups: 1_000 };
/// Maximum number of files followed that one call may read or change.
const MAX_TOUCHED: usize = 200;

/// A finished tool call.
#[derive(Debug, Clone)]
pub struct FinishedToolCall {
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

impl FinishedToolCall {
    /// Whether the call may have touched or named files. A failed command counts too: its output
    /// still names files, such as the places of a compiler's errors or the tests that failed.
    pub(crate) fn may_touch_files(&self) -> bool {
        !self.is_error || self.call().command().is_some()
    }

    fn call(&self) -> Call<'_> {
        Call::new(&self.tool, &self.args)
    }
}

impl Disk {
    /// The files that a tool call reads or changes, the first 200, and which of the two it does.
    pub(crate) fn touched(&self, call: Call<'_>) -> Result<Vec<(Cause, PathBuf)>> {
        call.touches().into_iter().take(MAX_TOUCHED).map(|touch| self.touched_file(touch)).collect()
    }

    /// The agent's absolute path of a file that a call reads or changes.
    pub(crate) fn touched_file(&self, touch: Touch<'_>) -> Result<(Cause, PathBuf)> {
        Ok(match touch.access {
            FileAccess::Read => (Cause::Read, self.path_read(touch.path)?),
            FileAccess::Edit => (Cause::Edited, self.resolve(touch.path)?),
            FileAccess::Write => (Cause::Written, self.resolve(touch.path)?),
        })
    }

    /// The folder in which the command of a call runs.
    pub(crate) fn folder_of(&self, call: Call<'_>) -> PathBuf {
        let cwd = &self.agent_cwd;
        call.folder().map_or_else(|| cwd.to_owned(), |given| base::path::absolute_path(given, cwd))
    }
}

impl LiveSession {
    /// Records the files that a call read, edited, wrote, moved or named. Only for calls for which
    /// [`FinishedToolCall::may_touch_files`] holds.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an impossible path; errors of the store.
    pub(crate) fn take_tool_call(&mut self, finished: &FinishedToolCall) -> Result<()> {
        let call = finished.call();
        for (cause, path) in self.disk.touched(call)? {
            let location = self.disk.location(&path);
            self.workspace.met.take(&finished.call, location.id()?, cause);
            self.remember_beside(&location);
            if self.disk.is_known_by_reports(&location) {
                self.index_reported_change(&location, cause, &finished.call, call)?;
            } else {
                let made_by = (&*finished.call, call);
                self.index_touched((&*path, &location), cause, made_by)?;
            }
        }
        if let Some(line) = call.command() {
            // Before the new place is met as a file of its own.
            self.command_moved(&line, &self.disk.folder_of(call))?;
            let shown = self.shown_by(call, &finished.text).filter(|_| !finished.is_error);
            if let Some(shown) = shown {
                self.index_shell_read(&shown, &finished.text, &finished.call)?;
            }
            self.index_named(Naming::Command { line: &line }, finished)?;
            return self.stamp_shown(&line, finished);
        }
        let path = call.path();
        match call.kind() {
            ToolKind::List | ToolKind::Find => self.index_named(Naming::Listing { path }, finished),
            ToolKind::Search => self.index_named(Naming::Search { path }, finished),
            _ => Ok(()),
        }
    }

    /// Records the files that a call named and that are new to the session, by their paths alone.
    fn index_named(&mut self, naming: Naming<'_>, finished: &FinishedToolCall) -> Result<()> {
        let folder = match naming {
            Naming::Command { .. } => self.disk.folder_of(finished.call()),
            _ => self.disk.agent_cwd.clone(),
        };
        let look = |path: &Path| self.disk.regular_file(path);
        let files = source::discovered_files(naming, &folder, &finished.text, NAMED_LIMITS, &look);
        // A path that is not UTF-8 never becomes an object.
        for location in files.iter().filter(|location| location.path.to_str().is_some()) {
            let object = location.id()?;
            let is_known = self.state().subject(&object).is_some();
            let reading = FileReading { state: FileState::NotRead, stamp: None };
            if !is_known && self.index_reading(location, reading, Cause::Found, None)?.is_none() {
                continue;
            }
            let is_command = matches!(naming, Naming::Command { .. });
            if is_known && is_command && self.state().files().times_told(&object) > 0 {
                self.journal.record(Event::Touched { object: object.clone() });
            }
            self.workspace.met.take(&finished.call, object, Cause::Found);
        }
        Ok(())
    }

    /// Records the stamps of files that a command shows as they are and that are known by path alone,
    /// so that a change of them is noticed. None is opened.
    fn stamp_shown(&mut self, line: &str, finished: &FinishedToolCall) -> Result<()> {
        for path in source::shown_by(line, &self.disk.folder_of(finished.call())) {
            let Some(location) = self.disk.regular_file(&path) else { continue };
            let object = location.id()?;
            let known = self.state().subject(&object);
            let Some(Subject::File { version, lines: None, .. }) = known else { continue };
            let event = self.disk.file_event(object, &location, version.clone(), Cause::Found);
            let (call, open) = (Some(finished.call.clone()), location.open.as_deref());
            let stamp = open.and_then(source::stamp);
            self.journal.record(Event::File(FileEvent { call, stamp, ..event }));
        }
        Ok(())
    }
}
