//! Reads versions, items and contents. Must not write.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::thread;

use serde_json::Value;

use super::XtdbBackend;
use super::client::{At, Document, LoggedOp, LoggedTx, Tx};
use super::documents;
use crate::error::{Error, Result};
use crate::object::{AsOf, Hash, ObjectId, Origin, Timestamp, TxId};
use crate::store::{Item, PlacedItem, Version};

/// Items asked for in one query.
const ITEMS_AT_ONCE: u64 = 500;

/// Objects read side by side; not more than there are connections.
const READERS: usize = 4;

impl XtdbBackend {
    /// Number and time of the newest transaction; zeros where there is none of ours.
    pub(super) fn newest_tx(&self) -> Result<(TxId, Timestamp)> {
        let newest = self.client.latest_completed()?.filter(|tx| tx.id > self.first.id);
        Ok(newest.map_or((TxId(0), Timestamp(0)), |tx| (TxId(tx.id), tx.time)))
    }

    /// The state that a point in our history stands for; `None` before the first transaction.
    pub(super) fn at(&self, at: AsOf) -> Result<Option<At>> {
        match at {
            AsOf::Latest => Ok(Some(At::Latest)),
            AsOf::Tx(TxId(tx)) if tx <= self.first.id => Ok(None),
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
    pub(super) fn document(&self, id: &ObjectId, at: At) -> Result<Option<(Tx, Document)>> {
        if id.as_str().is_empty() {
            return Ok(None);
        }
        let Some(found) = self.client.entity_tx(id.as_str(), at)? else { return Ok(None) };
        if found.is_deleted {
            return Ok(None);
        }
        let document = self.client.entity(id.as_str(), At::Tx(found.tx.id))?;
        Ok(document.map(|document| (found.tx, document)))
    }

    pub(super) fn version(&self, id: &ObjectId, at: At) -> Result<Option<Version>> {
        let Some((tx, document)) = self.document(id, at)? else { return Ok(None) };
        documents::version(&document, tx, &self.store_id).map(Some)
    }

    /// The versions of several objects, in their order.
    pub(super) fn versions(&self, ids: &[ObjectId], at: At) -> Result<Vec<Version>> {
        let share = ids.len().div_ceil(READERS).max(1);
        let read = |ids: &[ObjectId]| -> Result<Vec<Version>> {
            ids.iter().filter_map(|id| self.version(id, at).transpose()).collect()
        };
        thread::scope(|scope| {
            let readers: Vec<_> =
                ids.chunks(share).map(|ids| scope.spawn(move || read(ids))).collect();
            let mut versions = Vec::new();
            for reader in readers {
                let read = reader.join().map_err(|_| Error::internal("a reader panicked"))?;
                versions.extend(read?);
            }
            Ok(versions)
        })
    }

    pub(super) fn history_of(&self, id: &ObjectId) -> Result<Vec<Version>> {
        if id.as_str().is_empty() {
            return Ok(Vec::new());
        }
        let mut versions = Vec::new();
        for row in self.client.history(id.as_str())?.into_iter().rev() {
            if let Some(document) = row.document {
                versions.push(documents::version(&document, row.tx, &self.store_id)?);
            }
        }
        Ok(versions)
    }

    pub(super) fn versions_of_origin(
        &self,
        id: &ObjectId,
        origin: &Origin,
    ) -> Result<Vec<Version>> {
        if origin.store_id == self.store_id {
            let own = self.version_at(id, origin.tx_id)?;
            return Ok(own.into_iter().collect());
        }
        let mut found = Vec::new();
        for row in self.client.history(&documents::origin_id(id, origin))?.into_iter().rev() {
            if row.document.is_some() {
                found.extend(self.version_at(id, TxId(row.tx.id))?);
            }
        }
        Ok(found)
    }

    /// The version that a transaction wrote, if it wrote one of the object.
    fn version_at(&self, id: &ObjectId, tx_id: TxId) -> Result<Option<Version>> {
        let Some(at) = self.at(AsOf::Tx(tx_id))? else { return Ok(None) };
        Ok(self.version(id, at)?.filter(|version| version.tx_id == tx_id))
    }

    pub(super) fn text(&self, hash: &Hash) -> Result<Option<String>> {
        if hash.to_bytes().is_none() {
            return Ok(None);
        }
        match self.client.entity(&documents::content_id(hash), At::Latest)? {
            Some(document) => documents::optional(&document, "text"),
            None => Ok(None),
        }
    }

    pub(super) fn items_of(&self, id: &ObjectId, at: At, range: Range<u64>) -> Result<Vec<Item>> {
        let Some(version) = self.version(id, at)? else { return Ok(Vec::new()) };
        let end = range.end.min(version.item_count);
        let mut items = Vec::new();
        let mut next = range.start;
        while next < end {
            let until = end.min(next + ITEMS_AT_ONCE);
            items.extend(self.some_items(id, At::Tx(version.tx_id.0), next..until)?);
            next = until;
        }
        Ok(items)
    }

    fn some_items(&self, id: &ObjectId, at: At, range: Range<u64>) -> Result<Vec<Item>> {
        let ids: Vec<Value> =
            range.clone().map(|position| documents::item_id(id, position).into()).collect();
        let query = "{:find [(pull i [*])] :in [[i ...]] :where [[i :running_hash]]}";
        let mut found = HashMap::new();
        for row in self.client.query(query, &[Value::Array(ids)], at)? {
            let [Value::Object(document)] = &row[..] else { continue };
            let (position, item) = documents::read_item(document)?;
            found.insert(position, item);
        }
        let missing = |position| Error::XtdbDocument {
            id: documents::item_id(id, position),
            problem: "is gone".to_owned(),
        };
        range.map(|position| found.remove(&position).ok_or_else(|| missing(position))).collect()
    }

    pub(super) fn items_ever(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>> {
        let longest = self.history_of(id)?.into_iter().map(|version| version.item_count).max();
        let mut items = Vec::new();
        for position in range.start..range.end.min(longest.unwrap_or(0)) {
            let from = items.len();
            for row in self.client.history(&documents::item_id(id, position))? {
                let tx_id = TxId(row.tx.id);
                if let Some(PlacedItem { until: until @ None, .. }) =
                    items.get_mut(from..).and_then(<[_]>::last_mut)
                {
                    *until = Some(tx_id);
                }
                if let Some(document) = row.document {
                    let (_, item) = documents::read_item(&document)?;
                    items.push(PlacedItem { position, from: tx_id, until: None, item });
                }
            }
        }
        Ok(items)
    }

    /// The versions of transactions after one, whole transactions until there are `limit`; and the documents among them that are
    /// none of ours, with what is wrong with them. `after` is also where the next call goes on.
    pub(super) fn logged(&self, after: TxId, limit: usize) -> Result<Logged> {
        let mut logged = Logged {
            versions: Vec::new(),
            forgotten: Vec::new(),
            broken: Vec::new(),
            until: after,
        };
        let after = after.0.max(self.first.id);
        self.client.log(Some(after), &mut |LoggedTx { tx, ops }| {
            for op in ops {
                if let LoggedOp::Put { document } = op
                    && documents::is_object(&document)
                {
                    if documents::is_forgotten(&document) {
                        logged.forgotten.push(ObjectId::new(documents::id_of(&document)));
                        continue;
                    }
                    match documents::version(&document, tx, &self.store_id) {
                        Ok(version) => logged.versions.push(version),
                        Err(error) => logged.broken.push(error),
                    }
                }
            }
            logged.until = TxId(tx.id);
            let is_full = logged.versions.len() >= limit;
            Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(logged)
    }
}

/// A part of the log.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) versions: Vec<Version>,
    /// Objects of which only a tombstone is left.
    pub(crate) forgotten: Vec<ObjectId>,
    /// One error for each document that looks like ours and is not.
    pub(crate) broken: Vec<Error>,
    /// The last transaction that was read.
    pub(crate) until: TxId,
}
