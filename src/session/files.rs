//! The versions of each file that a session met: how lines moved between them, which of them and which place the model knows
//! of, and which files are out of reach.

use std::collections::HashMap;

use super::event::{Cause, FileEvent};
use super::lines::{LineMap, LineRange};
use crate::object::{Hash, ObjectId};

/// Versions of the files of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Files {
    by_id: HashMap<ObjectId, Versions>,
    /// Where files went that were moved, until another is met in their place.
    moved: HashMap<ObjectId, ObjectId>,
    /// The objects that files were before they were moved, in the order of the moves.
    origins: HashMap<ObjectId, Vec<ObjectId>>,
    /// Why files are out of reach.
    orphaned: HashMap<ObjectId, String>,
    /// Those of which the model saw text, in the order in which it first did.
    seen: Vec<ObjectId>,
}

#[derive(Debug, Clone)]
struct Versions {
    /// In order, each with the way in which lines moved to it.
    all: Vec<(Hash, Option<LineMap>)>,
    told: Hash,
    /// Path under which the model knows the file, where it was moved since.
    told_at: Option<String>,
    seen: Option<Hash>,
}

impl Files {
    /// Takes a file event; returns whether it brought another version.
    ///
    /// `stands`: whether text of the file stands in the window. If none does, there is nothing to be told of.
    pub(super) fn enter(&mut self, event: &FileEvent, stands: bool) -> bool {
        let known = self.by_id.entry(event.object.clone()).or_insert_with(|| Versions {
            all: vec![(event.version.clone(), None)],
            told: event.version.clone(),
            told_at: None,
            seen: None,
        });
        self.moved.remove(&event.object);
        let changed = known.all.last().is_some_and(|(version, _)| *version != event.version);
        if changed {
            known.all.push((event.version.clone(), event.moved.clone()));
        }
        // A check that finds a file as it was brings a stamp, or none where the machine is fast: nothing follows from it.
        let is_news = changed || event.cause != Cause::Checked;
        if event.cause.by_model() || event.cause == Cause::Changed || (!stands && is_news) {
            known.told = event.version.clone();
            known.told_at = None;
            if event.cause.by_model() || event.cause == Cause::Read || stands {
                self.see(&event.object, &event.version);
            }
        }
        changed
    }

    /// A file that the model knows at `path` was moved; `was`: its latest known version, `same`: the version of the new
    /// object that has its text.
    pub(super) fn go_on_as(
        &mut self,
        (from, path): (&ObjectId, &str),
        to: &ObjectId,
        same: Option<(&Hash, &Hash)>,
    ) {
        self.moved.remove(to);
        self.moved.insert(from.clone(), to.clone());
        let mut origins = self.origins.get(from).cloned().unwrap_or_default();
        origins.push(from.clone());
        let known = self.origins.entry(to.clone()).or_default();
        origins.retain(|origin| origin != to && !known.contains(origin));
        known.extend(origins);
        self.orphaned.remove(from);
        self.orphaned.remove(to);
        let Some(mut versions) = self.by_id.remove(from) else { return };
        if let Some((was, now)) = same {
            let all = versions.all.iter_mut().map(|(version, _)| version);
            all.chain([&mut versions.told])
                .chain(&mut versions.seen)
                .filter(|version| *version == was)
                .for_each(|version| *version = now.clone());
        }
        versions.told_at.get_or_insert_with(|| path.to_owned());
        if versions.seen.is_some() {
            self.seen.retain(|file| file != to);
        }
        self.seen.iter_mut().filter(|file| *file == from).for_each(|file| *file = to.clone());
        if let Some(before) = self.by_id.remove(to) {
            // Of text that stood in this place before nobody can say where it is now.
            versions.all.splice(0..0, before.all);
            versions.seen = versions.seen.or(before.seen);
        }
        self.by_id.insert(to.clone(), versions);
    }

    /// The object as which a file goes on that is no longer known at its own place; itself where it was not moved.
    pub(super) fn current<'a>(&'a self, file: &'a ObjectId) -> &'a ObjectId {
        let mut file = file;
        // A cycle is cut where it closes, so this ends; the bound says so.
        for _ in 0..=self.moved.len() {
            match self.moved.get(file) {
                Some(to) => file = to,
                None => break,
            }
        }
        file
    }

    /// The objects that a file was before it was moved, in the order of the moves.
    pub(super) fn origins(&self, file: &ObjectId) -> &[ObjectId] {
        self.origins.get(file).map_or(&[], Vec::as_slice)
    }

    /// Whether any file was moved.
    pub(super) fn any_moved(&self) -> bool {
        !self.origins.is_empty()
    }

    /// The path under which the model knows a file that was moved since.
    pub(super) fn told_at(&self, file: &ObjectId) -> Option<&str> {
        self.by_id.get(file)?.told_at.as_deref()
    }

    /// Takes a file out of reach.
    pub(super) fn orphan(&mut self, file: &ObjectId, reason: &str) {
        self.orphaned.insert(file.clone(), reason.to_owned());
    }

    /// Takes a file back into reach.
    pub(super) fn resume(&mut self, file: &ObjectId) {
        self.orphaned.remove(file);
    }

    /// Why a file is out of reach; `None` where it is not.
    pub(super) fn orphaned(&self, file: &ObjectId) -> Option<&str> {
        self.orphaned.get(file).map(String::as_str)
    }

    /// The model was told of a version.
    pub(super) fn tell(&mut self, file: &ObjectId, version: &Hash) {
        if let Some(known) = self.by_id.get_mut(file) {
            known.told = version.clone();
        }
        self.see(file, version);
    }

    /// Text of a version stands in the window.
    pub(super) fn show(&mut self, file: &ObjectId, version: &Hash) {
        let latest = self.by_id.get(file).and_then(|known| known.all.last());
        if latest.is_some_and(|(latest, _)| latest == version) {
            self.see(file, version);
        }
    }

    fn see(&mut self, file: &ObjectId, version: &Hash) {
        let Some(known) = self.by_id.get_mut(file) else { return };
        if known.seen.replace(version.clone()).is_none() {
            self.seen.push(file.clone());
        }
    }

    /// The files of which the model saw text, in the order in which it first did.
    pub(super) fn all_seen(&self) -> &[ObjectId] {
        &self.seen
    }

    /// The newest version that the model saw text of, made itself or was told of.
    pub(super) fn seen(&self, file: &ObjectId) -> Option<&Hash> {
        self.by_id.get(file)?.seen.as_ref()
    }

    /// The version of a file that the model was told of last, or made itself.
    pub(super) fn told(&self, file: &ObjectId) -> Option<&Hash> {
        self.by_id.get(file).map(|versions| &versions.told)
    }

    /// Where lines of a version of an object are in its latest one; empty if they are gone, or nobody can say. Objects
    /// that are no files have one version.
    pub(super) fn lines_now(
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
}
