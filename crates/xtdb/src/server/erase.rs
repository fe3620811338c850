//! Erases what a person chose to forget, including its history. Nothing else erases.

use std::collections::BTreeSet;

use serde_json::json;

use super::client::{At, TxOp};
use super::read::text_column;
use super::{XtdbBackend, documents};
use base::error::Result;
use base::lock;
use base::object::{Hash, ObjectId, ObjectType, Room};
use store::Version;

/// Documents erased in one transaction.
const ERASED_AT_ONCE: usize = 2_000;

impl XtdbBackend {
    /// Erases objects, and leaves a tombstone for each: no version of them is stored again, and
    /// other stores follow; returns which. Erases contents likewise. An object that is not there
    /// stays away, except a file, which another store may still bring.
    ///
    /// `objects`: the latest version of each, of which only ID, type and hashes remain here.
    pub(crate) fn forget(&self, objects: &[Version], contents: &[Hash]) -> Result<Vec<ObjectId>> {
        let mut evicted = Vec::new();
        let mut left = Vec::new();
        let mut forgotten = Vec::new();
        for version in objects {
            let id = &version.envelope.id;
            let found = self.document(id, At::Latest, &Room::for_answers())?;
            if found.as_ref().is_some_and(|(_, document)| documents::is_forgotten(document)) {
                continue;
            }
            if found.is_some() || version.envelope.kind == ObjectType::File {
                evicted.extend(self.documents_of(id)?);
                left.push(documents::tombstone(version)?);
                forgotten.push(id.clone());
            }
        }
        for hash in contents {
            let found = self.client.latest(&documents::content_id(hash))?;
            if !found.as_ref().is_some_and(documents::is_forgotten_content) {
                evicted.push(documents::content_id(hash));
                left.push(documents::forgotten_content(hash));
            }
        }
        self.evict(evicted)?;
        self.change(&left.into_iter().map(TxOp::Put).collect::<Vec<_>>())?;
        Ok(forgotten)
    }

    /// Erases objects that are stored again with other text.
    pub(crate) fn erase(&self, ids: &BTreeSet<ObjectId>) -> Result<()> {
        let mut evicted = Vec::new();
        for id in ids {
            if self.document(id, At::Latest, &Room::for_answers())?.is_some() {
                evicted.extend(self.documents_of(id)?);
            }
        }
        self.evict(evicted)
    }

    /// IDs of the documents of an object.
    fn documents_of(&self, id: &ObjectId) -> Result<Vec<String>> {
        let query = "{:find [x] :in [o] :where [[x :object o]]}";
        let room = Room::for_answers();
        let found = self.client.query(query, &[json!(id)], At::Latest, &room)?;
        let mut ids: BTreeSet<String> = text_column(found).collect();
        let longest =
            self.history_in(id, &room)?.into_iter().map(|version| version.item_count).max();
        ids.extend((0..longest.unwrap_or(0)).map(|position| documents::item_id(id, position)));
        Ok(ids.into_iter().chain([id.as_str().to_owned()]).collect())
    }

    fn evict(&self, ids: Vec<String>) -> Result<()> {
        let ops: Vec<TxOp> = ids.into_iter().map(TxOp::Evict).collect();
        ops.chunks(ERASED_AT_ONCE).try_for_each(|some| self.change(some))
    }

    /// Commits changes that depend on nothing.
    pub(super) fn change(&self, changes: &[TxOp]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut writer = lock(&self.writer);
        loop {
            let tx = self.submit(&mut writer, changes)?;
            if self.committed(&[tx])?.contains_key(&tx) {
                self.client.saw(tx);
                return Ok(());
            }
            // Another process of the same writer was faster.
            *writer = None;
        }
    }
}
