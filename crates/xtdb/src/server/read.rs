//! Reads versions, items and contents. Must not write.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::thread;

use serde_json::Value;

use super::XtdbBackend;
use super::client::{At, Document, Tx};
use super::documents::{self, FORGOTTEN, KEPT};
use base::error::{Error, Result};
use base::lock;
use base::object::{AsOf, Hash, ObjectId, Origin, Room, Timestamp, TxId};
use store::{Item, Version};

/// Documents requested in one query.
const ASKED_AT_ONCE: usize = 1_000;

/// Contents requested in one query.
const TEXTS_AT_ONCE: usize = 64;

/// Items requested in one query.
const ITEMS_AT_ONCE: usize = 500;

/// Objects read in parallel; at most the number of connections.
const READERS: usize = 4;

impl XtdbBackend {
    /// Number and time of the newest transaction; zeros if there is none of ours.
    pub(super) fn newest_tx(&self) -> Result<(TxId, Timestamp)> {
        let newest = self.client.latest_completed()?.filter(|tx| tx.id > self.first.id);
        Ok(newest.map_or((TxId(0), Timestamp(0)), |tx| (TxId(tx.id), tx.time)))
    }

    /// The database state at a point in our history; `None` before the first transaction.
    pub(super) fn at(&self, at: AsOf) -> Result<Option<At>> {
        match at {
            AsOf::Latest => Ok(Some(At::Latest)),
            AsOf::Tx(TxId(tx)) if tx <= self.first.id => Ok(None),
            AsOf::Tx(TxId(tx)) if tx <= self.newest_known().id => Ok(Some(At::Tx(tx))),
            AsOf::Tx(TxId(tx)) => {
                let (newest, _) = self.newest_tx()?;
                Ok(Some(if tx >= newest.0 { At::Latest } else { At::Tx(tx) }))
            }
            AsOf::Time(time) if time < self.first.time => Ok(None),
            AsOf::Time(time) => {
                let (_, newest) = self.newest_tx()?;
                Ok(Some(if time >= newest { At::Latest } else { At::Time(time) }))
            }
        }
    }

    /// An object's document, with the transaction that wrote it.
    pub(super) fn document(
        &self,
        id: &ObjectId,
        at: At,
        room: &Room,
    ) -> Result<Option<(Tx, Document)>> {
        if id.as_str().is_empty() {
            return Ok(None);
        }
        let Some(found) = self.client.entity_tx(id.as_str(), at)? else { return Ok(None) };
        if found.is_deleted {
            return Ok(None);
        }
        let document = self.client.entity(id.as_str(), At::Tx(found.tx.id), room)?;
        Ok(document.map(|document| (found.tx, document)))
    }

    /// The documents of several objects, with the transactions that wrote them, in their order.
    pub(super) fn documents(
        &self,
        ids: &[ObjectId],
        at: At,
    ) -> Result<Vec<Option<(Tx, Document)>>> {
        let room = Room::for_answers();
        side_by_side(ids, |id| self.document(id, at, &room))
    }

    /// The latest documents of several objects by their IDs, in one request.
    pub(super) fn latest_documents<'i>(
        &self,
        ids: impl Iterator<Item = &'i ObjectId>,
    ) -> Result<HashMap<String, Document>> {
        let query = "{:find [(pull e [*])] :in [[e ...]] :where [[e :identity_hash]]}";
        let found = document_column(self.ask_about(query, &texts(ids))?);
        Ok(found.map(|document| (documents::id_of(&document).to_owned(), document)).collect())
    }

    /// Which of these contents exist, and which were forgotten.
    pub(super) fn states_of(
        &self,
        contents: HashSet<&Hash>,
    ) -> Result<(HashSet<Hash>, HashSet<Hash>)> {
        let mut by_id: HashMap<String, &Hash> =
            contents.into_iter().map(|hash| (documents::content_id(hash), hash)).collect();
        let (mut kept, mut forgotten) = (HashSet::new(), HashSet::new());
        let query = "{:find [c s] :in [[c ...]] :where [[c :state s]]}";
        for row in self.ask_about(query, &by_id.keys().cloned().collect::<Vec<_>>())? {
            let [Value::String(id), Value::String(state)] = &row[..] else { continue };
            let Some(hash) = by_id.remove(id) else { continue };
            match state.as_str() {
                FORGOTTEN => forgotten.insert(hash.clone()),
                KEPT => kept.insert(hash.clone()),
                _ => false,
            };
        }
        Ok((kept, forgotten))
    }

    /// Which of these marks of other stores' versions exist.
    pub(super) fn present(&self, marks: &[String]) -> Result<HashSet<String>> {
        let query = "{:find [o] :in [[o ...]] :where [[o :content_hash]]}";
        Ok(text_column(self.ask_about(query, marks)?).collect())
    }

    /// The marks of versions of these objects, each with its object.
    pub(super) fn marks_of(&self, ids: &[ObjectId]) -> Result<Vec<(String, String)>> {
        let query = "{:find [e m] :in [[e ...]] :where [[m :object e] [m :content_hash]]}";
        let pair = |row: Vec<Value>| match &row[..] {
            [Value::String(id), Value::String(mark)] => Some((id.clone(), mark.clone())),
            _ => None,
        };
        Ok(self.ask_about(query, &texts(ids.iter()))?.into_iter().filter_map(pair).collect())
    }

    /// The results of a query about the documents listed in its one argument.
    fn ask_about(&self, query: &str, ids: &[String]) -> Result<Vec<Vec<Value>>> {
        let (mut found, room) = (Vec::new(), Room::for_answers());
        for ids in ids.chunks(ASKED_AT_ONCE) {
            let ids = ids.iter().map(|id| id.as_str().into()).collect();
            found.extend(self.client.query(query, &[Value::Array(ids)], At::Latest, &room)?);
        }
        Ok(found)
    }

    pub(super) fn version(&self, id: &ObjectId, at: At, room: &Room) -> Result<Option<Version>> {
        let Some((tx, document)) = self.document(id, at, room)? else { return Ok(None) };
        documents::version(&document, tx, &self.store_id, room).map(Some)
    }

    /// The versions of several objects, in their order.
    pub(super) fn versions(&self, ids: &[ObjectId], at: At) -> Result<Vec<Version>> {
        let room = Room::for_answers();
        Ok(side_by_side(ids, |id| self.version(id, at, &room))?.into_iter().flatten().collect())
    }

    /// The histories of those objects that exist.
    pub(super) fn histories_of(&self, ids: &[ObjectId]) -> Result<HashMap<ObjectId, Vec<Version>>> {
        let query = "{:find [e] :in [[e ...]] :where [[e :identity_hash]]}";
        let found = self.ask_about(query, &texts(ids.iter()))?;
        let there: Vec<ObjectId> = text_column(found).map(ObjectId::new).collect();
        let room = Room::for_answers();
        let histories = side_by_side(&there, |id| self.history_in(id, &room))?;
        Ok(there.into_iter().zip(histories).collect())
    }

    pub(super) fn versions_of_origin(
        &self,
        id: &ObjectId,
        origin: &Origin,
    ) -> Result<Vec<Version>> {
        if origin.store_id == self.store_id {
            let own = self.version_at(id, origin.tx_id, &Room::for_answers())?;
            return Ok(own.into_iter().collect());
        }
        let (mut found, room) = (Vec::new(), Room::for_answers());
        let mark = documents::origin_id(id, origin);
        for row in self.client.history(&mark, None, &room)?.into_iter().rev() {
            if row.document.is_some() {
                found.extend(self.version_at(id, TxId(row.tx.id), &room)?);
            }
        }
        let mut missed = lock(&self.missed);
        if found.is_empty() {
            missed.insert(mark)
        } else {
            missed.remove(&mark)
        };
        Ok(found)
    }

    /// Which of several versions are certainly missing here. Versions numbered by this store are
    /// not looked up.
    pub(super) fn lacks_origins(&self, versions: &[(&ObjectId, &Origin)]) -> Result<Vec<bool>> {
        let mark = |(id, origin): &(&ObjectId, &Origin)| {
            (origin.store_id != self.store_id).then(|| documents::origin_id(id, origin))
        };
        let marks: Vec<Option<String>> = versions.iter().map(mark).collect();
        let present = self.present(&marks.iter().flatten().cloned().collect::<Vec<_>>())?;
        let mut missed = lock(&self.missed);
        let mut lacks = Vec::new();
        for mark in marks {
            let lacked = mark.filter(|mark| !present.contains(mark));
            lacks.push(lacked.is_some());
            missed.extend(lacked);
        }
        missed.retain(|mark| !present.contains(mark));
        Ok(lacks)
    }

    /// Content hashes and origins of the latest versions of those objects that came from other
    /// stores, and how many versions came.
    pub(super) fn latest_origins(
        &self,
        ids: &[ObjectId],
    ) -> Result<HashMap<ObjectId, (Hash, Origin, usize)>> {
        let mut counts = HashMap::<String, usize>::new();
        for (id, _) in self.marks_of(ids)? {
            *counts.entry(id).or_default() += 1;
        }
        let mut origins = HashMap::new();
        for (id, document) in self.latest_documents(ids.iter())? {
            if let Some(origin) = documents::optional(&document, "origin")? {
                let content_hash = documents::field(&document, "content_hash")?;
                let count = counts.remove(&id).unwrap_or_default();
                origins.insert(ObjectId::new(id), (content_hash, origin, count));
            }
        }
        Ok(origins)
    }

    /// The version of an object that a transaction wrote, if any.
    fn version_at(&self, id: &ObjectId, tx_id: TxId, room: &Room) -> Result<Option<Version>> {
        let Some(at) = self.at(AsOf::Tx(tx_id))? else { return Ok(None) };
        Ok(self.version(id, at, room)?.filter(|version| version.tx_id == tx_id))
    }

    /// The texts of contents, many at once, until there are so many bytes of them.
    pub(super) fn texts_of<'h>(
        &self,
        contents: impl Iterator<Item = &'h Hash>,
        most_bytes: usize,
    ) -> Result<HashMap<Hash, String>> {
        let ids: BTreeMap<String, &Hash> =
            contents.map(|hash| (documents::content_id(hash), hash)).collect();
        let ids: Vec<String> = ids.into_keys().collect();
        let query = "{:find [(pull c [*])] :in [[c ...]] :where [[c :text]]}";
        let (mut texts, mut bytes) = (HashMap::new(), 0);
        for ids in ids.chunks(TEXTS_AT_ONCE) {
            if bytes >= most_bytes {
                break;
            }
            for document in document_column(self.ask_about(query, ids)?) {
                if let Some((hash, text)) = documents::read_content(&document) {
                    bytes += text.len();
                    texts.insert(hash, text);
                }
            }
        }
        Ok(texts)
    }

    pub(super) fn text(&self, hash: &Hash) -> Result<Option<String>> {
        if hash.to_bytes().is_none() {
            return Ok(None);
        }
        if let Some(text) = lock(&self.at_hand).texts.get(hash) {
            return Ok(Some(text.clone()));
        }
        match self.client.latest(&documents::content_id(hash))? {
            Some(document) => documents::optional(&document, "text"),
            None => Ok(None),
        }
    }

    pub(super) fn items_of(&self, id: &ObjectId, at: At, range: Range<u64>) -> Result<Vec<Item>> {
        if let Some(items) = self.items_at_hand(id, at, range.clone()) {
            return Ok(items);
        }
        let room = Room::for_answers();
        let Some(version) = self.version(id, at, &room)? else { return Ok(Vec::new()) };
        self.items_within(id, version.tx_id, range.start..range.end.min(version.item_count), &room)
    }

    /// Items as of the transaction of a version that has as many.
    pub(super) fn items_within(
        &self,
        id: &ObjectId,
        tx_id: TxId,
        range: Range<u64>,
        room: &Room,
    ) -> Result<Vec<Item>> {
        let query = "{:find [(pull i [*])] :in [[i ...]] :where [[i :running_hash]]}";
        let (positions, mut items) = (range.collect::<Vec<_>>(), Vec::new());
        for some in positions.chunks(ITEMS_AT_ONCE) {
            let ids = some.iter().map(|position| documents::item_id(id, *position).into());
            let ids = [Value::Array(ids.collect())];
            let mut found = HashMap::new();
            for document in
                document_column(self.client.query(query, &ids, At::Tx(tx_id.0), room)?)
            {
                let (position, item) = documents::read_item(&document)?;
                found.insert(position, item);
            }
            for position in some {
                let gone = || documents::gone(documents::item_id(id, *position));
                items.push(found.remove(position).ok_or_else(gone)?);
            }
        }
        Ok(items)
    }
}

/// Requests data about several objects on several connections; the answers are in their order.
fn side_by_side<T: Send>(
    ids: &[ObjectId],
    read: impl Fn(&ObjectId) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let share = ids.len().div_ceil(READERS).max(1);
    let read = |ids: &[ObjectId]| ids.iter().map(&read).collect::<Result<Vec<T>>>();
    thread::scope(|scope| {
        let read = &read;
        let readers: Vec<_> = ids.chunks(share).map(|ids| scope.spawn(move || read(ids))).collect();
        let mut all = Vec::new();
        for reader in readers {
            let read = reader.join().map_err(|_| Error::internal("a reader panicked"))?;
            all.extend(read?);
        }
        Ok(all)
    })
}

/// The values of the first column of an answer's rows.
pub(super) fn column(rows: Vec<Vec<Value>>) -> impl Iterator<Item = Value> {
    rows.into_iter().filter_map(|row| row.into_iter().next())
}

/// The texts among them.
pub(super) fn text_column(rows: Vec<Vec<Value>>) -> impl Iterator<Item = String> {
    column(rows).filter_map(|value| match value {
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// The documents among them.
pub(super) fn document_column(rows: Vec<Vec<Value>>) -> impl Iterator<Item = Document> {
    column(rows).filter_map(|value| match value {
        Value::Object(document) => Some(document),
        _ => None,
    })
}

fn texts<'i>(ids: impl Iterator<Item = &'i ObjectId>) -> Vec<String> {
    ids.map(|id| id.as_str().to_owned()).collect()
}
