//! Looks at files: those that stand in the window before each call, and any single file on request.
//!
//! The model's own edits made their versions when they happened and are no change here.

use std::collections::HashSet;
use std::slice;

use super::finding::Finding;
use super::notes::{Announced, Detail, FileChange, NoteBudget, describe_change};
use super::telling::{OtherChanges, tell};
use crate::LiveSession;
use crate::journal::{Journal, if_found};
use base::error::Result;
use base::object::ObjectId;
use config::Layout;
use context::log_layout::{Texts, headed_lines};
use session::{Asked, Cause, Event, NotedText, Session};

impl LiveSession {
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
        first_new: u64,
        note_at: Option<u64>,
    ) -> Result<Vec<FileChange>> {
        let is_pools = self.options.settings.layout == Layout::Pools;
        let mut found = Vec::new();
        if is_pools || note_at.is_some() {
            found = self.check_standing_files()?;
        }
        self.check_seen_files(first_new)?;
        let mut changes = Vec::new();
        if is_pools {
            changes.extend(found.into_iter().map(|(_, change)| change));
        } else if let Some(at) = note_at {
            let again = self.find_at_old_places()?;
            let found = OtherChanges { reach: found, again };
            changes = tell(&mut self.journal, &self.options, at, found)?;
            for (text, shows) in asked_texts(&self.journal)? {
                let (about, tokens, shows) = (Vec::new(), 0, Some(shows));
                let (asked, carried) = (true, false);
                let note = Event::Noted { at, text, asked, carried, about, tokens, shows };
                self.journal.record(note);
            }
        }
        self.follow_links(note_at);
        Ok(changes)
    }

    /// Records what happened to the files that stand. In `log`, [`tell`] says what differs from
    /// what the model was told; `pools` shows it, so here the person is told.
    fn check_standing_files(&mut self) -> Result<Vec<(ObjectId, FileChange)>> {
        let began = self.journal.store.now();
        let files = self.standing_files();
        let mut files = self.find_differing(&files, &|_| {})?;
        let from_elsewhere = self.find_from_elsewhere()?;
        let mut before: Vec<_> =
            files.iter().map(|file| Announced::of(&self.journal, file)).collect();
        let is_pools = self.options.settings.layout == Layout::Pools;
        let cause = if is_pools { Cause::Changed } else { Cause::Checked };
        let mut findings = self.read_known_files(&files, cause)?;
        for from in from_elsewhere {
            let file = from.file.clone();
            let stands = self.stands(&file);
            let known = Announced::of(&self.journal, &file);
            let finding = self.record_from_elsewhere(from)?;
            if stands {
                before.push(known);
                findings.push(finding);
                files.push(file);
            }
        }
        let mut changes = Vec::new();
        let mut budget = NoteBudget::of_one_call(u64::MAX);
        for ((file, told), finding) in files.iter().zip(before).zip(findings) {
            let mut change = self.change_of_reach(file, &finding).unwrap_or_default();
            if let (Some(told), Finding::Version(now), true) = (told, finding, is_pools)
                && (told.version != now || told.path.is_some())
            {
                let detail = (Detail::Line, &mut budget);
                let described = describe_change(&self.journal, file, &told, &now, detail)?;
                change.note = described.note;
                change.notices.extend(described.notices);
            }
            changes.push((file.clone(), change));
        }
        self.workspace.looked.standing = began;
        changes.retain(|(_, change)| change.says_something());
        Ok(changes)
    }

    /// Files whose content is in front of the model, see [`Self::stands`].
    pub(super) fn standing_files(&self) -> Vec<ObjectId> {
        match self.options.settings.layout {
            Layout::Pools => self.state().sets().active().map(|active| active.id.clone()).collect(),
            Layout::Log => shown_files(self.state()),
        }
    }

    /// Reads one known file now. Returns its present object, another one if it moved, and what
    /// prevents reading it.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn look_at(&mut self, object: &ObjectId) -> Result<(ObjectId, Option<String>)> {
        self.follow_moves(slice::from_ref(object))?;
        let object = self.state().files().current(object).clone();
        let finding = self.read_known_files(slice::from_ref(&object), Cause::Read)?.pop();
        let finding = finding.unwrap_or(Finding::Nothing);
        self.record_reach(&object, &finding);
        let obstacle = match finding {
            Finding::OutOfReach(reason) => Some(reason),
            _ => None,
        };
        Ok((object, obstacle))
    }
}

/// In `log`, the files whose content is in front of the model.
pub(super) fn shown_files(state: &Session) -> Vec<ObjectId> {
    let mut seen = HashSet::new();
    let shown = state.all_showings().chain(state.all_written()).map(|showing| &showing.object);
    let standing = shown.chain(state.noted_texts().map(|(_, text)| &text.object));
    let standing = standing.chain(state.glimpses().map(|(_, file)| file));
    standing.filter(|object| seen.insert(*object)).cloned().collect()
}

/// What was asked for, without what another of it brings as well; of the same the first.
fn asked_once(asked: &[Asked]) -> impl Iterator<Item = &Asked> {
    let brings = |one: &Asked, other: &Asked| {
        let is_same = (&one.object, &one.version) == (&other.object, &other.version);
        is_same && other.ranges.iter().all(|range| range.without(&one.ranges).is_empty())
    };
    asked.iter().enumerate().filter_map(move |(place, one)| {
        let mut others = asked.iter().enumerate().filter(|(at, _)| *at != place);
        let is_brought =
            others.any(|(at, other)| brings(other, one) && (at < place || !brings(one, other)));
        (!is_brought).then_some(one)
    })
}

/// The content that the user activated, as a note shows it.
fn asked_texts(journal: &Journal) -> Result<Vec<(String, NotedText)>> {
    let mut texts = Vec::new();
    for Asked { heading, object, version, ranges } in asked_once(journal.state().asked()) {
        if let Some(text) = if_found(journal.text(object, version))? {
            let text = headed_lines(heading, &text, ranges);
            let (object, version, ranges) = (object.clone(), version.clone(), ranges.clone());
            texts.push((text, NotedText { object, version, ranges }));
        }
    }
    Ok(texts)
}
