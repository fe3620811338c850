//! The versions of each file that a session met: how lines moved between them, which version and
//! path the model knows, and which files are out of reach.

use std::collections::HashMap;

use super::event::{Cause, FileEvent};
use super::line_ranges::{LineMap, LineRange, merge_ranges};
use base::object::{FileStamp, Hash, ObjectId};

/// A file that did not change for this many steps has come to rest.
const RESTED_STEPS: u32 = 10;
/// As how often told a file counts that changed again and again, once the model used it.
const TOLD_BEFORE_USE: u32 = 2;

/// Versions of the files of a session.
#[derive(Debug, Clone, Default)]
pub struct FileVersions {
    by_id: HashMap<ObjectId, Versions>,
    /// The new object of each moved file, until another file is met at the old path.
    moved: HashMap<ObjectId, ObjectId>,
    /// The former objects of each moved file, in the order of the moves.
    origins: HashMap<ObjectId, Vec<ObjectId>>,
    /// Files out of reach, with the reason.
    orphaned: HashMap<ObjectId, String>,
    /// Files whose text the model saw, in the order it first saw them.
    seen: Vec<ObjectId>,
}

#[derive(Debug, Clone)]
struct Versions {
    /// The versions in order, each with how lines moved since the previous one.
    all: Vec<(Hash, Option<LineMap>)>,
    /// The version that the model was last told about, or made itself.
    announced: Hash,
    /// A later version that the model's edits made where somebody else changed the file too, and
    /// what somebody else changed. The model knows the rest of it.
    beside: Option<(Hash, LineMap)>,
    /// The stamp of that version, if it has no text: a version without text may be the same though
    /// the file is not.
    stamp: Option<FileStamp>,
    /// SHA-256 of the bytes of a file without text, as last read, and as the model knows it.
    bytes: (Option<Hash>, Option<Hash>),
    /// How often the model was told of changes since it last used the file, or the file rested.
    told: u32,
    /// The step of the last change.
    changed_at: u32,
    /// The path under which the model knows the file, if it has moved since.
    announced_path: Option<String>,
    /// The newest version of which the model knows any text.
    seen: Option<Hash>,
    /// Versions of which the model was shown only a part of what changed.
    told_in_part: Vec<Hash>,
    /// The version that each tool call made which changed the file, and in which way.
    made: HashMap<ObjectId, (Hash, Cause)>,
}

impl Versions {
    /// Whether a file without text is as the model was last told: by its bytes if these were read,
    /// else by its stamp. When its attributes changed says nothing of what is in it.
    fn knows(&self, now: Option<&FileStamp>) -> bool {
        if let (Some(now), Some(known)) = &self.bytes {
            return now == known;
        }
        let of = |stamp: &FileStamp| (stamp.mtime_ns, stamp.size, stamp.inode);
        self.stamp.zip(now).is_none_or(|(known, now)| of(&known) == of(now))
    }

    fn touch(&mut self) {
        self.told = self.told.min(TOLD_BEFORE_USE);
    }
}

impl FileVersions {
    /// Applies a file event; returns whether it brought a new version.
    ///
    /// `stands`: whether text of the file stands in the window. If not, the model need not be told
    /// about a change. `step`: the present one.
    pub(super) fn enter(&mut self, event: &FileEvent, stands: bool, step: u32) -> bool {
        let known = self.by_id.entry(event.object.clone()).or_insert_with(|| Versions {
            all: vec![(event.version.clone(), None)],
            announced: event.version.clone(),
            beside: None,
            stamp: None,
            bytes: (event.bytes.clone(), event.bytes.clone()),
            told: 0,
            changed_at: step,
            announced_path: None,
            seen: None,
            told_in_part: Vec::new(),
            made: HashMap::new(),
        });
        self.moved.remove(&event.object);
        let changed = known.all.last().is_some_and(|(version, _)| *version != event.version);
        if changed {
            known.all.push((event.version.clone(), event.moved.clone()));
        }
        known.bytes.0.clone_from(&event.bytes);
        if changed || (event.lines.is_none() && !known.knows(event.stamp.as_ref())) {
            if step > known.changed_at + RESTED_STEPS {
                known.told = 0;
            }
            known.changed_at = step;
        }
        if event.cause.by_model() || event.cause == Cause::Read {
            known.touch();
        }
        // Whether a check of an unchanged file brings a stamp depends on the speed of the machine.
        // Nothing else may depend on that.
        let is_news = changed || event.cause != Cause::Checked;
        // What a read shows of a file without text is its present text, whatever stood before.
        let is_shown = event.cause == Cause::Read && event.lines.is_none();
        let is_told = event.cause.by_model() || event.cause == Cause::Changed || is_shown;
        if is_told || (!stands && is_news) {
            known.announced = event.version.clone();
            known.beside = None;
            known.stamp = event.stamp.filter(|_| event.lines.is_none());
            known.bytes.1.clone_from(&event.bytes);
            known.announced_path = None;
            if event.cause.by_model() || event.cause == Cause::Read || stands {
                self.see(&event.object, &event.version);
            }
        }
        changed
    }

    /// Moves everything about a file, which the model knows at `path`, to the object at its new
    /// path. `same`: its latest known version, and the new object's version with the same text.
    pub(super) fn move_object(
        &mut self,
        (from, path): (&ObjectId, &str),
        to: &ObjectId,
        same: Option<(&Hash, &Hash)>,
    ) {
        self.moved.remove(to);
        self.moved.insert(from.clone(), to.clone());
        let mut origins = self.origins.get(from).cloned().unwrap_or_default();
        // Another file may be met at `from`, on the way from where this one was before.
        for origin in &origins {
            if let Some(at) = self.moved.get_mut(origin).filter(|at| **at == *from) {
                at.clone_from(to);
            }
        }
        origins.push(from.clone());
        let known = self.origins.entry(to.clone()).or_default();
        origins.retain(|origin| origin != to && !known.contains(origin));
        known.extend(origins);
        self.orphaned.remove(from);
        self.orphaned.remove(to);
        let Some(mut versions) = self.by_id.remove(from) else { return };
        if let Some((was, now)) = same {
            let all = versions.all.iter_mut().map(|(version, _)| version);
            all.chain([&mut versions.announced])
                .chain(&mut versions.seen)
                .chain(&mut versions.told_in_part)
                .chain(versions.made.values_mut().map(|(version, _)| version))
                .chain(versions.beside.iter_mut().map(|(version, _)| version))
                .filter(|version| *version == was)
                .for_each(|version| *version = now.clone());
        }
        versions.announced_path.get_or_insert_with(|| path.to_owned());
        if versions.seen.is_some() {
            self.seen.retain(|file| file != to);
        }
        self.seen.iter_mut().filter(|file| *file == from).for_each(|file| *file = to.clone());
        if let Some(before) = self.by_id.remove(to) {
            // Lines of the overwritten file have no counterpart in the new one.
            versions.all.splice(0..0, before.all);
            versions.seen = versions.seen.or(before.seen);
        }
        self.by_id.insert(to.clone(), versions);
    }

    /// The current object of a file that may have moved: the file itself if it did not move, or if
    /// another file was met at the old path.
    pub fn current<'a>(&'a self, file: &'a ObjectId) -> &'a ObjectId {
        let mut file = file;
        // `move_object` never closes a cycle; the bound guarantees an end regardless.
        for _ in 0..=self.moved.len() {
            match self.moved.get(file) {
                Some(to) => file = to,
                None => break,
            }
        }
        file
    }

    /// The former objects of a moved file, in the order of the moves. Their versions count as
    /// versions of the file.
    pub fn origins(&self, file: &ObjectId) -> &[ObjectId] {
        self.origins.get(file).map_or(&[], Vec::as_slice)
    }

    /// Whether any file was moved since the session began.
    pub fn any_moved(&self) -> bool {
        !self.origins.is_empty()
    }

    /// The path under which the model knows a file, if it has moved since.
    pub(super) fn announced_path(&self, file: &ObjectId) -> Option<&str> {
        self.by_id.get(file)?.announced_path.as_deref()
    }

    /// Marks a file as out of reach.
    pub(super) fn orphan(&mut self, file: &ObjectId, reason: &str) {
        self.orphaned.insert(file.clone(), reason.to_owned());
    }

    /// Marks a file as within reach again.
    pub(super) fn resume(&mut self, file: &ObjectId) {
        self.orphaned.remove(file);
    }

    /// Why a file is out of reach, that is, unreadable but not known to be deleted; `None` if it is
    /// not.
    pub fn orphaned(&self, file: &ObjectId) -> Option<&str> {
        self.orphaned.get(file).map(String::as_str)
    }

    /// Records that the model knows a version. `stamp`: that of a version without text.
    pub(super) fn announce(&mut self, file: &ObjectId, version: &Hash, stamp: Option<FileStamp>) {
        if let Some(known) = self.by_id.get_mut(file) {
            known.announced = version.clone();
            known.beside = None;
            known.stamp = stamp;
            known.bytes.1.clone_from(&known.bytes.0);
            known.announced_path = None;
        }
        self.see(file, version);
    }

    /// Records that an edit of the model's made a version in which somebody else changed lines of
    /// which the model was not told. `told`: the version that it was last told about.
    pub(super) fn change_beside(
        &mut self,
        file: &ObjectId,
        told: &Hash,
        (version, others): (&Hash, &LineMap),
    ) {
        if let Some(known) = self.by_id.get_mut(file) {
            known.announced = told.clone();
            known.beside = Some((version.clone(), others.clone()));
            known.seen = Some(told.clone());
        }
    }

    /// The version that the model's edits made since it was last told about a file, if somebody else
    /// changed the file too, and what somebody else changed between the two.
    pub fn changed_beside(&self, file: &ObjectId) -> Option<(&Hash, &LineMap)> {
        self.by_id.get(file)?.beside.as_ref().map(|(version, others)| (version, others))
    }

    /// Records that the model was told of a change.
    pub(super) fn told(&mut self, file: &ObjectId) {
        if let Some(known) = self.by_id.get_mut(file) {
            known.told += 1;
        }
    }

    /// Records that the model used a file.
    pub(super) fn touch(&mut self, file: &ObjectId) {
        if let Some(known) = self.by_id.get_mut(file) {
            known.touch();
        }
    }

    /// How often the model was told of changes of a file since it last used it, or since the file
    /// rested.
    pub fn times_told(&self, file: &ObjectId) -> u32 {
        self.by_id.get(file).map_or(0, |known| known.told)
    }

    /// Whether these are the bytes of a file without text as it was last read.
    pub fn has_bytes(&self, file: &ObjectId, bytes: Option<&Hash>) -> bool {
        self.by_id.get(file).is_some_and(|known| known.bytes.0.as_ref() == bytes)
    }

    /// Whether the model knows a file without text as it is now. `stamp`: the present one.
    pub(super) fn knows_bytes(&self, file: &ObjectId, stamp: Option<&FileStamp>) -> bool {
        self.by_id.get(file).is_none_or(|known| known.knows(stamp))
    }

    /// Records that text of a version stands in the window.
    pub(super) fn show(&mut self, file: &ObjectId, version: &Hash) {
        let latest = self.by_id.get(file).and_then(|known| known.all.last());
        if latest.is_some_and(|(latest, _)| latest == version) {
            self.see(file, version);
        }
    }

    /// Records that text of a version came in where none of the file stood: the model knows no later
    /// one, whatever was found meanwhile, but those that its own calls made.
    pub(super) fn come_in(&mut self, file: &ObjectId, version: &Hash) {
        let Some(known) = self.by_id.get_mut(file) else { return };
        let is_earlier = known.all.iter().rev().skip(1).any(|(each, _)| each == version);
        let mut later = known.all.iter().rev().take_while(|(each, _)| each != version).peekable();
        let is_own = |each: &Hash| known.made.values().any(|(made, _)| made == each);
        let are_own = later.peek().is_some() && later.all(|(each, _)| is_own(each));
        if is_earlier && !are_own && known.announced != *version {
            known.announced = version.clone();
            known.beside = None;
        }
    }

    /// Records that a note shows only a part of what changed with a version.
    pub(super) fn tell_in_part(&mut self, file: &ObjectId, version: &Hash) {
        if let Some(known) = self.by_id.get_mut(file) {
            known.told_in_part.push(version.clone());
        }
    }

    fn see(&mut self, file: &ObjectId, version: &Hash) {
        let Some(known) = self.by_id.get_mut(file) else { return };
        if known.seen.replace(version.clone()).is_none() {
            self.seen.push(file.clone());
        }
    }

    /// The versions of a file that the session met, oldest first; empty for anything else.
    pub fn versions(&self, file: &ObjectId) -> impl Iterator<Item = &Hash> {
        self.by_id.get(file).into_iter().flat_map(|known| known.all.iter().map(|(hash, _)| hash))
    }

    /// Files whose text the model saw, in the order it first saw them.
    pub fn all_seen(&self) -> &[ObjectId] {
        &self.seen
    }

    /// The newest version of a file whose text the model saw, that it made itself, or that it was
    /// told about. Unlike with [`Self::announced`], changes do not count while nothing of the file
    /// stands.
    pub fn seen(&self, file: &ObjectId) -> Option<&Hash> {
        self.by_id.get(file)?.seen.as_ref()
    }

    /// The version of a file that the model was last told about, or made itself.
    pub fn announced(&self, file: &ObjectId) -> Option<&Hash> {
        self.by_id.get(file).map(|versions| &versions.announced)
    }

    /// Where lines of a version are in the latest one; empty if they are gone or cannot be located.
    /// Objects other than files have one version only.
    pub fn lines_now(
        &self,
        object: &ObjectId,
        version: &Hash,
        ranges: &[LineRange],
    ) -> Vec<LineRange> {
        let Some(versions) = self.by_id.get(object) else { return ranges.to_vec() };
        let Some(place) = versions.all.iter().rposition(|(known, _)| known == version) else {
            return Vec::new();
        };
        let moves = versions.all[place + 1..].iter().map(|(_, moved)| moved);
        moves.fold(ranges.to_vec(), |ranges, moved| match moved {
            Some(map) => ranges.into_iter().filter_map(|range| map.map(range)).collect(),
            None => Vec::new(),
        })
    }

    /// Records that a tool call made a version of a file, and in which way.
    pub(super) fn made_by(&mut self, toolcall: &ObjectId, file: &ObjectId, made: (Hash, Cause)) {
        if let Some(known) = self.by_id.get_mut(file) {
            known.made.insert(toolcall.clone(), made);
        }
    }

    /// The version of a file that a tool call made.
    pub(super) fn made(&self, file: &ObjectId, toolcall: &ObjectId) -> Option<&Hash> {
        self.by_id.get(file)?.made.get(toolcall).map(|(version, _)| version)
    }

    /// The version of a file of which a tool call wrote the whole text.
    pub(super) fn wrote(&self, file: &ObjectId, toolcall: &ObjectId) -> Option<&Hash> {
        let made = self.by_id.get(file)?.made.get(toolcall);
        made.filter(|(_, cause)| *cause == Cause::Written).map(|(version, _)| version)
    }

    /// Where the lines that a tool call wrote into a file are in the latest version, in order;
    /// empty if the file was new, or if they are gone or not known.
    pub fn lines_written(&self, file: &ObjectId, toolcall: &ObjectId) -> Vec<LineRange> {
        let written = || {
            let version = self.made(file, toolcall)?;
            let known = self.by_id.get(file)?;
            let (_, moved) = known.all.iter().rfind(|(each, _)| each == version)?;
            Some(self.lines_now(file, version, &moved.as_ref()?.written()))
        };
        merge_ranges(&written().unwrap_or_default())
    }

    /// Where lines of a version are in the same or a later one, those of which the model has that
    /// text: where it was told of a change in part, only what did not change.
    pub(super) fn lines_known(
        &self,
        object: &ObjectId,
        version: &Hash,
        ranges: &[LineRange],
        later: &Hash,
    ) -> Vec<LineRange> {
        if version == later {
            return ranges.to_vec();
        }
        let mut versions = self.by_id.get(object).map_or(&[][..], |versions| &versions.all);
        let place = |versions: &[(Hash, _)], version| {
            versions.iter().rposition(|(known, _)| known == version)
        };
        versions = &versions[..place(versions, later).map_or(0, |place| place + 1)];
        let Some(place) = place(versions, version) else { return Vec::new() };
        let in_part = |version: &Hash| {
            self.by_id.get(object).is_some_and(|known| known.told_in_part.contains(version))
        };
        versions[place + 1..].iter().fold(ranges.to_vec(), |ranges, (version, moved)| {
            let Some(map) = moved else { return Vec::new() };
            let ranges = ranges.into_iter();
            if in_part(version) {
                return ranges.flat_map(|range| map.unchanged(range)).collect();
            }
            ranges.filter_map(|range| map.map(range)).collect()
        })
    }
}
