//! Reads that check hashes: contents, items, payloads and pinned versions. Must not know which
//! backend it reads.

use std::ops::Range;
use std::path::PathBuf;

use super::front::not_found;
use super::{Item, Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Hash, ObjectId, Payload, Reference, RunningHash, StaticReference, TxId};

impl Store {
    /// Reads a version's content; `None` if it is null.
    ///
    /// # Errors
    /// `HASH_MISMATCH` if the stored text is not what was written; `STORE_CORRUPT` if it is
    /// missing.
    pub fn content(&self, version: &Version) -> Result<Option<String>> {
        let Some(recorded) = &version.content else { return Ok(None) };
        self.text(&version.envelope.id, recorded).map(Some)
    }

    /// Reads an additional content of a version; `None` if it has none of this name.
    ///
    /// # Errors
    /// As [`Self::content`].
    pub fn additional(&self, version: &Version, name: &str) -> Result<Option<String>> {
        let Some(recorded) = version.additional.get(name) else { return Ok(None) };
        self.text(&version.envelope.id, recorded).map(Some)
    }

    /// Reads the items at positions `range`, clipped to the list at `at`, in order.
    ///
    /// # Errors
    /// `NOT_FOUND` if no version is visible at `at`; `HASH_MISMATCH` if an item is not what was
    /// written; `STORE_CORRUPT` if one is missing.
    pub fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<String>> {
        let items = self.list_items(id, at, range)?;
        Ok(items.into_iter().map(|item| item.text).collect())
    }

    /// As [`Self::items`], but with the hashes of each item; [`Item::redacted`] shows whether text
    /// was removed from it.
    ///
    /// # Errors
    /// As [`Self::items`].
    pub fn list_items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>> {
        let version = self.require(id, at)?;
        let range = range.start..range.end.min(version.item_count);
        if range.is_empty() {
            return Ok(Vec::new());
        }
        // The item before the range has the hash that the range continues. Read as of the version's
        // transaction, so that a concurrent write changes nothing.
        let first = range.start.saturating_sub(1);
        let items = self.backend().items(id, AsOf::Tx(version.tx_id), first..range.end)?;
        if items.len() as u64 != range.end - first {
            return Err(self.damaged(format!("items of `{id}` are missing")));
        }
        let mut running = RunningHash::default();
        let mut found = Vec::with_capacity(items.len());
        for (position, item) in (first..).zip(items) {
            if position < range.start {
                running = RunningHash::from_stored(item.running_hash);
                continue;
            }
            let what = || format!("item {position} of `{id}`");
            match &item.redacted {
                // Its running hash covers the original text; what is left has a hash of its own.
                Some(recorded) => {
                    same_hash(what, &Hash::of(&item.text), recorded)?;
                    running = RunningHash::from_stored(item.running_hash.clone());
                }
                None => same_hash(what, &running.push(&item.text), &item.running_hash)?,
            }
            found.push(item);
        }
        if let Some(recorded) = version.items_hash.filter(|_| range.end == version.item_count) {
            same_hash(|| format!("list of `{id}`"), running.hash(), &recorded)?;
        }
        Ok(found)
    }

    /// The first transaction whose list has the same items up to and including `position` as the
    /// latest one; `None` if the latest list is shorter.
    pub fn item_since(&self, id: &ObjectId, position: u64) -> Result<Option<TxId>> {
        let placed = self.backend().placed_items(id, position..position.saturating_add(1))?;
        let Some(standing) = placed.iter().find(|placed| placed.until.is_none()) else {
            return Ok(None);
        };
        let hash = &standing.item.running_hash;
        Ok(placed.iter().filter(|p| p.item.running_hash == *hash).map(|p| p.from).min())
    }

    /// Reads the version that a reference points to. A static reference is found by its portable
    /// identity, wherever it was first written, and its payload is verified.
    ///
    /// # Errors
    /// `NOT_FOUND` if the store lacks it; `HASH_MISMATCH` with both hashes if its payload is not
    /// the pinned one.
    pub fn resolve(&self, reference: &Reference) -> Result<Version> {
        let reference = match reference {
            Reference::Dynamic(reference) => return self.require(&reference.id, AsOf::Latest),
            Reference::Static(reference) => reference,
        };
        let StaticReference { id, content_hash, origin } = reference;
        let version = self.find_origin(reference)?.ok_or_else(|| {
            not_found(
                id,
                format!("from transaction {} of store `{}`", origin.tx_id, origin.store_id),
            )
        })?;
        same_hash(|| format!("version of `{id}`"), &version.content_hash, content_hash)?;
        self.verify(&version)?;
        Ok(version)
    }

    /// Reads the newest version of an object with a hash, and verifies its payload.
    ///
    /// # Errors
    /// `NOT_FOUND` if the store lacks it; `HASH_MISMATCH` if its payload has another hash.
    pub fn resolve_version(&self, id: &ObjectId, content_hash: &Hash) -> Result<Version> {
        let version = self.find_version(id, content_hash)?;
        let version =
            version.ok_or_else(|| not_found(id, format!("with hash `{content_hash}`")))?;
        self.verify(&version)?;
        Ok(version)
    }

    /// Reads the payload of a version, without its items.
    ///
    /// # Errors
    /// As [`Self::content`].
    pub fn payload(&self, version: &Version) -> Result<Payload> {
        let text = |hash: &Hash| self.text(&version.envelope.id, hash);
        let additional = version.additional.iter();
        Ok(Payload {
            content: version.content.as_ref().map(text).transpose()?,
            source_hash: version.source_hash.clone(),
            fields: version.fields.clone(),
            additional: additional
                .map(|(name, hash)| Ok((name.clone(), text(hash)?)))
                .collect::<Result<_>>()?,
        })
    }

    /// Recomputes the payload hash of a version and compares it with the recorded one; for a
    /// redacted version, with the hash of what is left.
    ///
    /// # Errors
    /// `HASH_MISMATCH` naming both hashes; `STORE_CORRUPT` if a content is gone.
    pub fn verify(&self, version: &Version) -> Result<()> {
        let found = self.payload(version)?.content_hash(version.items_hash.as_ref())?;
        let redacted = version.redacted.as_ref().map(|redaction| &redaction.found_hash);
        let recorded = redacted.unwrap_or(&version.content_hash);
        same_hash(|| format!("version of `{}`", version.envelope.id), &found, recorded)
    }

    /// Finds the version of a static reference by its portable identity, without reading the
    /// payload; `None` if the store lacks it.
    ///
    /// # Errors
    /// `HASH_MISMATCH` with both hashes if the version has another one.
    pub fn locate(&self, reference: &StaticReference) -> Result<Option<Version>> {
        let Some(version) = self.find_origin(reference)? else { return Ok(None) };
        let what = || format!("version of `{}`", reference.id);
        same_hash(what, &version.content_hash, &reference.content_hash)?;
        Ok(Some(version))
    }

    /// The version with the origin of a reference. A copied store file may hold two; then the one
    /// with the pinned hash.
    fn find_origin(&self, reference: &StaticReference) -> Result<Option<Version>> {
        let mut versions = self.backend().find_origin(&reference.id, &reference.origin)?;
        let pinned = |version: &Version| version.content_hash == reference.content_hash;
        let at = versions.iter().position(pinned).unwrap_or(0);
        Ok((at < versions.len()).then(|| versions.swap_remove(at)))
    }

    /// Reads a text of an object by its hash, and checks it.
    pub(super) fn text(&self, id: &ObjectId, recorded: &Hash) -> Result<String> {
        let text = self
            .backend()
            .content(recorded)?
            .ok_or_else(|| self.damaged(format!("a content of `{id}` is missing")))?;
        same_hash(|| format!("content of `{id}`"), &Hash::of(&text), recorded)?;
        Ok(text)
    }

    fn damaged(&self, problem: String) -> Error {
        Error::StoreCorrupt { path: PathBuf::from(self.path()), source: problem.into() }
    }
}

fn same_hash(what: impl FnOnce() -> String, found: &Hash, recorded: &Hash) -> Result<()> {
    if found == recorded {
        return Ok(());
    }
    Err(hash_mismatch(what(), found, recorded))
}

pub(super) fn hash_mismatch(what: impl Into<String>, found: &Hash, recorded: &Hash) -> Error {
    let (found, recorded) = (found.to_string(), recorded.to_string());
    Error::HashMismatch { what: what.into(), found, recorded }
}
