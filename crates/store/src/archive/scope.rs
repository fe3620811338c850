//! Selects an archive's versions, in the order in which they were written. Reads the store; must
//! not write an archive.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use super::ArchiveScope;
use super::standing::chat_of;
use crate::forget::{each_item, reference};
use crate::rules::objects;
use crate::{Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Hash, ObjectId, ObjectType, TxId};

/// Versions read at once.
const VERSIONS_AT_ONCE: usize = 256;

/// Pages of versions, each of whole transactions.
type Pages<'a> = Box<dyn Iterator<Item = Result<Vec<Version>>> + 'a>;

/// Selects the versions of an archive: their number, if it is known in advance, and pages of them.
///
/// # Errors
/// `NOT_FOUND` for an unknown session or object; `INVALID_ARGUMENT` if a session's ID belongs to
/// another type.
pub(super) fn selected<'a>(
    store: &'a Store,
    scope: &ArchiveScope,
) -> Result<(Option<u64>, Pages<'a>)> {
    let versions = match scope {
        ArchiveScope::Everything => {
            let (until, _) = store.newest()?;
            return Ok((None, Box::new(store.log(until, VERSIONS_AT_ONCE))));
        }
        ArchiveScope::Session(id) => session_versions(store, id)?,
        ArchiveScope::Object(id) => {
            store.require(id, AsOf::Latest)?;
            store.history(id)?.into_iter().rev().collect()
        }
    };
    Ok((Some(versions.len() as u64), Box::new(std::iter::once(Ok(versions)))))
}

/// The versions of a session and of the objects that it refers to, see [`ArchiveScope::Session`],
/// in the order in which they were written.
///
/// # Errors
/// `NOT_FOUND`; `INVALID_ARGUMENT` if the ID is that of another type.
pub fn session_versions(store: &Store, id: &ObjectId) -> Result<Vec<Version>> {
    let (versions, named, pairs, histories) = Default::default();
    Sessions { store, versions, named, pairs, histories }.choose(id)
}

/// Collects a session and the objects that it refers to.
///
/// A JSON object refers to a version if it holds the object's ID and the version's `content_hash`.
/// A field that ends in `_ref`, `_refs` or `_from` refers to an object; its latest version is
/// included if no other one is. Infrastructure objects are followed only from their own session: a
/// toolcall refers to its chat, and a file may be read in any session.
struct Sessions<'a> {
    store: &'a Store,
    versions: BTreeMap<(TxId, ObjectId), Version>,
    /// Content objects referred to, and whether one of their versions was.
    named: BTreeMap<ObjectId, bool>,
    /// Strings of one JSON object, at least one of which is a hash.
    pairs: HashSet<(String, String)>,
    histories: HashMap<String, Vec<Version>>,
}

impl Sessions<'_> {
    fn choose(mut self, id: &ObjectId) -> Result<Vec<Version>> {
        let latest = self.store.require(id, AsOf::Latest)?;
        if latest.envelope.kind != ObjectType::Session {
            let kind = latest.envelope.kind.as_str();
            return Err(Error::argument("session", format!("is a {kind}: `{id}`")));
        }
        let mut next = Some((id.clone(), TxId(i64::MAX)));
        let mut seen = BTreeSet::new();
        while let Some((id, until)) = next {
            if !seen.insert(id.clone()) {
                break;
            }
            next = self.session(&id, until)?;
        }
        self.follow()?;
        for (id, _) in std::mem::take(&mut self.named).into_iter().filter(|(_, has)| !has) {
            if let Some(version) = self.store.get(&id, AsOf::Latest)? {
                self.add(version);
            }
        }
        self.follow()?;
        Ok(self.versions.into_values().collect())
    }

    /// Adds the documents of a session up to a transaction. For a fork, returns the original
    /// session and the transaction of the fork.
    fn session(&mut self, id: &ObjectId, until: TxId) -> Result<Option<(ObjectId, TxId)>> {
        let mut history = self.store.history(id)?;
        history.retain(|version| version.tx_id <= until);
        let began = history.last().map(|version| version.tx_id);
        let mut documents: BTreeSet<ObjectId> = history.iter().filter_map(chat_of).collect();
        documents.extend(history.iter().filter_map(|it| reference(it, "system_prompt_ref")));
        for document in &documents {
            let mut versions = self.store.history(document)?;
            versions.retain(|version| version.tx_id <= until);
            self.items(&versions, until)?;
            for version in versions {
                self.add(version);
            }
        }
        let parent = self.items(&history, until)?;
        for version in history {
            self.add(version);
        }
        Ok(parent.zip(began))
    }

    /// Follows a document's items up to a transaction. Returns the session that it was forked from,
    /// if they name one.
    fn items(&mut self, versions: &[Version], until: TxId) -> Result<Option<ObjectId>> {
        let mut parent = None;
        each_item(self.store, versions, |placed| {
            if placed.from <= until
                && let Ok(value) = serde_json::from_str::<Value>(&placed.item.text)
            {
                let forked = value.get("forked_from").and_then(Value::as_str);
                parent = forked.map(ObjectId::new).or(parent.take());
                objects(&value).for_each(|members| self.collect(members));
            }
            Ok(())
        })?;
        Ok(parent)
    }

    fn add(&mut self, version: Version) {
        let place = (version.tx_id, version.envelope.id.clone());
        if !self.versions.contains_key(&place) {
            let inside = version.fields.values().flat_map(objects);
            inside.chain([&version.fields]).for_each(|members| self.collect(members));
            self.versions.insert(place, version);
        }
    }

    /// Collects what an object may refer to by its own members.
    fn collect(&mut self, fields: &Map<String, Value>) {
        let strings: Vec<&str> = fields.values().filter_map(Value::as_str).collect();
        for hash in strings.iter().filter(|text| is_hash(text)) {
            let others = strings.iter().filter(|text| text != &hash);
            self.pairs.extend(others.map(|id| ((*id).to_owned(), (*hash).to_owned())));
        }
        for (key, value) in fields {
            if ["_ref", "_refs", "_from"].iter().any(|end| key.ends_with(end)) {
                self.name(value);
            }
        }
    }

    fn name(&mut self, value: &Value) {
        match value {
            Value::String(id) => {
                self.named.entry(ObjectId::new(id)).or_default();
            }
            Value::Array(values) => values.iter().for_each(|value| self.name(value)),
            _ => {}
        }
    }

    /// Reads the histories of content objects, for many at once where that is quicker.
    fn read_histories<'i>(&mut self, ids: impl Iterator<Item = &'i String>) -> Result<()> {
        let unread: BTreeSet<ObjectId> =
            ids.filter(|id| !self.histories.contains_key(*id)).map(ObjectId::new).collect();
        let unread: Vec<ObjectId> = unread.into_iter().collect();
        let mut found = self.store.backend().histories(&unread)?;
        for id in unread {
            let history = match &mut found {
                Some(found) => found.remove(&id).unwrap_or_default(),
                None => self.store.history(&id)?,
            };
            let is_content =
                history.first().is_some_and(|version| version.envelope.kind.is_content());
            let history = if is_content { history } else { Vec::new() };
            self.histories.insert(id.to_string(), history);
        }
        Ok(())
    }

    /// Adds the versions referred to, and those that they refer to in turn.
    fn follow(&mut self) -> Result<()> {
        while !self.pairs.is_empty() {
            let pairs = std::mem::take(&mut self.pairs);
            self.read_histories(pairs.iter().map(|(id, _)| id))?;
            for (id, hash) in pairs {
                let hash = Hash::from_stored(hash);
                let versions = self.histories[&id].iter();
                let found: Vec<Version> =
                    versions.filter(|version| version.content_hash == hash).cloned().collect();
                if !found.is_empty() {
                    self.named.insert(ObjectId::new(&id), true);
                }
                for version in found {
                    self.add(version);
                }
            }
        }
        let named = std::mem::take(&mut self.named);
        for (id, has_version) in named {
            let is_content = if let Some(history) = self.histories.get(id.as_str()) {
                !history.is_empty()
            } else {
                let version = self.store.get(&id, AsOf::Latest)?;
                version.is_some_and(|version| version.envelope.kind.is_content())
            };
            if is_content {
                self.named.insert(id, has_version);
            }
        }
        Ok(())
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && Hash::from_stored(text).to_bytes().is_some()
}
