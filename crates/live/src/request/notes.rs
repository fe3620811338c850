//! Notes that stay until something else says the same: they leave with an epoch, and stand in the
//! newest message again.
//!
//! Must not look at files; notes on files are made where the files are looked at, and made again
//! here.

use super::layout::LayOut;
use crate::Notice;
use crate::workspace::tell_left;
use base::error::Result;
use base::object::ObjectId;
use config::Layout;
use context::additions::Additions;
use context::epoch::NewEpoch;
use context::forms;
use session::{Event, Note, Subject, Treatment};

impl LayOut<'_> {
    /// Notes in the newest message everything that no standing message says; returns which changes
    /// of memory it noted.
    pub(super) fn note_all(&mut self) -> Vec<Notice> {
        let Some(at) = self.newest else { return Vec::new() };
        if let Some(text) = self.journal.state().due_continuation().map(str::to_owned) {
            // It is what another session's messages were, which the plain host does not have.
            self.journal.record(Event::noted(at, Note::of(text, 0)));
        }
        for text in self.compacted_lines() {
            self.note(at, text);
        }
        let mut notices = Vec::new();
        let mut room = Additions::of(self.journal.state());
        for change in self.journal.state().due_memory() {
            let line = change.head().to_owned();
            let fits = self.options.counter.count(&change.text) <= room.texts;
            let text = if fits { change.text } else { line.clone() };
            let tokens = self.options.counter.count(&text);
            if room.holds(tokens) {
                room.take(tokens);
                notices.push(Notice::Told { line });
                self.note(at, text);
            }
        }
        notices
    }

    /// Notes in the newest message the changes of files whose notes left with an epoch; returns what
    /// a person is told of it.
    pub(super) fn tell_left(&mut self) -> Result<Vec<Notice>> {
        let Some(at) = self.newest else { return Ok(Vec::new()) };
        let changes = tell_left(self.journal, self.options, at)?;
        Ok(changes.iter().filter_map(|change| change.told(Layout::Log)).collect())
    }

    /// Places of the notes in the newest message that an epoch leaves nothing to tell of: it shows
    /// the present text of their files, or one note about all changes takes their place.
    pub(super) fn spent_notes(&self, at: u64, new: &NewEpoch) -> Vec<u64> {
        let is_renewed = |file: &ObjectId| {
            let mut treatments = new.treatments.iter().map(|(_, treatment)| treatment);
            treatments
                .any(|shown| matches!(shown, Treatment::Current { object, .. } if object == file))
        };
        let is_spent = |note: &Note| {
            let tells = !note.about.is_empty() && forms::tells_change(&note.text);
            tells
                && note.about.iter().all(|file| {
                    is_renewed(file) || self.is_told_again(file, (at, new.notes_before))
                })
        };
        let notes = self.journal.state().notes(at);
        let spent = (0..).zip(notes).filter(|&(_, note)| at >= new.notes_before && is_spent(note));
        spent.map(|(place, _)| place).collect()
    }

    /// Whether a file is to be told of again in the newest message, as earlier notes on it leave with
    /// an epoch. `from`: position from which on notes leave.
    fn is_told_again(&self, file: &ObjectId, (newest, from): (u64, u64)) -> bool {
        let state = self.journal.state();
        let tells = |at: &u64| state.notes(*at).iter().any(|note| note.about.contains(file));
        let mut earlier = state.noted().filter(|at| *at != newest && tells(at)).peekable();
        self.newest == Some(newest) && earlier.peek().is_some() && earlier.all(|at| at >= from)
    }

    fn note(&mut self, at: u64, text: String) {
        let tokens = self.options.counter.count(&text);
        self.journal.record(Event::noted(at, Note::of(text, tokens)));
    }

    /// Number of notes in the newest message.
    pub(super) fn newest_notes(&self) -> usize {
        self.carrier(true).map_or(0, |at| self.journal.state().notes(at).len())
    }

    /// Indexes in the window of the messages whose notes about memory changes left, because the
    /// system prompt now holds the changes.
    pub(super) fn without_memory_notes(&self) -> Vec<usize> {
        let state = self.journal.state();
        let window = &state.chat().window;
        let dropped = state.dropped_memory().iter();
        dropped.filter_map(|at| window.iter().position(|known| known == at)).collect()
    }

    /// The epoch that begins because notes about memory left, as the system prompt now holds the
    /// changes. It changes nothing else.
    pub(super) fn epoch_of_memory(&self) -> Option<NewEpoch> {
        let state = self.journal.state();
        (!state.dropped_memory().is_empty()).then(|| NewEpoch {
            reason: "memory stands in the system prompt".to_owned(),
            treatments: Vec::new(),
            folds: Vec::new(),
            collapsed: 0,
            freed_tokens: 0,
            notes_before: u64::MAX,
        })
    }

    /// Lines that name what the host compacted away, unless a standing message does.
    fn compacted_lines(&self) -> Vec<String> {
        let state = self.journal.state();
        let lines = state.compacted().filter_map(|entry| match entry.subject {
            Subject::Segment { first, last, turns, .. } => {
                Some(forms::compacted_line(entry.handle, turns, last + 1 - first))
            }
            _ => None,
        });
        let stands = |line: &String| {
            let says = |note: &Note| note.text.lines().any(|said| said == line);
            let mut carriers = state.noted().filter(|at| state.notes(*at).iter().any(says));
            carriers.any(|at| state.chat().window.contains(&at) && !state.folds().hide(at))
        };
        lines.filter(|line| !stands(line)).collect()
    }
}
