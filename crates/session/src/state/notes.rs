//! What we add to messages besides what the host gave: notes, and the help for failed edits, with
//! their tokens. Must not decide what is added.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::Session;
use crate::event::NotedText;
use crate::index::Subject;
use crate::message::{MessageKind, Shows};
use crate::showings::Showing;
use base::object::{Hash, ObjectId};

/// A note in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The text.
    pub text: String,
    /// The files of whose changes it tells.
    pub about: Vec<ObjectId>,
    /// Its tokens; 0 if they do not count, since the plain host has the like.
    pub tokens: u64,
    /// The content that it shows.
    pub shows: Option<NotedText>,
}

impl Note {
    /// A note about no file, which shows no content.
    pub fn of(text: String, tokens: u64) -> Self {
        Self { text, about: Vec::new(), tokens, shows: None }
    }
}

/// What stands in messages that is ours.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    /// The notes by position, each message's in order.
    pub(super) by_place: BTreeMap<u64, Vec<Note>>,
    /// Tokens of the help in answers to failed edits, by position.
    help: BTreeMap<u64, u64>,
    /// Help for edits whose answers did not come in yet: the text and its tokens.
    coming: Vec<(String, u64)>,
    /// Files whose newest note left the window.
    left: BTreeSet<ObjectId>,
}

impl Notes {
    pub(super) fn add(&mut self, at: u64, note: Note) {
        for file in &note.about {
            self.left.remove(file);
        }
        self.by_place.entry(at).or_default().push(note);
    }

    pub(super) fn help(&mut self, text: &str, tokens: u64) {
        self.coming.push((text.to_owned(), tokens));
    }

    /// A message came in of which these tokens are ours.
    pub(super) fn helped(&mut self, at: u64, tokens: u64) {
        if tokens > 0 {
            self.help.insert(at, tokens);
        }
    }

    /// The model read or changed a file.
    pub(super) fn saw(&mut self, file: &ObjectId) {
        self.left.remove(file);
    }

    /// Tokens of help in the message at a position.
    pub(super) fn help_at(&self, at: u64) -> u64 {
        self.help.get(&at).copied().unwrap_or(0)
    }

    pub(super) fn called(&mut self) {
        self.coming.clear();
    }

    /// Cuts the chat back to this length.
    pub(super) fn go_back(&mut self, chat_len: u64) {
        self.by_place.split_off(&chat_len);
        self.help.split_off(&chat_len);
    }

    /// Drops notes of a message, by their places.
    pub(super) fn spend(&mut self, at: u64, places: &[u64]) {
        let Some(notes) = self.by_place.get_mut(&at) else { return };
        let mut places_left = 0_u64..;
        notes.retain(|_| places_left.next().is_none_or(|place| !places.contains(&place)));
        if notes.is_empty() {
            self.by_place.remove(&at);
        }
    }

    /// A file goes on as another object.
    pub(super) fn move_object(&mut self, from: &ObjectId, to: &ObjectId) {
        let files = self.by_place.values_mut().flatten().flat_map(|note| &mut note.about);
        files.filter(|file| *file == from).for_each(|file| *file = to.clone());
        if self.left.remove(from) {
            self.left.insert(to.clone());
        }
    }
}

impl Session {
    /// Notes shown in a message.
    pub fn notes(&self, at: u64) -> &[Note] {
        self.notes.by_place.get(&at).map_or(&[], Vec::as_slice)
    }

    /// Positions of the messages that carry notes.
    pub fn noted(&self) -> impl Iterator<Item = u64> {
        self.notes.by_place.keys().copied()
    }

    /// Tokens of the notes in a message.
    pub fn note_tokens(&self, at: u64) -> u64 {
        self.notes(at).iter().map(|note| note.tokens).sum()
    }

    /// Tokens of the notes that tell nothing any more, by message: a later note tells of the same
    /// file, no text of the file stands, or what they show need not stand.
    pub fn spent_notes(&self) -> BTreeMap<u64, u64> {
        let (mut told, mut spent) = (BTreeSet::new(), BTreeMap::new());
        for (at, notes) in self.notes.by_place.iter().rev() {
            let is_spent = |file: &ObjectId| told.contains(file) || !self.stands(file);
            let are_spent = |note: &&Note| match &note.shows {
                Some(_) => !self.must_stay(note),
                None => !note.about.is_empty() && note.about.iter().all(is_spent),
            };
            let tokens: u64 = notes.iter().filter(are_spent).map(|note| note.tokens).sum();
            if tokens > 0 {
                spent.insert(*at, tokens);
            }
            if self.is_in_front(*at) {
                told.extend(notes.iter().flat_map(|note| &note.about));
            }
        }
        spent
    }

    /// Position of the newest note about a file that stands in the window.
    pub fn newest_note(&self, file: &ObjectId) -> Option<u64> {
        let mut newest_first = self.notes.by_place.iter().rev();
        let tells = |notes: &[Note]| notes.iter().any(|note| note.about.contains(file));
        let found = newest_first.find(|(at, notes)| tells(notes) && self.is_in_front(**at));
        found.map(|(at, _)| *at)
    }

    /// Files of whose change no note tells any more, though one did.
    pub fn left_notes(&self) -> impl Iterator<Item = &ObjectId> {
        self.notes.left.iter()
    }

    /// Whether a file is one of them.
    pub fn has_left_note(&self, file: &ObjectId) -> bool {
        self.notes.left.contains(file)
    }

    /// Files of whose changes notes tell.
    pub(super) fn told_files(&self) -> BTreeSet<ObjectId> {
        let in_front = self.notes.by_place.iter().filter(|(at, _)| self.is_in_front(**at));
        in_front.flat_map(|(_, notes)| notes).flat_map(|note| note.about.clone()).collect()
    }

    /// Remembers of which of these files no note tells any more, though text of them stands that is
    /// not their present text.
    pub(super) fn note_left(&mut self, told: BTreeSet<ObjectId>) {
        let still = self.told_files();
        let left = told.into_iter().filter(|file| !still.contains(file));
        let is_outdated =
            |file: &ObjectId| self.glimpse_of(file).is_some() || self.outdated(file).is_some();
        let left: Vec<ObjectId> = left.filter(is_outdated).collect();
        self.notes.left.extend(left);
    }

    /// The files of which the newest message that shows, changes or tells of them is not among those
    /// that stay.
    pub(super) fn files_leaving(&self, stays: &HashSet<u64>) -> Vec<ObjectId> {
        let mut newest = BTreeMap::new();
        for at in &self.chat.own_window {
            let shown = self.result(*at).and_then(|fact| match &fact.shows {
                Shows::File { object, .. }
                | Shows::Change { object }
                | Shows::Activated { object, .. } => Some(object),
                Shows::Own => None,
            });
            let told = self.notes(*at).iter().flat_map(|note| &note.about);
            newest.extend(shown.into_iter().chain(told).map(|file| (file, *at)));
        }
        let leaves = newest.into_iter().filter(|(_, at)| !stays.contains(at));
        leaves.map(|(file, _)| file.clone()).collect()
    }

    /// The messages that said how these files are now left the window: what comes in then shows which
    /// of them stand otherwise, whatever earlier notes tell.
    pub(super) fn leave_behind(&mut self, files: Vec<ObjectId>) {
        let is_known = |file: &ObjectId| {
            let has_text = matches!(self.subject(file), Some(Subject::File { lines: Some(_), .. }));
            has_text || self.outdated(file).is_some()
        };
        let files: Vec<_> = files.into_iter().filter(is_known).collect();
        self.notes.left.extend(files);
    }

    /// The newest showing of a file that is not its present text, or text that the model wrote into
    /// it, as far as versions tell.
    pub fn outdated(&self, file: &ObjectId) -> Option<&Showing> {
        let now = self.version(file);
        let is_other = |showing: &&Showing| Some(&showing.version) != now;
        let newest = [self.showings(file).rfind(is_other), self.written(file).rfind(is_other)];
        newest.into_iter().flatten().max_by_key(|showing| showing.at)
    }

    /// Whether calls in the window made all versions of a file that came after this one.
    pub fn made_since(&self, file: &ObjectId, version: &Hash) -> bool {
        let calls = self.window().filter_map(|(_, message)| match &message.kind {
            MessageKind::Result(fact) => fact.object.as_ref(),
            _ => None,
        });
        let made: Vec<&Hash> = calls.filter_map(|call| self.files.made(file, call)).collect();
        let versions: Vec<&Hash> = self.files.versions(file).collect();
        let place = versions.iter().rposition(|known| *known == version);
        place.is_some_and(|place| versions[place + 1..].iter().all(|later| made.contains(later)))
    }

    /// Tokens in the window that we added: notes without content that must stand, and help for
    /// failed edits.
    pub fn added_tokens(&self) -> u64 {
        let notes = self.noted().filter(|at| self.is_in_front(*at)).flat_map(|at| self.notes(at));
        let notes = notes.filter(|note| note.shows.is_none()).map(|note| note.tokens);
        let help = self.notes.help.iter();
        let help = help.filter(|(at, _)| self.is_in_front(**at) && self.place(**at).stands);
        notes.sum::<u64>() + help.map(|(_, tokens)| tokens).sum::<u64>()
    }

    /// The help given for failed edits since the newest call: texts and their tokens.
    pub fn coming_help(&self) -> &[(String, u64)] {
        &self.notes.coming
    }

    /// Whether a message is in the window and not folded.
    pub(super) fn is_in_front(&self, at: u64) -> bool {
        !self.is_hidden(at) && self.chat.index_of(at).is_some()
    }

    /// Drops the notes of messages, except those that stay.
    pub(super) fn drop_notes(&mut self, goes: impl Fn(u64) -> bool) {
        let mut notes = std::mem::take(&mut self.notes.by_place);
        notes.retain(|at, notes| {
            if goes(*at) {
                notes.retain(|note| self.outlives_epochs(note));
            }
            !notes.is_empty()
        });
        self.notes.by_place = notes;
    }

    /// Whether a note stays when an epoch starts: what must stand, and the text about the session
    /// that this one continues.
    fn outlives_epochs(&self, note: &Note) -> bool {
        Some(note.text.as_str()) == self.continued_text() || self.must_stay(note)
    }

    /// Positions of the messages of which notes would leave with an epoch.
    pub fn leaving_notes(&self) -> impl Iterator<Item = u64> {
        let leaves = |notes: &[Note]| notes.iter().any(|note| !self.outlives_epochs(note));
        self.notes.by_place.iter().filter(move |(_, notes)| leaves(notes)).map(|(at, _)| *at)
    }
}
