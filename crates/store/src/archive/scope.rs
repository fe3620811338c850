//! Selects an archive's versions, in the order in which they were written. Reads the store; must
//! not write an archive.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::ArchiveScope;
use super::standing::chat_of;
use crate::{Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Hash, ObjectId, ObjectType, TxId};

/// Versions read at once.
const VERSIONS_AT_ONCE: usize = 256;

/// Items read at once.
const ITEMS_AT_ONCE: u64 = 256;

/// Selected versions by transaction, in the order to write them.
pub(super) struct Selection<'a> {
    store: &'a Store,
    source: Source,
}

enum Source {
    /// The whole store between two transactions, and the last page read.
    Everything {
        after: TxId,
        end: TxId,
        read: VecDeque<Version>,
    },
    Chosen(BTreeMap<TxId, Vec<Version>>, u64),
}

impl<'a> Selection<'a> {
    /// # Errors
    /// `NOT_FOUND` for an unknown session or object; `INVALID_ARGUMENT` if a session's ID belongs
    /// to another type.
    pub(super) fn new(store: &'a Store, scope: &ArchiveScope) -> Result<Self> {
        let source = match scope {
            ArchiveScope::Everything => {
                let (end, _) = store.newest()?;
                Source::Everything { after: TxId(i64::MIN), end, read: VecDeque::new() }
            }
            ArchiveScope::Session(id) => chosen(Sessions::new(store).choose(id)?),
            ArchiveScope::Object(id) => {
                store.require(id, AsOf::Latest)?;
                chosen(store.history(id)?)
            }
        };
        Ok(Self { store, source })
    }

    /// The next versions: of one transaction, or of several.
    pub(super) fn next(&mut self) -> Result<Option<Vec<Version>>> {
        match &mut self.source {
            Source::Chosen(transactions, _) => {
                Ok(transactions.pop_first().map(|(_, versions)| versions))
            }
            Source::Everything { after, end, read } => {
                if read.is_empty() {
                    *read = self.store.changes(*after, VERSIONS_AT_ONCE)?.into();
                }
                let versions: Vec<Version> =
                    read.drain(..).filter(|version| version.tx_id <= *end).collect();
                if let Some(last) = versions.last() {
                    *after = last.tx_id;
                }
                Ok((!versions.is_empty()).then_some(versions))
            }
        }
    }

    /// Number of versions, if known in advance.
    pub(super) fn count(&self) -> Option<u64> {
        match &self.source {
            Source::Everything { .. } => None,
            Source::Chosen(_, count) => Some(*count),
        }
    }
}

/// The versions of a session and of the objects that it refers to, see [`ArchiveScope::Session`],
/// in the order in which they were written.
///
/// # Errors
/// `NOT_FOUND`; `INVALID_ARGUMENT` if the ID is that of another type.
pub fn session_versions(store: &Store, id: &ObjectId) -> Result<Vec<Version>> {
    let mut versions = Sessions::new(store).choose(id)?;
    versions.sort_by_key(|version| version.tx_id);
    Ok(versions)
}

fn chosen(versions: Vec<Version>) -> Source {
    let count = versions.len() as u64;
    let mut transactions: BTreeMap<TxId, Vec<Version>> = BTreeMap::new();
    for version in versions {
        transactions.entry(version.tx_id).or_default().push(version);
    }
    Source::Chosen(transactions, count)
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

impl<'a> Sessions<'a> {
    fn new(store: &'a Store) -> Self {
        Self {
            store,
            versions: BTreeMap::new(),
            named: BTreeMap::new(),
            pairs: HashSet::new(),
            histories: HashMap::new(),
        }
    }

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
        let history = self.store.history(id)?;
        let history: Vec<Version> =
            history.into_iter().filter(|version| version.tx_id <= until).collect();
        let began = history.last().map(|version| version.tx_id);
        let mut documents: BTreeSet<ObjectId> = history.iter().filter_map(chat_of).collect();
        for version in &history {
            let prompt = version.fields.get("system_prompt_ref").and_then(Value::as_str);
            documents.extend(prompt.map(ObjectId::new));
        }
        for document in &documents {
            for version in self.store.history(document)? {
                if version.tx_id <= until {
                    self.add(version);
                }
            }
            self.items(document, until)?;
        }
        for version in history {
            self.add(version);
        }
        let parent = self.items(id, until)?;
        Ok(parent.zip(began))
    }

    /// Follows a document's items up to a transaction. Returns the session that it was forked from,
    /// if they name one.
    fn items(&mut self, id: &ObjectId, until: TxId) -> Result<Option<ObjectId>> {
        let mut parent = None;
        for start in (0..).step_by(usize::try_from(ITEMS_AT_ONCE).unwrap_or(usize::MAX)) {
            let items = self.store.backend().placed_items(id, start..start + ITEMS_AT_ONCE)?;
            if items.is_empty() {
                break;
            }
            for placed in items.into_iter().filter(|placed| placed.from <= until) {
                let Ok(value) = serde_json::from_str::<Value>(&placed.item.text) else { continue };
                let forked = value.get("forked_from").and_then(Value::as_str);
                parent = forked.map(ObjectId::new).or(parent);
                self.collect(&value);
            }
        }
        Ok(parent)
    }

    fn add(&mut self, version: Version) {
        let place = (version.tx_id, version.envelope.id.clone());
        if !self.versions.contains_key(&place) {
            self.collect_from(&version.fields);
            self.versions.insert(place, version);
        }
    }

    /// Collects what a value may refer to.
    fn collect(&mut self, value: &Value) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.collect(value)),
            Value::Object(fields) => self.collect_from(fields),
            _ => {}
        }
    }

    fn collect_from(&mut self, fields: &Map<String, Value>) {
        let strings: Vec<&str> = fields.values().filter_map(Value::as_str).collect();
        for hash in strings.iter().filter(|text| is_hash(text)) {
            let others = strings.iter().filter(|text| text != &hash);
            self.pairs.extend(others.map(|id| ((*id).to_owned(), (*hash).to_owned())));
        }
        for (key, value) in fields {
            if ["_ref", "_refs", "_from"].iter().any(|end| key.ends_with(end)) {
                self.name(value);
            }
            self.collect(value);
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
