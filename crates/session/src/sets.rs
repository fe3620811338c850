//! The metadata pool, active set and pinned set, and how the tools change them.
//!
//! The layout `pools` renders these sets. In `log`, an object is active while its content stands,
//! and the sets record what the model pinned, activated and deactivated.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::held::{HeldLines, Why};
use super::line_ranges::{LineMap, LineRange, merge_ranges};
use base::object::{Hash, ObjectId};

/// How much of an object is active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActiveView {
    /// All of it.
    Whole,
    /// Some lines of the latest version.
    Lines(Vec<LineRange>),
}

impl ActiveView {
    fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Lines(mine), Self::Lines(more)) => {
                mine.extend(more);
                *mine = merge_ranges(mine);
            }
            (mine, _) => *mine = Self::Whole,
        }
    }
}

/// An active object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// The object.
    pub id: ObjectId,
    /// How much of it.
    pub view: ActiveView,
    /// The turn that last produced or activated it.
    pub turn: u32,
}

/// An object of the metadata pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolObject {
    /// The object.
    pub id: ObjectId,
    /// When it was last met: larger is later.
    pub seen: u64,
    /// Whether its content was ever active.
    pub activated: bool,
}

/// The three sets, each in order of entry, and what must stand; pinned ⊆ active ⊆ pool.
#[derive(Debug, Clone, Default)]
pub struct Sets {
    /// Objects known to the model, in the order they became known.
    pub pool: Vec<PoolObject>,
    places: HashMap<ObjectId, usize>,
    active: BTreeMap<u64, Active>,
    activations: HashMap<ObjectId, u64>,
    /// What must stand, the newest decision last.
    pub held: Vec<HeldLines>,
    deactivated: HashSet<ObjectId>,
    /// Objects taken out of the pool and not brought back.
    indexed_only: HashSet<ObjectId>,
    seen: u64,
}

impl Sets {
    /// Objects whose content should be in the window, in order of activation.
    pub fn active(&self) -> impl DoubleEndedIterator<Item = &Active> {
        self.active.values()
    }

    /// What must stand, to be changed as the objects change.
    pub(super) fn held_mut(&mut self) -> impl Iterator<Item = &mut HeldLines> {
        self.held.iter_mut()
    }

    /// Objects that are pinned, the newest pin last.
    pub fn pinned(&self) -> Vec<&ObjectId> {
        let mut pinned: Vec<&ObjectId> = Vec::new();
        for held in self.held.iter().filter(|held| held.why == Why::Pinned) {
            pinned.retain(|object| **object != held.object);
            pinned.push(&held.object);
        }
        pinned
    }

    /// Whether an object is active.
    pub fn is_active(&self, id: &ObjectId) -> bool {
        self.activations.contains_key(id)
    }

    /// Whether an object is pinned.
    pub fn is_pinned(&self, id: &ObjectId) -> bool {
        self.held.iter().any(|held| held.object == *id && held.why == Why::Pinned)
    }

    /// Whether a person pinned an object, or some of its lines.
    pub fn is_pinned_by_person(&self, id: &ObjectId) -> bool {
        self.held.iter().any(|held| held.object == *id && held.by_person)
    }

    /// Whether any object is deactivated: the model said so, and it was not shown again since.
    pub fn lets_go(&self) -> bool {
        !self.deactivated.is_empty()
    }

    /// Whether the model deactivated this object and it was not shown again since.
    pub fn is_deactivated(&self, id: &ObjectId) -> bool {
        self.deactivated.contains(id)
    }

    /// Whether an object was taken out of the pool and not brought back.
    pub fn is_indexed_only(&self, id: &ObjectId) -> bool {
        self.indexed_only.contains(id)
    }

    /// Takes an object out of the pool and deactivates it.
    pub(super) fn leave_pool(&mut self, id: &ObjectId) {
        self.deactivate(id);
        self.indexed_only.insert(id.clone());
        self.pool.retain(|known| known.id != *id);
        self.renumber();
    }

    /// Brings an object back into the pool; its content stays inactive.
    pub(super) fn enter_pool(&mut self, id: &ObjectId) {
        self.indexed_only.remove(id);
        self.deactivated.remove(id);
        self.meet(id, false);
    }

    /// Makes an object known. An object that is only indexed stays so until its content appears or
    /// somebody brings it back.
    pub(super) fn discover(&mut self, id: &ObjectId) {
        self.meet(id, false);
    }

    /// Activates content and makes it as fresh as if just produced. New lines join those already
    /// active.
    pub(super) fn activate(&mut self, id: &ObjectId, view: ActiveView, turn: u32) {
        self.indexed_only.remove(id);
        self.meet(id, true);
        self.deactivated.remove(id);
        let mut fresh = Active { id: id.clone(), view, turn };
        if let Some(before) = self.drop_active(id) {
            fresh.view.join(before.view);
        }
        // `meet` made `seen` larger than the number of any other active object.
        self.activations.insert(id.clone(), self.seen);
        self.active.insert(self.seen, fresh);
    }

    /// Everything leaves the sets, and nothing must stand.
    pub(super) fn clear(&mut self) {
        *self = Self { seen: self.seen, ..Self::default() };
    }

    /// From now on this must stand, with what of the same object had to before.
    pub(super) fn hold(&mut self, held: HeldLines) {
        let same = |other: &HeldLines| other.is_joined_by(&held);
        let before = self.held.iter().position(same).map(|place| self.held.remove(place));
        self.held.push(match before {
            Some(before) => held.joined(&before),
            None => held,
        });
    }

    /// Ends the pins of an object; it stays active.
    pub(super) fn unpin(&mut self, id: &ObjectId) {
        self.release(|held| held.object == *id && held.why == Why::Pinned);
    }

    /// These need not stand any longer. Returns whether a pin was among them.
    pub(super) fn release(&mut self, is_it: impl Fn(&HeldLines) -> bool) -> bool {
        let pins = |held: &[HeldLines]| held.iter().filter(|held| held.why == Why::Pinned).count();
        let before = pins(&self.held);
        self.held.retain(|held| !is_it(held));
        pins(&self.held) < before
    }

    /// Deactivates an object at the model's request. This overrides every rule that would keep it.
    pub(super) fn deactivate(&mut self, id: &ObjectId) {
        self.drop_active(id);
        self.release(|held| held.object == *id);
        self.deactivated.insert(id.clone());
    }

    /// The call's own text was replaced by another one, of this version with this many lines.
    pub(super) fn retarget(&mut self, id: &ObjectId, version: &Hash, lines: u64) {
        for held in self.held.iter_mut().filter(|held| held.object == *id) {
            held.version = version.clone();
            held.ranges = vec![LineRange { first: 1, last: lines }];
        }
    }

    /// Deactivates an object because the conversation went back to before it was produced. A pinned
    /// object stays.
    pub(super) fn leave_behind(&mut self, id: &ObjectId) {
        if !self.is_pinned(id) {
            self.drop_active(id);
        }
    }

    /// Adjusts the active lines of a changed file. If none are left, the file is no longer active.
    pub(super) fn move_lines(&mut self, id: &ObjectId, moved: Option<&LineMap>) {
        let is_pinned = self.is_pinned(id);
        let active = self.activations.get(id).and_then(|number| self.active.get_mut(number));
        let Some(Active { view, .. }) = active else { return };
        let ActiveView::Lines(ranges) = view else { return };
        match moved {
            Some(map) => *ranges = ranges.iter().filter_map(|range| map.map(*range)).collect(),
            None => ranges.clear(),
        }
        match ranges.is_empty() {
            // What is pinned is of an earlier version.
            true if is_pinned => *view = ActiveView::Whole,
            true => drop(self.drop_active(id)),
            false => {}
        }
    }

    /// Replaces a moved file's object with the new one in every set. `same`: the version of both
    /// that has the same text, as the old object and as the new one.
    pub(super) fn move_object(
        &mut self,
        from: &ObjectId,
        to: &ObjectId,
        same: Option<(&Hash, &Hash)>,
    ) {
        if let Some(mut active) = self.activations.get(from).and_then(|at| self.active.remove(at)) {
            let number = self.activations.remove(from).unwrap_or_default();
            if let Some(before) = self.drop_active(to) {
                active.view.join(before.view);
            }
            active.id = to.clone();
            self.activations.insert(to.clone(), number);
            self.active.insert(number, active);
        }
        if self.is_pinned(from) {
            self.unpin(to);
        }
        for held in self.held.iter_mut().filter(|held| held.object == *from) {
            held.move_to(to, same);
        }
        if self.deactivated.remove(from) {
            self.deactivated.insert(to.clone());
        }
        if self.indexed_only.remove(from) {
            self.indexed_only.insert(to.clone());
            self.pool.retain(|known| known.id != *to);
        }
        if self.places.contains_key(from) {
            self.pool.retain(|known| known.id != *to);
        }
        self.pool
            .iter_mut()
            .filter(|known| known.id == *from)
            .for_each(|known| known.id = to.clone());
        self.renumber();
    }

    fn renumber(&mut self) {
        let places = self.pool.iter().enumerate();
        self.places = places.map(|(at, known)| (known.id.clone(), at)).collect();
    }

    fn drop_active(&mut self, id: &ObjectId) -> Option<Active> {
        self.activations.remove(id).and_then(|number| self.active.remove(&number))
    }

    fn meet(&mut self, id: &ObjectId, activated: bool) {
        self.seen += 1;
        if self.indexed_only.contains(id) {
            return;
        }
        if let Some(known) = self.places.get(id).and_then(|at| self.pool.get_mut(*at)) {
            known.seen = self.seen;
            known.activated |= activated;
            return;
        }
        self.places.insert(id.clone(), self.pool.len());
        self.pool.push(PoolObject { id: id.clone(), seen: self.seen, activated });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(first: u64, last: u64) -> ActiveView {
        ActiveView::Lines(vec![LineRange { first, last }])
    }

    #[test]
    fn only_content_or_a_command_returns_an_object_to_the_pool() {
        let (a, b) = (ObjectId::new("a"), ObjectId::new("b"));
        let mut sets = Sets::default();
        let pool = |sets: &Sets| -> Vec<String> {
            sets.pool.iter().map(|known| known.id.to_string()).collect()
        };
        sets.activate(&a, ActiveView::Whole, 1);
        sets.discover(&b);
        sets.hold(HeldLines::for_tests("a"));
        sets.leave_pool(&a);
        assert_eq!(
            (pool(&sets), sets.is_active(&a), sets.is_pinned(&a)),
            (vec!["b".into()], false, false)
        );
        sets.discover(&a);
        assert_eq!(pool(&sets), ["b"]);
        sets.enter_pool(&a);
        assert_eq!((pool(&sets), sets.is_active(&a)), (vec!["b".into(), "a".into()], false));
        sets.leave_pool(&b);
        sets.activate(&b, ActiveView::Whole, 2);
        assert_eq!((pool(&sets), sets.is_indexed_only(&b)), (vec!["a".into(), "b".into()], false));
        sets.leave_pool(&a);
        sets.move_object(&a, &b, None);
        assert!(sets.is_indexed_only(&b) && pool(&sets).is_empty());
    }

    #[test]
    fn activating_again_joins_lines_and_makes_fresh() {
        let (a, b) = (ObjectId::new("a"), ObjectId::new("b"));
        let mut sets = Sets::default();
        sets.activate(&a, lines(1, 5), 1);
        sets.activate(&b, ActiveView::Whole, 1);
        sets.activate(&a, lines(4, 9), 1);
        assert_eq!(
            sets.active().next_back().unwrap(),
            &Active { id: a.clone(), view: lines(1, 9), turn: 1 }
        );
        sets.activate(&a, ActiveView::Whole, 1);
        assert_eq!(sets.active().next_back().unwrap().view, ActiveView::Whole);
        assert_eq!(sets.pool.iter().map(|known| &known.id).collect::<Vec<_>>(), [&a, &b]);
    }

    #[test]
    fn deactivating_unpins_and_activating_takes_it_back() {
        let a = ObjectId::new("a");
        let mut sets = Sets::default();
        sets.activate(&a, ActiveView::Whole, 1);
        sets.hold(HeldLines::for_tests("a"));
        sets.deactivate(&a);
        assert!(!sets.is_active(&a) && !sets.is_pinned(&a) && sets.is_deactivated(&a));
        sets.activate(&a, ActiveView::Whole, 1);
        assert!(sets.is_active(&a) && !sets.is_deactivated(&a));
    }

    #[test]
    fn a_moved_file_stays_in_its_sets_as_the_new_object() {
        let (a, b, c) = (ObjectId::new("a"), ObjectId::new("b"), ObjectId::new("c"));
        let mut sets = Sets::default();
        sets.activate(&b, lines(7, 9), 1);
        sets.activate(&a, lines(1, 5), 1);
        sets.hold(HeldLines::for_tests("a"));
        sets.discover(&c);
        sets.move_object(&a, &b, None);
        let active: Vec<_> = sets.active().collect();
        let joined = ActiveView::Lines(merge_ranges(&[
            LineRange { first: 1, last: 5 },
            LineRange { first: 7, last: 9 },
        ]));
        assert_eq!(active, [&Active { id: b.clone(), view: joined, turn: 1 }]);
        assert_eq!(sets.pinned(), [&b]);
        assert_eq!(sets.pool.iter().map(|known| &known.id).collect::<Vec<_>>(), [&b, &c]);
        sets.activate(&c, ActiveView::Whole, 2);
        assert_eq!(sets.pool.len(), 2);
        sets.deactivate(&b);
        sets.move_object(&b, &a, None);
        assert!(sets.is_deactivated(&a) && !sets.is_deactivated(&b) && !sets.is_active(&a));
    }

    #[test]
    fn active_lines_move_with_the_file_or_drop_with_their_lines() {
        let a = ObjectId::new("a");
        let mut sets = Sets::default();
        sets.activate(&a, lines(2, 3), 1);
        sets.move_lines(&a, Some(&LineMap::between("1\n2\n3\n4", "0\n1\n2\n3\n4")));
        assert_eq!(sets.active().next().unwrap().view, lines(3, 4));
        sets.move_lines(&a, Some(&LineMap::between("0\n1\n2\n3\n4", "0\n1\n4")));
        assert!(sets.active().next().is_none());
    }
}
