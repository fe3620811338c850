//! Memory changes that the model must be told about until its system prompt shows them (`log`).
//! Must not know pages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Session;
use super::notes::Note;
use crate::message::MessageKind;

/// A memory change, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryChange {
    /// What changed. No two changes in a session have the same text.
    pub text: String,
    /// The path of the file that changed, as the agent sees it.
    pub file: String,
    /// The model's own tool call that made the change. While it stands, the model knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Whether it is told once, and not again after its note left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

impl MemoryChange {
    /// What changed without the entries, in one line.
    pub fn head(&self) -> &str {
        self.text.lines().next().unwrap_or_default().trim_end_matches(':')
    }

    /// Whether a note tells of this change, with its entries or without.
    fn is_told_by(&self, note: &Note) -> bool {
        note.text == self.text || note.text == self.head()
    }
}

/// The changes since the system prompt was rendered.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryChanges {
    changes: Vec<MemoryChange>,
    /// Positions of messages whose change notes left since the last call.
    dropped: Vec<u64>,
}

impl MemoryChanges {
    pub(super) fn changed(&mut self, change: MemoryChange) {
        self.changes.push(change);
    }

    /// A note was made. What is told once is no longer due.
    pub(super) fn noted(&mut self, note: &Note) {
        self.changes.retain(|change| !change.once || !change.is_told_by(note));
    }

    /// The system prompt now shows all changes, so their notes leave.
    pub(super) fn rendered(&mut self, notes: &mut BTreeMap<u64, Vec<Note>>) {
        let changes = std::mem::take(&mut self.changes);
        notes.retain(|at, notes| {
            let before = notes.len();
            notes.retain(|note| !changes.iter().any(|change| change.is_told_by(note)));
            if notes.len() < before {
                self.dropped.push(*at);
            }
            !notes.is_empty()
        });
    }

    pub(super) fn called(&mut self) {
        self.dropped.clear();
    }
}

impl Session {
    /// Number of memory changes that the system prompt does not show.
    pub fn memory_changes(&self) -> usize {
        self.memory.changes.len()
    }

    /// Memory changes that neither the system prompt nor any standing message shows.
    pub fn due_memory(&self) -> Vec<MemoryChange> {
        self.memory.changes.iter().filter(|change| !self.is_told(change)).cloned().collect()
    }

    /// Positions of messages that carried change notes at the last call and no longer do.
    pub fn dropped_memory(&self) -> &[u64] {
        &self.memory.dropped
    }

    /// Whether something in the window shows the change: a note, the model's own call, or the file
    /// itself, whose changes are reported anyway.
    fn is_told(&self, change: &MemoryChange) -> bool {
        let is_noted = || {
            let tells = |at: &u64| self.notes(*at).iter().any(|note| change.is_told_by(note));
            self.noted().filter(tells).any(|at| self.is_in_front(at))
        };
        let file_stands = || {
            let of_file = |path: &str| !path.is_empty() && path == change.file;
            let mut files =
                self.index.entries.iter().filter(|entry| of_file(entry.subject.agent_path()));
            files.any(|entry| self.showings(&entry.id).next().is_some())
        };
        let call_stands = || {
            let Some(call) = &change.call else { return false };
            self.shown_window().any(|(_, message)| {
                matches!(message.kind, MessageKind::Result(_))
                    && message.key.calls.first() == Some(call)
            })
        };
        is_noted() || call_stands() || file_stands()
    }
}
