//! An in-memory backend that can be told to refuse writes, and from which text can be removed.

use std::collections::HashSet;
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use base::error::{Error, Result};
use base::object::{
    AsOf, FieldPath, Hash, Nickname, ObjectId, ObjectType, Origin, Redaction, RedactionReason,
    Timestamp, TxId,
};
use store::{Backend, Item, Op, PlacedItem, Query, Receipt, SqliteBackend, Version};

#[derive(Debug)]
pub(crate) struct FailingBackend {
    pub(crate) fails: AtomicBool,
    /// What another process does right before the next commit.
    pub(crate) before_commit: Meanwhile,
    /// A text that reads no longer return, and why: contents with a secret get another text in its
    /// place, forgotten ones are gone.
    pub(crate) taken_out: Mutex<Option<(String, RedactionReason)>>,
    /// Objects that were forgotten: puts to them are refused, and their versions say so.
    pub(crate) forgotten: Mutex<HashSet<ObjectId>>,
    memory: SqliteBackend,
}

/// Something to be done once.
#[derive(Default)]
pub(crate) struct Meanwhile(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Meanwhile {
    pub(crate) fn is(&self, act: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::new(act));
    }

    fn happens(&self) {
        let act = self.0.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
    }
}

impl Debug for Meanwhile {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Meanwhile")
    }
}

impl Default for FailingBackend {
    fn default() -> Self {
        Self {
            fails: AtomicBool::default(),
            before_commit: Meanwhile::default(),
            taken_out: Mutex::default(),
            forgotten: Mutex::default(),
            memory: SqliteBackend::in_memory().unwrap(),
        }
    }
}

impl FailingBackend {
    fn without(&self, text: &str) -> Option<(String, RedactionReason)> {
        let taken_out = self.taken_out.lock().unwrap();
        let (secret, reason) = taken_out.as_ref().filter(|(secret, _)| text.contains(secret))?;
        Some((text.replace(secret, "REDACTED"), *reason))
    }

    fn redacted(&self, mut version: Version) -> Result<Version> {
        if self.forgotten.lock().unwrap().contains(&version.envelope.id) {
            let reason = RedactionReason::Forgotten;
            version.redacted = Some(Redaction { reason, found_hash: Hash::of("") });
            version.content = None;
            return Ok(version);
        }
        let Some(hash) = &version.content else { return Ok(version) };
        if self.taken_out.lock().unwrap().is_none() {
            return Ok(version);
        }
        let text = self.memory.content(hash)?.unwrap();
        if let Some((left, reason)) = self.without(&text) {
            version.redacted = Some(Redaction { reason, found_hash: Hash::of(&left) });
            version.content = (reason == RedactionReason::Secret).then(|| Hash::of(left));
        }
        Ok(version)
    }
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
        self.before_commit.happens();
        for op in transactions.iter().copied().flatten() {
            if let Op::Put(put) = op
                && self.forgotten.lock().unwrap().contains(&put.envelope.id)
            {
                return Err(Error::Forgotten { id: put.envelope.id.clone() });
            }
        }
        self.memory.commit_all(transactions, now)
    }

    fn newest(&self) -> Result<(TxId, Timestamp)> {
        self.memory.newest()
    }

    fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>> {
        self.memory.get(id, at)?.map(|version| self.redacted(version)).transpose()
    }

    fn history(&self, id: &ObjectId) -> Result<Vec<Version>> {
        self.memory.history(id)?.into_iter().map(|version| self.redacted(version)).collect()
    }

    fn find_version(&self, id: &ObjectId, content_hash: &Hash) -> Result<Option<Version>> {
        let found = self.memory.find_version(id, content_hash)?;
        found.map(|version| self.redacted(version)).transpose()
    }

    fn find_origin(&self, id: &ObjectId, origin: &Origin) -> Result<Vec<Version>> {
        let found = self.memory.find_origin(id, origin)?;
        found.into_iter().map(|version| self.redacted(version)).collect()
    }

    fn content(&self, hash: &Hash) -> Result<Option<String>> {
        if let Some(text) = self.memory.content(hash)? {
            return Ok(Some(text));
        }
        let left = self
            .memory
            .content_hashes(None, usize::MAX)?
            .into_iter()
            .filter_map(|hash| Some(self.without(&self.memory.content(&hash).ok()??)?.0));
        Ok(left.into_iter().find(|left| Hash::of(left) == *hash))
    }

    fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>> {
        let mut items = self.memory.items(id, at, range)?;
        for item in &mut items {
            if let Some((left, _)) = self.without(&item.text) {
                item.redacted = Some(Hash::of(&left));
                item.text = left;
            }
        }
        Ok(items)
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

    fn close(&self) -> Result<()> {
        self.memory.close()
    }
}
