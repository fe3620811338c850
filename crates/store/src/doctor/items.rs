//! Checks one document's items against its versions, in one pass over every item that was ever in
//! the list. Must not read an item twice.

use std::collections::BTreeMap;

use super::{Examination, FindingKind};
use crate::{PlacedItem, Version};
use base::error::Result;
use base::object::{Hash, ObjectId, RunningHash, TxId};

/// Positions read at a time; items may be large.
const POSITIONS: u64 = 64;

/// An item without its text, for checking the next position.
struct ItemSpan {
    from: TxId,
    until: Option<TxId>,
    running_hash: Hash,
}

impl ItemSpan {
    fn stands_at(&self, tx_id: TxId) -> bool {
        self.from <= tx_id && self.until.is_none_or(|until| until > tx_id)
    }
}

/// Versions by the number of their items.
type Lengths = BTreeMap<u64, Vec<(TxId, Option<Hash>)>>;

impl Examination<'_> {
    /// Checks that each item continues the list before it, and that each version has as many items
    /// as it says.
    pub(super) fn items(&mut self, id: &ObjectId, versions: &[Version]) -> Result<()> {
        let mut lengths = Lengths::new();
        for version in versions.iter().filter(|version| version.tx_id <= self.until) {
            let list = (version.tx_id, version.items_hash.clone());
            lengths.entry(version.item_count).or_default().push(list);
        }
        if lengths.values().flatten().all(|(_, hash)| hash.is_none()) {
            return Ok(());
        }
        self.empty_lists(id, &lengths);
        let (mut position, mut before) = (0_u64, Vec::new());
        let end = lengths.keys().next_back().copied().unwrap_or(0);
        loop {
            let range = position..position.saturating_add(POSITIONS);
            let items = self.store.backend().placed_items(id, range.clone());
            let Some(mut items) = self.read(FindingKind::Items, Some(id), items)? else {
                return Ok(());
            };
            items.retain(|placed| placed.from <= self.until);
            if items.is_empty() && position >= end {
                return Ok(());
            }
            let mut items = items.into_iter().peekable();
            for position in range {
                let here: Vec<PlacedItem> =
                    std::iter::from_fn(|| items.next_if(|placed| placed.position == position))
                        .collect();
                if here.is_empty() && position >= end {
                    break;
                }
                before = self.place(id, position, &before, here)?;
                self.lists(id, position, &before, &lengths);
            }
            position += POSITIONS;
        }
    }

    /// Checks all items that were ever at one position against those before them.
    fn place(
        &mut self,
        id: &ObjectId,
        position: u64,
        before: &[ItemSpan],
        here: Vec<PlacedItem>,
    ) -> Result<Vec<ItemSpan>> {
        let mut places: Vec<ItemSpan> = Vec::with_capacity(here.len());
        for PlacedItem { from, until, item, .. } in here {
            // Left the list after the transaction that is checked.
            let until = until.filter(|until| *until <= self.until);
            self.report.checked.items += 1;
            self.report.checked.item_bytes += item.text.len() as u64;
            let place = ItemSpan { from, until, running_hash: item.running_hash };
            let start = RunningHash::default();
            let continued = match position {
                0 => Some(start.hash()),
                _ => predecessor(before, &place).map(|place| &place.running_hash),
            };
            let problem = match (continued, &item.redacted) {
                (None, _) => Some("continues no list"),
                _ if places.last().is_some_and(|last| last.stands_at(from)) => {
                    Some("stands in the place of another")
                }
                // Its running hash covers the original text; what is left has a hash of its own.
                (_, Some(recorded)) => {
                    (Hash::of(&item.text) != *recorded).then_some("is not what was left of it")
                }
                (Some(hash), None) => {
                    let found = RunningHash::from_stored(hash.clone()).push(&item.text);
                    (found != place.running_hash).then_some("is not what its hash says")
                }
            };
            if let Some(problem) = problem {
                let problem = format!("item {position} of transaction {from} {problem}");
                self.say(FindingKind::Items, Some(id), Some(from), problem);
            }
            let dangling = self.references.in_item(&item.text)?;
            self.dangling(id, from, dangling);
            places.push(place);
        }
        Ok(places)
    }

    /// Checks the versions whose list ends at or just before one position.
    fn lists(&mut self, id: &ObjectId, position: u64, here: &[ItemSpan], lengths: &Lengths) {
        let ending = lengths.get(&(position + 1)).into_iter().flatten();
        let ended = lengths.get(&position).into_iter().flatten();
        let standing = |tx_id| here.iter().find(|place| place.stands_at(tx_id));
        for (tx_id, recorded) in ending {
            let problem = match standing(*tx_id) {
                None => format!("item {position} is missing"),
                Some(last) if Some(&last.running_hash) != recorded.as_ref() => {
                    "its list is not what its hash says".to_owned()
                }
                Some(_) => continue,
            };
            self.say(FindingKind::Items, Some(id), Some(*tx_id), problem);
        }
        for (tx_id, _) in ended.filter(|(tx_id, _)| standing(*tx_id).is_some()) {
            let problem = format!("item {position} stands behind the end of its list");
            self.say(FindingKind::Items, Some(id), Some(*tx_id), problem);
        }
    }

    fn empty_lists(&mut self, id: &ObjectId, lengths: &Lengths) {
        let empty = RunningHash::default();
        for (tx_id, recorded) in lengths.get(&0).into_iter().flatten() {
            if recorded.as_ref().is_some_and(|recorded| recorded != empty.hash()) {
                let problem = "its empty list is not what its hash says".to_owned();
                self.say(FindingKind::Items, Some(id), Some(*tx_id), problem);
            }
        }
    }
}

/// The item before another one, valid during the other's whole time in the list.
fn predecessor<'p>(before: &'p [ItemSpan], place: &ItemSpan) -> Option<&'p ItemSpan> {
    before.iter().find(|earlier| {
        let outlives = match (earlier.until, place.until) {
            (None, _) => true,
            (Some(earlier), Some(until)) => earlier >= until,
            (Some(_), None) => false,
        };
        earlier.stands_at(place.from) && outlives
    })
}
