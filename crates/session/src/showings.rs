//! Which lines of which objects stand at each message of the window. Plain data, looked up by
//! message or by object. Must not decide what stands.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::line_ranges::LineRange;
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
    /// The lines shown, as numbered in that version.
    pub ranges: Vec<LineRange>,
    /// Where these lines are in the latest version; empty if they are gone.
    pub now: Vec<LineRange>,
}

/// All showings, at most one per message.
#[derive(Debug, Clone, Default)]
pub(super) struct Showings {
    by_place: BTreeMap<u64, Showing>,
    by_object: HashMap<ObjectId, BTreeSet<u64>>,
}

impl Showings {
    /// All showings, in the order of the messages.
    pub(super) fn all(&self) -> impl Iterator<Item = &Showing> {
        self.by_place.values()
    }

    /// The showings of an object, in the order of the messages.
    pub(super) fn of<'a>(
        &'a self,
        object: &ObjectId,
    ) -> impl DoubleEndedIterator<Item = &'a Showing> + use<'a> {
        let places = self.by_object.get(object).into_iter().flatten();
        places.filter_map(|at| self.by_place.get(at))
    }

    /// Replaces what stands at a message. `None`: nothing does.
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

    /// Removes all showings.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
