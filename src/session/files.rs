//! The versions of each file that a session met: how lines moved between them, and which of them the model knows of.

use std::collections::HashMap;

use super::event::{Cause, FileEvent};
use super::lines::{LineMap, LineRange};
use crate::object::{Hash, ObjectId};

/// Versions of the files of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Files {
    by_id: HashMap<ObjectId, Versions>,
    /// Those of which the model saw text, in the order in which it first did.
    seen: Vec<ObjectId>,
}

#[derive(Debug, Clone)]
struct Versions {
    /// In order, each with the way in which lines moved to it.
    all: Vec<(Hash, Option<LineMap>)>,
    told: Hash,
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
            seen: None,
        });
        let changed = known.all.last().is_some_and(|(version, _)| *version != event.version);
        if changed {
            known.all.push((event.version.clone(), event.moved.clone()));
        }
        if event.cause.by_model() || event.cause == Cause::Changed || !stands {
            known.told = event.version.clone();
            if event.cause.by_model() || event.cause == Cause::Read || stands {
                self.see(&event.object, &event.version);
            }
        }
        changed
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
