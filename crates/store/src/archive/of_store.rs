//! Merges versions of one store directly into another, without an archive: to share them, or to
//! move a store. Texts are read in place when needed. Must not choose the versions.

use std::collections::{BTreeMap, HashMap};

use super::export::redaction;
use super::format::{ItemsEntry, Key, VersionLine};
use super::import::Import;
use super::incoming::{Entry, Incoming, Member};
use super::reader::MAX_AHEAD_MS;
use super::{ImportOptions, Imported, OnProgress};
use crate::{Item, Store, Version};
use base::error::{Error, Result};
use base::object::item::partner;
use base::object::{AsOf, Hash, Nickname, ObjectId, ObjectType, Source, Timestamp, TxId};
use redact::{redact_fields, redact_json, redact_text};

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
        let mut incoming = OfStore::new(from, versions, taking);
        let report = Imported {
            dry_run: taking.options.dry_run,
            store_id: from.id().to_owned(),
            ..Imported::default()
        };
        Import::new(self, taking.options, &mut incoming, report).run(progress)
    }
}

/// Whether a version's time is too far ahead of this machine's clock: it would stay the latest
/// until then, whatever is written meanwhile.
pub fn is_ahead(version: &Version, now: Timestamp) -> bool {
    version.origin.time.0 > now.0.saturating_add(MAX_AHEAD_MS)
}

struct OfStore<'a> {
    store: &'a Store,
    taking: Taking<'a>,
    versions: Vec<Version>,
    entries: Vec<Entry>,
    transactions: Vec<Vec<Member>>,
    latest: HashMap<ObjectId, usize>,
    /// Texts with replacements, by their new hash.
    changed: HashMap<Hash, String>,
}

impl<'a> OfStore<'a> {
    fn new(store: &'a Store, versions: Vec<Version>, taking: Taking<'a>) -> Self {
        let mut incoming = Self {
            store,
            taking,
            versions: Vec::new(),
            entries: Vec::new(),
            transactions: Vec::new(),
            latest: HashMap::new(),
            changed: HashMap::new(),
        };
        let mut by_key = HashMap::new();
        let mut tx: Option<TxId> = None;
        for version in versions {
            if tx != Some(version.tx_id) {
                tx = Some(version.tx_id);
                incoming.transactions.push(Vec::new());
            }
            let key = Key::of(&version.envelope.id, &version.content_hash, &version.origin);
            let next = incoming.entries.len();
            let at = *by_key.entry(key).or_insert(next);
            let is_new = at == next;
            incoming.latest.insert(version.envelope.id.clone(), at);
            if let Some(members) = incoming.transactions.last_mut() {
                members.push(Member { version: at, is_new });
            }
            if is_new {
                incoming.add(version, key);
            }
        }
        incoming.pair();
        incoming
    }

    fn add(&mut self, version: Version, key: Key) {
        let kind = version.envelope.kind;
        let path = version.envelope.source.as_ref().and_then(Source::path);
        let has_text = version.content.is_some() || !version.additional.is_empty();
        let is_file = kind == ObjectType::File;
        let excluded = path.is_some_and(|path| (self.taking.options.is_excluded)(path));
        self.entries.push(Entry {
            id: version.envelope.id.clone(),
            kind: Some(kind),
            identity_hash: version.envelope.identity_hash.clone(),
            content_hash: version.content_hash.clone(),
            origin: version.origin.clone(),
            key,
            is_redacted: version.redacted.is_some() || self.redacts(kind),
            is_excluded: is_file && has_text && excluded,
            items: version.items_hash.as_ref().map(|_| version.item_count),
            partner: partner(kind, &version.fields),
            beside: None,
        });
        self.versions.push(version);
    }

    /// Finds each session's matching chat version.
    fn pair(&mut self) {
        let mut standing: HashMap<&ObjectId, usize> = HashMap::new();
        let mut beside = Vec::new();
        for members in &self.transactions {
            for member in members {
                standing.insert(&self.entries[member.version].id, member.version);
            }
            for member in members.iter().filter(|member| member.is_new) {
                let entry = &self.entries[member.version];
                if entry.kind == Some(ObjectType::Session) {
                    let chat = entry.partner.as_ref().and_then(|chat| standing.get(chat));
                    beside.push((member.version, chat.copied()));
                }
            }
        }
        for (session, chat) in beside {
            self.entries[session].beside = chat;
        }
    }

    fn redacts(&self, kind: ObjectType) -> bool {
        self.taking.redact && kind != ObjectType::File
    }

    /// The hash under which a content is passed on.
    fn passed(&mut self, id: &ObjectId, hash: &Hash) -> Result<Hash> {
        let text = self.store.text(id, hash)?;
        let Some(changed) = redact_text(&text).text else { return Ok(hash.clone()) };
        let after = Hash::of(&changed);
        self.changed.insert(after.clone(), changed);
        Ok(after)
    }
}

impl Incoming for OfStore<'_> {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn transactions(&self) -> &[Vec<Member>] {
        &self.transactions
    }

    fn latest(&self) -> &HashMap<ObjectId, usize> {
        &self.latest
    }

    fn nicknames(&self) -> &[(Nickname, ObjectId)] {
        self.taking.nicknames
    }

    fn version(&mut self, version: usize) -> Result<VersionLine> {
        let version = self.versions[version].clone();
        self.store.verify(&version)?;
        let id = version.envelope.id.clone();
        let source = version.envelope.source.as_ref().map(serde_json::to_value).transpose();
        let mut line = VersionLine {
            tx: version.tx_id.0,
            kind: version.envelope.kind.as_str().to_owned(),
            source: source.map_err(|error| Error::internal(error.to_string()))?,
            identity_hash: version.envelope.identity_hash.clone(),
            origin: version.origin.clone(),
            source_hash: version.source_hash.clone(),
            content_hash: version.content_hash.clone(),
            fields: version.fields.clone(),
            content: version.content.clone(),
            additional: version.additional.clone(),
            redacted: version.redacted.clone(),
            items: version.items_hash.clone().map(|hash| ItemsEntry {
                keep: 0,
                add: version.item_count,
                hash,
            }),
            id: id.clone(),
        };
        if !self.redacts(version.envelope.kind) {
            return Ok(line);
        }
        let counts = redact_fields(&mut line.fields);
        line.content = line.content.map(|hash| self.passed(&id, &hash)).transpose()?;
        let mut additional = BTreeMap::new();
        for (name, hash) in line.additional {
            additional.insert(name, self.passed(&id, &hash)?);
        }
        line.additional = additional;
        let is_same = (&line.content, &line.additional) == (&version.content, &version.additional);
        if !is_same || !counts.is_empty() {
            let text = |hash: &Hash| match self.changed.get(hash) {
                Some(text) => Ok(text.clone()),
                None => self.store.text(&id, hash),
            };
            let content = line.content.as_ref().map(text).transpose()?;
            line.redacted =
                Some(redaction(&version, &line.fields, content.as_deref(), &line.additional)?);
        }
        Ok(line)
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
                if let Some(changed) = redact_json(&item.text).text {
                    item.redacted = Some(Hash::of(&changed));
                    item.text = changed;
                }
            }
        }
        Ok(items)
    }
}
