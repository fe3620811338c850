//! Records the files that tools read, edit, write, move by a command or name in their output.
//!
//! Must not tell the model of them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Workspace;
use super::disk::Disk;
use crate::error::Result;
use crate::harness::Call;
use crate::live::journal::Journal;
use crate::object::ObjectId;
use crate::session::{Cause, Event};
use crate::source::{
    self, DiscoveryLimits, FileReading, FileState, IndexOutcome, Location, Naming,
};

/// Files that one listing, search or command may bring into the session index, and looks at the disk for them.
const NAMED_LIMITS: DiscoveryLimits = DiscoveryLimits { files: 200, look_ups: 1_000 };
/// Arguments that name the folder in which a shell runs a command.
const FOLDER_ARGS: [&str; 3] = ["cwd", "workdir", "directory"];

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
    /// Whether the call may have touched or named files. A command that fails has shown what it shows: the places of a
    /// compiler's errors, the tests that failed.
    pub(in crate::live) fn may_touch_files(&self) -> bool {
        !self.is_error || self.shell_command().is_some()
    }

    /// The command that the call ran in a shell.
    fn shell_command(&self) -> Option<String> {
        Call::new(&self.tool, &self.args).command()
    }
}

impl Disk {
    /// The file that a call of a tool reads or changes, and which of these it does.
    pub(in crate::live) fn touched(
        &self,
        tool: &str,
        args: &Value,
    ) -> Result<Option<(Cause, PathBuf)>> {
        let Some(path) = args.get("path").and_then(Value::as_str) else { return Ok(None) };
        let (cause, path) = match tool {
            "read" => (Cause::Read, self.path_read(path)?),
            "edit" => (Cause::Edited, self.resolve(path)?),
            "write" => (Cause::Written, self.resolve(path)?),
            _ => return Ok(None),
        };
        Ok(Some((cause, path)))
    }

    /// The folder in which a command with these arguments runs.
    fn folder_of(&self, args: &Value) -> PathBuf {
        let given = FOLDER_ARGS.iter().find_map(|name| args.get(*name)?.as_str());
        let cwd = self.agent_cwd();
        given.map_or_else(|| cwd.to_owned(), |given| source::absolute_path(given, cwd))
    }
}

impl Workspace {
    /// Records the files that a call read, edited, wrote, moved or named. Only for calls that
    /// [`FinishedToolCall::may_touch_files`].
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a path that cannot be one; what the store reports.
    pub(in crate::live) fn record_tool_call(
        &mut self,
        journal: &mut Journal,
        finished: &FinishedToolCall,
    ) -> Result<()> {
        let FinishedToolCall { call, tool, args, .. } = finished;
        if let Some((cause, path)) = self.disk.touched(tool, args)? {
            let location = self.disk.location(&path);
            if self.disk.is_known_by_reports(&location) {
                self.index_reported_change(journal, &location, cause, call, args)?;
            } else {
                let reading = self.disk.read_at(&path, &location);
                self.index_reading(journal, &location, reading, cause, Some(call))?;
            }
            return Ok(());
        }
        if let Some(line) = finished.shell_command() {
            // Before its new place is met as a file of its own.
            self.command_moved(journal, &line, &self.disk.folder_of(args))?;
            return self.index_named(journal, Naming::Command { line: &line }, finished);
        }
        let path = args.get("path").and_then(Value::as_str);
        match tool.as_str() {
            "ls" | "find" => self.index_named(journal, Naming::Listing { path }, finished),
            "grep" => self.index_named(journal, Naming::Search { path }, finished),
            _ => Ok(()),
        }
    }

    /// Records the files that a call named and that are new to the session, by their paths alone.
    fn index_named(
        &self,
        journal: &mut Journal,
        naming: Naming<'_>,
        finished: &FinishedToolCall,
    ) -> Result<()> {
        let folder = match naming {
            Naming::Command { .. } => self.disk.folder_of(&finished.args),
            _ => self.disk.agent_cwd().to_owned(),
        };
        let look = |path: &Path| self.disk.regular_file(path);
        let files = source::discovered_files(naming, &folder, &finished.text, NAMED_LIMITS, &look);
        // Of a path that is not UTF-8 no object is made.
        for location in files.iter().filter(|location| location.path.to_str().is_some()) {
            let object = location.id()?;
            if journal.state().index().get(&object).is_none() && !journal.is_forgotten(&object)? {
                self.index_path(journal, location, object)?;
            }
        }
        Ok(())
    }

    /// Records a file of which only the path is known. A version that the store has stands.
    fn index_path(
        &self,
        journal: &mut Journal,
        location: &Location,
        object: ObjectId,
    ) -> Result<()> {
        let reading = FileReading { state: FileState::NotRead, stamp: None };
        let Some(found) = source::index(location, reading, journal.latest(&object)?)? else {
            return Ok(());
        };
        if found.outcome != IndexOutcome::Unchanged {
            journal.stage_object(found.envelope, found.payload);
        }
        let event = self.disk.file_event(object, location, found.version, Cause::Found);
        journal.record(Event::File(event));
        Ok(())
    }
}
