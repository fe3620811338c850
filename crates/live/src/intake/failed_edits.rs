//! Finds failed edits of lines that had left the window.

use std::collections::HashSet;

use crate::LiveSession;
use base::harness::{Call, ToolKind};
use base::object::ObjectId;
use context::host::{HostMessage, HostToolCall};
use context::log_layout::Texts;
use session::{Event, FaultKind, Showing};

impl LiveSession {
    /// Records that an edit failed whose lines had left. `at`: position of its result.
    pub(super) fn note_failed_edit(&mut self, at: u64, call: &HostToolCall, message: &HostMessage) {
        let asked = Call::new(&call.tool, &call.args);
        let (ToolKind::Edit, true, Some(path)) = (asked.kind(), message.has_failed(), asked.path())
        else {
            return;
        };
        let disk = &self.disk;
        let Ok(file) = disk.resolve(path).and_then(|path| disk.file_id(&path)) else { return };
        let file = self.state().files().current(&file).clone();
        let replaced = asked.replacements();
        let lines = replaced.iter().flat_map(|(old, _)| old.lines()).map(str::trim);
        if self.had_left(&file, lines.filter(|line| !line.is_empty())) {
            let (kind, tokens) = (FaultKind::FailedEdit, message.tokens());
            self.journal.record(Event::Missed { kind, at: Some(at), tokens });
        }
    }

    /// Whether any of these lines of a file had left. Where nothing of it stands any more, all had:
    /// what was to be replaced may not be its text at all.
    fn had_left<'a>(&self, file: &ObjectId, mut lines: impl Iterator<Item = &'a str>) -> bool {
        let state = self.state();
        let former: Vec<Showing> = state.former_showings(file).collect();
        let standing: Vec<&Showing> = state.showings(file).collect();
        if former.is_empty() || standing.is_empty() {
            return !former.is_empty();
        }
        let (left, stand) = (self.lines_shown(&former), self.lines_shown(standing));
        lines.any(|line| left.contains(line) && !stand.contains(line))
    }

    fn lines_shown<'s>(&self, showings: impl IntoIterator<Item = &'s Showing>) -> HashSet<String> {
        let mut lines = HashSet::new();
        for Showing { object, version, ranges, .. } in showings {
            let Ok(text) = self.journal.text(object, version) else { continue };
            let shown = (1..).zip(text.lines()).filter(|(number, _)| {
                ranges.iter().any(|range| (range.first..=range.last).contains(number))
            });
            lines.extend(shown.map(|(_, line)| line.trim().to_owned()));
        }
        lines
    }
}
