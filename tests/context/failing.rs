//! A backend in memory that refuses to write while it is told to.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use palimpsest::error::{Error, Result};
use palimpsest::object::{AsOf, FieldPath, Hash, Nickname, ObjectId, ObjectType, Timestamp, TxId};
use palimpsest::store::{Backend, Item, MemoryBackend, Op, PlacedItem, Query, Receipt, Version};

#[derive(Debug, Default)]
pub(crate) struct FailingBackend {
    pub(crate) fails: AtomicBool,
    memory: MemoryBackend,
}

impl Backend for FailingBackend {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn store_id(&self) -> &str {
        self.memory.store_id()
    }

    fn commit_all(&self, transactions: &[&[Op]], now: Timestamp) -> Result<Vec<Receipt>> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(Error::NoSpace { path: "memory".into() });
        }
        self.memory.commit_all(transactions, now)
    }

    fn newest(&self) -> Result<(TxId, Timestamp)> {
        self.memory.newest()
    }

    fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>> {
        self.memory.get(id, at)
    }

    fn history(&self, id: &ObjectId) -> Result<Vec<Version>> {
        self.memory.history(id)
    }

    fn content(&self, hash: &Hash) -> Result<Option<String>> {
        self.memory.content(hash)
    }

    fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>> {
        self.memory.items(id, at, range)
    }

    fn placed_items(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>> {
        self.memory.placed_items(id, range)
    }

    fn changes(&self, after: TxId, limit: usize) -> Result<Vec<Version>> {
        self.memory.changes(after, limit)
    }

    fn list(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<Version>> {
        self.memory.list(kind, after, limit)
    }

    fn query(&self, query: &Query) -> Result<Vec<Version>> {
        self.memory.query(query)
    }

    fn has_field(&self, path: &FieldPath) -> Result<bool> {
        self.memory.has_field(path)
    }

    fn field_paths(&self) -> Result<Vec<FieldPath>> {
        self.memory.field_paths()
    }

    fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>> {
        self.memory.find_prefix(prefix, limit)
    }

    fn find_nickname(&self, nickname: &Nickname) -> Result<Option<ObjectId>> {
        self.memory.find_nickname(nickname)
    }

    fn nicknames(&self, id: &ObjectId) -> Result<Vec<Nickname>> {
        self.memory.nicknames(id)
    }

    fn content_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        self.memory.content_hashes(after, limit)
    }

    fn close(&self) -> Result<()> {
        self.memory.close()
    }
}
