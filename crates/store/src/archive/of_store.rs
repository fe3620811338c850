//! Merges versions of one store directly into another, without an archive: to share them, or to
//! move a store. Texts are read in place when needed. Must not choose the versions.

use std::collections::HashMap;

use super::format::{Key, VersionLine};
use super::import::Import;
use super::incoming::{Arrivals, Call, Entry, Incoming, Member};
use super::secrets::{redact_item, redact_version};
use super::standing::Refusal;
use super::{ImportOptions, Imported, OnProgress};
use crate::{Item, Store, Version};
use base::error::{Error, Result};
use base::object::item::partner;
use base::object::{AsOf, Hash, Nickname, ObjectId, ObjectType, Source, TxId};
use redact::Redactor;

/// How to take versions of another store.
#[derive(Clone, Copy)]
pub struct Taking<'a> {
    /// Whether to replace text that looks like a secret, everywhere except in files.
    pub redact: bool,
    /// Nicknames that come with them.
    pub nicknames: &'a [(Nickname, ObjectId)],
    /// Which versions are taken, and how.
    pub options: &'a ImportOptions,
}

impl Store {
    /// Takes versions of another store, whole transactions in its order, as
    /// [`Self::import_archive`] takes those of an archive.
    ///
    /// # Errors
    /// Those of reading `from`; those of [`crate::Backend::commit_all`]; `CONFLICT` if others kept
    /// changing an object.
    pub fn take(
        &self,
        from: &Store,
        versions: Vec<Version>,
        taking: Taking<'_>,
        progress: OnProgress<'_>,
    ) -> Result<Imported> {
        let (mut incoming, arrivals) = OfStore::new(from, versions, taking);
        let report = Imported {
            dry_run: taking.options.dry_run,
            store_id: from.id().to_owned(),
            ..Imported::default()
        };
        Import::new(self, taking.options, &mut incoming, arrivals, report).run(progress)
    }
}

struct OfStore<'a> {
    store: &'a Store,
    taking: Taking<'a>,
    versions: Vec<Version>,
    /// Texts with replacements, by their new hash.
    changed: HashMap<Hash, String>,
    redactor: Redactor,
}

impl<'a> OfStore<'a> {
    fn new(store: &'a Store, versions: Vec<Version>, taking: Taking<'a>) -> (Self, Arrivals) {
        let (changed, redactor) = Default::default();
        let mut incoming = Self { store, taking, versions: Vec::new(), changed, redactor };
        let nicknames = taking.nicknames.to_vec();
        let mut arrivals = Arrivals { nicknames, ..Arrivals::default() };
        let mut by_key = HashMap::new();
        let mut tx: Option<TxId> = None;
        for version in versions {
            if tx != Some(version.tx_id) {
                tx = Some(version.tx_id);
                arrivals.begin();
            }
            let key = Key::of(&version.envelope.id, &version.content_hash, &version.origin);
            let next = arrivals.entries.len();
            let at = *by_key.entry(key).or_insert(next);
            let is_new = at == next;
            arrivals.join(&version.envelope.id, Member { version: at, is_new });
            if is_new {
                arrivals.entries.push(incoming.entry(&version, key));
                incoming.versions.push(version);
            }
        }
        arrivals.pair();
        (incoming, arrivals)
    }

    fn entry(&self, version: &Version, key: Key) -> Entry {
        let kind = version.envelope.kind;
        let path = version.envelope.source.as_ref().and_then(Source::path);
        let has_text = version.content.is_some() || !version.additional.is_empty();
        let is_file = kind == ObjectType::File;
        let excluded = path.is_some_and(|path| (self.taking.options.is_excluded)(path));
        Entry {
            id: version.envelope.id.clone(),
            kind: Some(kind),
            identity_hash: version.envelope.identity_hash.clone(),
            content_hash: version.content_hash.clone(),
            origin: version.origin.clone(),
            key,
            is_redacted: version.redacted.is_some() || self.redacts(kind),
            refused: (is_file && has_text && excluded).then_some(Refusal::Excluded),
            items: version.items_hash.as_ref().map(|_| version.item_count),
            partner: partner(kind, &version.fields),
            beside: None,
        }
    }

    fn redacts(&self, kind: ObjectType) -> bool {
        self.taking.redact && kind != ObjectType::File
    }

    /// A content as it is passed on, with its hash then.
    fn passed(
        &mut self,
        redactor: &mut Redactor,
        id: &ObjectId,
        hash: &Hash,
    ) -> Result<(Hash, String)> {
        let text = self.store.text(id, hash)?;
        let Some(changed) = redactor.text(&text).text else { return Ok((hash.clone(), text)) };
        let after = Hash::of(&changed);
        self.changed.insert(after.clone(), changed.clone());
        Ok((after, changed))
    }
}

impl Incoming for OfStore<'_> {
    fn version(&mut self, version: usize) -> Result<VersionLine> {
        let version = self.versions[version].clone();
        self.store.verify(&version)?;
        let mut line = VersionLine::of(&version)?;
        if self.redacts(version.envelope.kind) {
            let id = &version.envelope.id;
            let mut redactor = std::mem::take(&mut self.redactor);
            redact_version(&version, &mut line, &mut redactor, |redactor, hash| {
                self.passed(redactor, id, hash)
            })?;
            self.redactor = redactor;
        }
        Ok(line)
    }

    fn call(&mut self, id: &ObjectId, latest: Option<usize>) -> Result<Option<Call>> {
        let version = match latest {
            Some(at) => Some(self.versions[at].clone()),
            None => self.store.get(id, AsOf::Latest)?,
        };
        let call = version.filter(|version| version.envelope.kind == ObjectType::Toolcall);
        Ok(call.map(|call| (call.fields, call.redacted.is_some())))
    }

    fn content(&mut self, hash: &Hash) -> Result<String> {
        if let Some(text) = self.changed.get(hash) {
            return Ok(text.clone());
        }
        let text = self.store.backend().content(hash)?;
        text.ok_or_else(|| Error::internal(format!("no content `{hash}`")))
    }

    fn hash_at(&self, version: usize, position: u64) -> Result<Option<Hash>> {
        let Version { envelope, tx_id, item_count, items_hash, .. } = &self.versions[version];
        if position >= *item_count {
            return Ok(None);
        }
        if position + 1 == *item_count {
            return Ok(items_hash.clone());
        }
        let at = AsOf::Tx(*tx_id);
        let items = self.store.backend().items(&envelope.id, at, position..position + 1)?;
        Ok(items.into_iter().next().map(|item| item.running_hash))
    }

    fn items(&mut self, version: usize, from: u64) -> Result<Vec<Item>> {
        let Version { envelope, tx_id, item_count, .. } = &self.versions[version];
        let mut items = self.store.list_items(&envelope.id, AsOf::Tx(*tx_id), from..*item_count)?;
        if self.redacts(envelope.kind) {
            for item in &mut items {
                redact_item(item, &mut self.redactor);
            }
        }
        Ok(items)
    }
}
