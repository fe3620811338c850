//! Looks at files: those that stand in the window before each call, and any single file on request.
//!
//! The model's own edits made their versions when they happened and are no change here.

use std::collections::HashSet;
use std::slice;

use super::Workspace;
use super::finding::Finding;
use super::notes::{Announced, FileChange, NoteBudget, describe_change};
use super::reach::{change_of_reach, record_reach};
use crate::journal::Journal;
use base::error::{Error, Result};
use base::object::ObjectId;
use config::Layout;
use context::log_layout::{Texts, headed_lines};
use context::{forms, tokens};
use session::{Asked, Cause, Event, NotedText};

impl Workspace {
    /// Records what happened to files since the last call: first to those that stand, then to the
    /// others that the model knows. Then follows links. Returns what to say about the files that
    /// stand.
    ///
    /// `first_new`: position in the chat of the first new message. `note_at`: position of the
    /// message that carries the notes for the model, which are recorded there. Without one,
    /// standing files wait for the next call, so that their notes are not lost. `pools` needs none:
    /// it shows the active files in their present state on every call.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn refresh(
        &mut self,
        journal: &mut Journal,
        first_new: u64,
        note_at: Option<u64>,
    ) -> Result<Vec<FileChange>> {
        let mut changes = Vec::new();
        if self.options.settings.layout == Layout::Pools {
            changes = self.check_standing_files(journal)?;
        } else if let Some(at) = note_at {
            changes = self.check_standing_files(journal)?;
            for text in changes.iter().filter_map(|change| change.note.clone()) {
                journal.record(Event::Noted { at, text, asked: false, shows: None });
            }
            for (text, shows) in asked_texts(journal)? {
                journal.record(Event::Noted { at, text, asked: true, shows: Some(shows) });
            }
        }
        self.check_seen_files(journal, first_new)?;
        self.follow_links(journal);
        Ok(changes)
    }

    /// Records what happened to the files that stand, and returns what differs from what the model
    /// was told.
    fn check_standing_files(&mut self, journal: &mut Journal) -> Result<Vec<FileChange>> {
        let began = journal.store().now();
        let files = self.standing_files(journal);
        let files = self.find_differing(journal, &files, &|_| {})?.files;
        let from_elsewhere = self.find_from_elsewhere(journal)?;
        let mut before: Vec<_> = files.iter().map(|file| Announced::of(journal, file)).collect();
        let mut findings = self.read_known_files(journal, &files, Cause::Changed)?;
        let mut files = files;
        for from in from_elsewhere {
            let file = from.file.clone();
            let stands = self.stands(journal, &file);
            let known = Announced::of(journal, &file);
            let finding = self.record_from_elsewhere(journal, from)?;
            if stands {
                before.push(known);
                findings.push(finding);
                files.push(file);
            }
        }
        let mut changes = Vec::new();
        let mut budget = NoteBudget::of_one_call();
        for ((file, told), finding) in files.iter().zip(before).zip(findings) {
            let mut change = change_of_reach(journal, file, &finding).unwrap_or_default();
            if let (Some(told), Finding::Version { now, .. }) = (told, finding)
                && (told.version != now || told.path.is_some())
            {
                let described = describe_change(journal, file, &told, &now, &mut budget)?;
                if described.note.as_deref().is_some_and(forms::is_told_in_part) {
                    let (object, version) = (file.clone(), now);
                    journal.record(Event::ToldInPart { object, version });
                }
                change.note = described.note;
                change.notices.extend(described.notices);
            }
            changes.push(change);
        }
        self.looked.standing = began;
        changes.retain(FileChange::says_something);
        Ok(changes)
    }

    /// Files whose content is in front of the model, see [`Self::stands`].
    pub(super) fn standing_files(&self, journal: &Journal) -> Vec<ObjectId> {
        let state = journal.state();
        if self.options.settings.layout == Layout::Pools {
            return state.sets().active().map(|active| active.id.clone()).collect();
        }
        let mut seen = HashSet::new();
        let shown = state.all_showings().map(|showing| &showing.object);
        let standing = shown.chain(state.noted_texts().map(|(_, text)| &text.object));
        standing.filter(|object| seen.insert(*object)).cloned().collect()
    }

    /// Reads one known file now. Returns its present object, another one if it moved, and what
    /// prevents reading it.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn look_at(
        &mut self,
        journal: &mut Journal,
        object: &ObjectId,
    ) -> Result<(ObjectId, Option<String>)> {
        self.follow_moves(journal, slice::from_ref(object))?;
        let object = journal.state().current(object).clone();
        let finding = self.read_known_files(journal, slice::from_ref(&object), Cause::Read)?.pop();
        let finding = finding.unwrap_or(Finding::Nothing);
        record_reach(journal, &object, &finding);
        let obstacle = match finding {
            Finding::OutOfReach(reason) => Some(reason),
            _ => None,
        };
        Ok((object, obstacle))
    }
}

/// The content that the user activated, as a note shows it.
fn asked_texts(journal: &Journal) -> Result<Vec<(String, NotedText)>> {
    let mut texts = Vec::new();
    for Asked { heading, object, version, ranges } in journal.state().asked() {
        match journal.text(object, version) {
            Ok(text) => {
                let text = headed_lines(heading, &text, ranges);
                let (object, version, ranges) = (object.clone(), version.clone(), ranges.clone());
                let tokens = tokens::count(&text);
                texts.push((text, NotedText { object, version, ranges, tokens }));
            }
            // It was forgotten since.
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(texts)
}
