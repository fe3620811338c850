//! Looks at files: those that stand in the window before each call, and any one that is asked for.
//!
//! The model's own edits made their versions when they happened and are no change here.

use std::collections::HashSet;

use super::Workspace;
use super::notes::{FileChange, LastTold, NoteBudget, describe_change};
use super::reach::{record_back_in_reach, record_out_of_reach, why_out_of_reach};
use crate::error::Result;
use crate::live::journal::Journal;
use crate::object::ObjectId;
use crate::session::{Cause, Event, Subject};
use crate::settings::Layout;
use crate::source;

impl Workspace {
    /// Takes in what happened to files since the last call: those that stand first, then the others that the model knows,
    /// then files that links lead to. Returns what is to be said of those that stand.
    ///
    /// `first_new`: position in the chat of the first message that is new. `note_at`: position of the message that can carry
    /// notes for the model, which are recorded there; without one the standing files are not looked at, so that the model is
    /// told of them later. In `pools` the active files are looked at on every call and shown as they are, without notes.
    ///
    /// # Errors
    /// What the store reports.
    pub(in crate::live) fn refresh(
        &mut self,
        journal: &mut Journal,
        first_new: u64,
        note_at: Option<u64>,
    ) -> Result<Vec<FileChange>> {
        let mut changes = Vec::new();
        let shown = if self.options.settings.layout == Layout::Pools {
            let active = active_files(journal);
            changes = self.look_at_shown_files(journal, active.clone())?;
            active
        } else {
            if let Some(at) = note_at {
                changes = self.look_at_shown_files(journal, standing_files(journal))?;
                for text in changes.iter().filter_map(|change| change.note.clone()) {
                    journal.record(Event::Noted { at, text });
                }
            }
            standing_files(journal)
        };
        self.look_at_seen_files(journal, first_new, &shown)?;
        self.follow_links(journal);
        Ok(changes)
    }

    /// Makes versions of files that changed on disk, and says what changed since the model was told of them.
    fn look_at_shown_files(
        &mut self,
        journal: &mut Journal,
        files: Vec<ObjectId>,
    ) -> Result<Vec<FileChange>> {
        let mut changes = Vec::new();
        let began = journal.store().now();
        let mut budget = NoteBudget::of_one_call();
        for file in self.follow_moves(journal, files)? {
            changes.extend(self.look_at_shown_file(journal, &file, &mut budget)?);
        }
        self.looked.standing = began;
        Ok(changes)
    }

    fn look_at_shown_file(
        &self,
        journal: &mut Journal,
        file: &ObjectId,
        budget: &mut NoteBudget,
    ) -> Result<Option<FileChange>> {
        let state = journal.state();
        let Some(Subject::File { version, stamp, lines, .. }) =
            state.index().get(file).map(|entry| &entry.subject)
        else {
            return Ok(None);
        };
        let Some(location) = self.disk.location_of(journal, file)? else { return Ok(None) };
        let Some(told) = state.announced(file).cloned() else { return Ok(None) };
        let before = state.announced_path(file).map(str::to_owned);
        let is_where_told = before.is_none() && state.orphaned(file).is_none();
        let Some(open) = &location.open else { return Ok(None) };
        let stamp_now = source::stamp(open);
        // A text that was just written when it was read has no stamp: nothing is known of it yet.
        let is_known = stamp_now.is_some() || lines.is_none();
        if is_where_told && is_known && stamp_now == *stamp && told == *version {
            return Ok(None);
        }
        let Some(now) = self.index_known(journal, file, &location, Cause::Changed)? else {
            return Ok(record_out_of_reach(journal, file, &location));
        };
        let mut change = record_back_in_reach(journal, file).unwrap_or_default();
        if now != told || before.is_some() {
            let told = LastTold { version: &told, path: before.as_deref() };
            let described = describe_change(journal, file, told, &now, budget)?;
            change.note = described.note;
            change.notices.extend(described.notices);
        }
        Ok(Some(change).filter(FileChange::says_something))
    }

    /// Looks at one known file now. Returns what it is, which is another object where it was moved, and what keeps it from
    /// being read.
    ///
    /// # Errors
    /// What the store reports.
    pub(in crate::live) fn look_at(
        &mut self,
        journal: &mut Journal,
        object: &ObjectId,
    ) -> Result<(ObjectId, Option<String>)> {
        let mut object = object.clone();
        if let Some(moved) = self.follow_moves(journal, vec![object.clone()])?.pop() {
            object = moved;
        }
        let Some(location) = self.disk.location_of(journal, &object)? else {
            return Ok((object, None));
        };
        let is_out = journal.state().orphaned(&object).is_some();
        if self.index_known(journal, &object, &location, Cause::Read)?.is_some() {
            if is_out {
                journal.record(Event::Resumed { object: object.clone() });
            }
            return Ok((object, None));
        }
        let obstacle = why_out_of_reach(journal, &object, &location);
        if let (Some(reason), false, Some(_)) =
            (obstacle.clone(), is_out, journal.state().index().get(&object))
        {
            journal.record(Event::Orphaned { object: object.clone(), reason });
        }
        Ok((object, obstacle))
    }
}

/// Files whose text stands in the window.
pub(super) fn standing_files(journal: &Journal) -> Vec<ObjectId> {
    let mut seen = HashSet::new();
    let standing = journal.state().all_showings().map(|showing| &showing.object);
    standing.filter(|object| seen.insert(*object)).cloned().collect()
}

/// Files whose content is active, with the layout `pools`.
fn active_files(journal: &Journal) -> Vec<ObjectId> {
    journal.state().sets().active().map(|active| active.id.clone()).collect()
}
