//! Commands that show lines of one file: reads of it, if the output is exactly these lines.

use crate::LiveSession;
use crate::model_tools::read::{MAX_BYTES, MAX_LINES};
use base::error::Result;
use base::harness::Call;
use base::object::{Hash, ObjectId, Slice};
use session::Cause;
use source::{FileState, ShownFile, shown_file};

impl LiveSession {
    /// The file of which a command shows lines, by its words; `None` for an output that is longer
    /// than what `read` shows.
    pub(crate) fn shown_by(&self, call: Call<'_>, output: &str) -> Option<ShownFile> {
        let line = call.command()?;
        let is_short = output.len() <= MAX_BYTES && output.lines().count() <= MAX_LINES;
        if is_short { shown_file(&line, &self.disk.folder_of(call)) } else { None }
    }

    /// Records that a command read a file, if its output is lines of the file as it is now: its
    /// object, its version, and the lines. Of any other file nothing is kept.
    pub(crate) fn index_shell_read(
        &mut self,
        shown: &ShownFile,
        output: &str,
        call: &str,
    ) -> Result<Option<(ObjectId, Hash, Slice)>> {
        let location = self.disk.location(&shown.path);
        if self.disk.is_known_by_reports(&location) {
            return Ok(None);
        }
        let reading = self.disk.read_at(&shown.path, &location);
        let FileState::Text { text, .. } = &reading.state else { return Ok(None) };
        let Some(slice) = shown.slice(text, output) else { return Ok(None) };
        let indexed = self.index_reading(&location, reading, Cause::Read, Some(call))?;
        let Some((file, version)) = indexed else { return Ok(None) };
        self.workspace.met.take(call, file.clone(), Cause::Read);
        Ok(Some((file, version, slice)))
    }
}
