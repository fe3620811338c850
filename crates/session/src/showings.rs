//! What stands of objects at the messages of the window. Plain data, found by message and by object. Must not decide what stands.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::lines::LineRange;
use base::object::{Hash, ObjectId};

/// Lines of an object that stand in the window at one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Showing {
    /// Position of the message.
    pub at: u64,
    /// The object.
    pub object: ObjectId,
    /// `content_hash` of the version shown.
    pub version: Hash,
    /// The lines shown, of that version.
    pub ranges: Vec<LineRange>,
    /// Where these lines are in the latest version; empty if they are gone.
    pub now: Vec<LineRange>,
}

/// All of them, at most one to a message.
#[derive(Debug, Clone, Default)]
pub(super) struct Showings {
    by_place: BTreeMap<u64, Showing>,
    by_object: HashMap<ObjectId, BTreeSet<u64>>,
}

impl Showings {
    /// What stands, in the order of the messages.
    pub(super) fn all(&self) -> impl Iterator<Item = &Showing> {
        self.by_place.values()
    }

    /// What stands of an object, in the order of the messages.
    pub(super) fn of<'a>(
        &'a self,
        object: &ObjectId,
    ) -> impl DoubleEndedIterator<Item = &'a Showing> + use<'a> {
        let places = self.by_object.get(object).into_iter().flatten();
        places.filter_map(|at| self.by_place.get(at))
    }

    /// Replaces what stands at a message; nothing stands there with `None`.
    pub(super) fn set(&mut self, at: u64, showing: Option<Showing>) {
        if let Some(before) = self.by_place.remove(&at)
            && let Some(places) = self.by_object.get_mut(&before.object)
        {
            places.remove(&at);
            if places.is_empty() {
                self.by_object.remove(&before.object);
            }
        }
        if let Some(showing) = showing {
            self.by_object.entry(showing.object.clone()).or_default().insert(at);
            self.by_place.insert(at, showing);
        }
    }

    /// Nothing stands any more.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
