//! Results that show a file whose text the store does not hold: it is not UTF-8, too large or
//! excluded. Their text stands as the host gave it. Must not look at files.

use std::collections::BTreeMap;

use super::{Effect, Session};
use crate::index::Subject;
use crate::message::Shows;
use base::object::{FileStamp, ObjectId};

/// What results show, by their positions: a command may show several files.
#[derive(Debug, Clone, Default)]
pub(super) struct Glimpses(BTreeMap<u64, Vec<Glimpse>>);

#[derive(Debug, Clone)]
struct Glimpse {
    file: ObjectId,
    /// Of the file when the result came in.
    stamp: Option<FileStamp>,
}

impl Glimpses {
    /// Cuts the chat back to this length.
    pub(super) fn go_back(&mut self, chat_len: u64) {
        self.0.split_off(&chat_len);
    }

    /// Another text took the place of a result.
    pub(super) fn edited(&mut self, at: u64) {
        self.0.remove(&at);
    }

    /// A file goes on as another object.
    pub(super) fn move_object(&mut self, from: &ObjectId, to: &ObjectId) {
        let shown = self.0.values_mut().flatten().map(|shown| &mut shown.file);
        shown.filter(|file| *file == from).for_each(|file| *file = to.clone());
    }
}

impl Session {
    /// Notes which files the result of a read shows, of those that no version has the text of.
    pub(super) fn glimpse(&mut self, at: u64) {
        let Some(message) = self.chat.get(at) else { return };
        let Some(call) = message.key.calls.first() else { return };
        if self.result(at).is_none_or(|fact| fact.shows != Shows::Own || !fact.ok) {
            return;
        }
        let is_textless = |file: &&ObjectId| {
            let known = self.subject(file);
            matches!(known, Some(Subject::File { lines: None, .. }))
        };
        let read = self.effects(call).filter_map(|effect| match effect {
            Effect::Read(file, _) => Some(file),
            Effect::Changed(..) | Effect::Activated(..) => None,
        });
        let mut shown: Vec<Glimpse> = Vec::new();
        for file in read.filter(is_textless) {
            if shown.iter().all(|known| known.file != *file) {
                shown.push(Glimpse { file: file.clone(), stamp: self.stamp_of(file) });
            }
        }
        if !shown.is_empty() {
            self.glimpses.0.insert(at, shown);
        }
    }

    /// The results that show files without stored text, with the files, in order.
    pub fn glimpses(&self) -> impl DoubleEndedIterator<Item = (u64, &ObjectId)> {
        let shown = self.glimpses.0.iter();
        let all = shown.flat_map(|(at, shown)| shown.iter().map(move |shown| (*at, &shown.file)));
        all.filter(|(at, _)| self.place(*at).stands && self.is_in_front(*at))
    }

    /// Position of the newest of them that shows a file.
    pub fn glimpse_of(&self, file: &ObjectId) -> Option<u64> {
        self.glimpses().rfind(|(_, shown)| *shown == file).map(|(at, _)| at)
    }

    /// The calls whose results showed a file without stored text as an image, the newest first, with the
    /// file's stamp at that time.
    pub fn images_of(
        &self,
        file: &ObjectId,
    ) -> impl Iterator<Item = (Option<FileStamp>, &ObjectId)> {
        self.glimpses.0.iter().rev().filter_map(move |(at, shown)| {
            let shown = shown.iter().find(|shown| shown.file == *file)?;
            let fact = self.result(*at).filter(|fact| fact.images > 0)?;
            Some((shown.stamp, fact.object.as_ref()?))
        })
    }

    /// Whether a note tells of a change of a file without stored text since a result showed it.
    pub fn was_told_since_seen(&self, file: &ObjectId) -> bool {
        let shown = self.glimpse_of(file);
        shown.zip(self.newest_note(file)).is_some_and(|(shown, noted)| shown < noted)
    }

    /// Whether the model has text of a file in front of it, in a message or a note.
    pub fn stands(&self, file: &ObjectId) -> bool {
        self.showings(file).next().is_some()
            || self.written(file).next().is_some()
            || self.glimpse_of(file).is_some()
            || self.noted_texts().any(|(_, text)| text.object == *file)
    }
}
