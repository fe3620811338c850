//! What was read of a session before it is asked for, in few requests: histories, lists of items,
//! contents. Kept while the session is taken. Must not decide what belongs to it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::client::{At, Document, Tx};
use super::{XtdbBackend, documents};
use base::error::Result;
use base::lock;
use base::object::{AsOf, Hash, ObjectId, Room, Timestamp, TxId};
use store::{Item, PlacedItem, Version};

/// Bytes of texts kept of one session; the rest is read one by one.
const MOST_TEXT_BYTES: usize = 64 << 20;

/// What is at hand.
#[derive(Debug, Default)]
pub(super) struct AtHand {
    /// Contents, by hash.
    pub(super) texts: HashMap<Hash, String>,
    /// The versions and items of lists, while a session is taken.
    lists: Option<HashMap<ObjectId, Arc<List>>>,
}

/// An object's versions, and the items of each: nearly always the first items of the latest.
#[derive(Debug)]
pub(super) struct List {
    /// Newest first.
    pub(super) versions: Vec<Version>,
    latest: Vec<Item>,
    /// Items of the versions that have others.
    others: HashMap<TxId, Vec<Item>>,
}

impl List {
    /// The items as of the transaction of one of the versions.
    pub(super) fn at(&self, tx_id: TxId, range: Range<u64>) -> Option<&[Item]> {
        let count = self.versions.iter().find(|version| version.tx_id == tx_id)?.item_count;
        let items = self.others.get(&tx_id).unwrap_or(&self.latest);
        let place = |at: u64| usize::try_from(at.min(count)).unwrap_or(usize::MAX);
        items.get(place(range.start)..place(range.end).max(place(range.start)))
    }

    /// The items that were ever there, by position, then transaction.
    fn ever(&self) -> Vec<PlacedItem> {
        let mut placed: Vec<PlacedItem> = Vec::new();
        let mut standing: Vec<(TxId, &Item)> = Vec::new();
        let place = |position: usize, from: TxId, until: Option<TxId>, item: &Item| PlacedItem {
            position: position as u64,
            from,
            until,
            item: item.clone(),
        };
        for version in self.versions.iter().rev() {
            let items = self.at(version.tx_id, 0..version.item_count).unwrap_or_default();
            let same = standing
                .iter()
                .zip(items)
                .take_while(|((_, old), new)| old.running_hash == new.running_hash)
                .count();
            for (position, (from, item)) in standing.drain(same..).enumerate() {
                placed.push(place(same + position, from, Some(version.tx_id), item));
            }
            standing.extend(items.iter().skip(same).map(|item| (version.tx_id, item)));
        }
        let last = standing.into_iter().enumerate();
        placed.extend(last.map(|(position, (from, item))| place(position, from, None, item)));
        placed.sort_by_key(|placed| (placed.position, placed.from));
        placed
    }
}

/// Keeps what is read of sessions until it is dropped.
pub(crate) struct ReadsAhead<'b>(&'b XtdbBackend);

impl Drop for ReadsAhead<'_> {
    fn drop(&mut self) {
        *lock(&self.0.at_hand) = AtHand::default();
    }
}

impl XtdbBackend {
    /// Keeps what is read from now on: for a session, whose objects are asked for again and again.
    pub(crate) fn read_ahead(&self) -> ReadsAhead<'_> {
        *lock(&self.at_hand) = AtHand { lists: Some(HashMap::new()), ..AtHand::default() };
        ReadsAhead(self)
    }

    /// Reads the contents of these versions, many at once.
    pub(crate) fn read_texts_ahead(&self, versions: &[Version]) -> Result<()> {
        let contents =
            versions.iter().flat_map(|one| one.content.iter().chain(one.additional.values()));
        lock(&self.at_hand).texts = self.texts_of(contents, MOST_TEXT_BYTES)?;
        Ok(())
    }

    /// The versions and items of an object.
    pub(super) fn list(&self, id: &ObjectId) -> Result<Arc<List>> {
        if let Some(known) = self.list_at_hand(id) {
            return Ok(known);
        }
        let room = Room::for_answers();
        let versions = self.history_in(id, &room)?;
        self.list_of(id, versions, &room)
    }

    fn list_at_hand(&self, id: &ObjectId) -> Option<Arc<List>> {
        lock(&self.at_hand).lists.as_ref()?.get(id).map(Arc::clone)
    }

    fn list_of(&self, id: &ObjectId, versions: Vec<Version>, room: &Room) -> Result<Arc<List>> {
        let mut list = List { versions, latest: Vec::new(), others: HashMap::new() };
        for (at, version) in list.versions.iter().enumerate() {
            let count = usize::try_from(version.item_count).unwrap_or(usize::MAX);
            let end = count.checked_sub(1).and_then(|end| list.latest.get(end));
            if count == 0 || end.map(|item| &item.running_hash) == version.items_hash.as_ref() {
                continue;
            }
            let items = self.items_within(id, version.tx_id, 0..version.item_count, room)?;
            if at == 0 {
                list.latest = items;
            } else {
                list.others.insert(version.tx_id, items);
            }
        }
        let list = Arc::new(list);
        if let Some(lists) = &mut lock(&self.at_hand).lists {
            lists.insert(id.clone(), Arc::clone(&list));
        }
        Ok(list)
    }

    /// The items that were ever at these positions.
    pub(super) fn items_ever(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>> {
        let mut placed = self.list(id)?.ever();
        placed.retain(|placed| range.contains(&placed.position));
        Ok(placed)
    }

    /// The items as of a version, if its list is at hand.
    pub(super) fn items_at_hand(
        &self,
        id: &ObjectId,
        at: At,
        range: Range<u64>,
    ) -> Option<Vec<Item>> {
        let At::Tx(tx) = at else { return None };
        self.list_at_hand(id)?.at(TxId(tx), range).map(<[Item]>::to_vec)
    }

    /// The versions of an object up to a point in its history, newest first, if they are at hand.
    pub(super) fn history_at_hand(&self, id: &ObjectId, at: AsOf) -> Option<Vec<Version>> {
        let list = self.list_at_hand(id)?;
        let until = match at {
            AsOf::Latest => TxId(i64::MAX),
            AsOf::Tx(tx_id) => tx_id,
            AsOf::Time(_) => return None,
        };
        let versions = list.versions.iter().filter(|version| version.tx_id <= until);
        Some(versions.cloned().collect())
    }

    /// The histories of those objects that exist. Nearly all of a session's have one version, which
    /// one question tells for all of them, but not its transaction: they get numbers before all
    /// others, in the order of their IDs.
    pub(super) fn histories_ahead(
        &self,
        ids: &[ObjectId],
    ) -> Result<HashMap<ObjectId, Vec<Version>>> {
        let mut marks: HashMap<String, Vec<String>> = HashMap::new();
        for (id, mark) in self.marks_of(ids)? {
            marks.entry(id).or_default().push(mark);
        }
        let room = Room::for_answers();
        let (mut histories, mut longer) = (HashMap::new(), Vec::new());
        let documents: BTreeMap<String, Document> =
            self.latest_documents(ids.iter())?.into_iter().collect();
        let first = lock(&self.at_hand).lists.as_ref().map_or(0, HashMap::len);
        for (number, (id, document)) in (i64::MIN..).zip(documents) {
            let number = number.saturating_add(i64::try_from(first).unwrap_or(i64::MAX));
            let id = ObjectId::new(id);
            let tx = Tx { id: number, time: Timestamp(0) };
            let is_single = |version: &Version| {
                version.items_hash.is_none()
                    && marks
                        .get(id.as_str())
                        .is_some_and(|marks| marks[..] == [super::mark(version)])
            };
            match documents::version(&document, tx, &self.store_id, &room) {
                Ok(version) if is_single(&version) => {
                    self.list_of(&id, vec![version.clone()], &room)?;
                    histories.insert(id, vec![version]);
                }
                _ => longer.push(id),
            }
        }
        for (id, history) in self.histories_of(&longer)? {
            self.list_of(&id, history.clone(), &room)?;
            histories.insert(id, history);
        }
        Ok(histories)
    }

    /// Whether what is read is kept.
    pub(super) fn reads_ahead(&self) -> bool {
        lock(&self.at_hand).lists.is_some()
    }
}
