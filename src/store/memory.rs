//! A store in memory: the reference that other backends are tested against, and `:memory:` stores. Keeps nothing on disk.

mod relations;
mod search;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Bound, Range};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use uuid::Uuid;

use super::query::{Candidate, FieldPaths};
use super::rules::{self, Latest};
use super::{
    Backend, Condition, Garbage, Item, Op, Outcome, PlacedItem, Put, Query, Receipt, RelationIndex,
    Replacement, SearchIndex, Size, Splice, Test, Version,
};
use crate::error::{Error, Result};
use crate::object::{
    AsOf, FieldPath, Hash, Nickname, ObjectId, ObjectType, Origin, RunningHash, Timestamp, TxId,
};

/// A store that lives as long as the process.
#[derive(Debug)]
pub struct MemoryBackend {
    store_id: String,
    /// `None` once closed.
    state: RwLock<Option<State>>,
    /// Derived from the state; locked after it.
    derived: Mutex<relations::Derived>,
}

#[derive(Debug, Default, Clone)]
struct State {
    newest: Option<(TxId, Timestamp)>,
    /// Every version, in the order in which they were written.
    log: Vec<(TxId, ObjectId)>,
    objects: BTreeMap<ObjectId, Object>,
    contents: BTreeMap<Hash, String>,
    nicknames: BTreeMap<Nickname, ObjectId>,
    /// Contents that are not to be stored again.
    banned: HashSet<Hash>,
}

#[derive(Debug, Default, Clone)]
struct Object {
    /// Oldest first.
    versions: Vec<Version>,
    /// By position: every item that ever stood there, oldest first.
    places: Vec<Vec<PlacedItem>>,
    /// Whether a person had it forgotten.
    forgotten: bool,
}

impl MemoryBackend {
    /// Makes an empty store with an ID of its own.
    pub fn new() -> Self {
        Self {
            store_id: Uuid::now_v7().to_string(),
            state: RwLock::new(Some(State::default())),
            derived: Mutex::default(),
        }
    }

    fn read<T>(&self, reading: impl FnOnce(&State) -> T) -> Result<T> {
        let guard: RwLockReadGuard<'_, _> =
            self.state.read().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().map(reading).ok_or(Error::Closed { what: "store" })
    }
}

impl Default for MemoryBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend for MemoryBackend {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn store_id(&self) -> &str {
        &self.store_id
    }

    fn commit_all(&self, transactions: &[&[Op]], now: Timestamp) -> Result<Vec<Receipt>> {
        let mut guard = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let state = guard.as_mut().ok_or(Error::Closed { what: "store" })?;
        if let [ops] = transactions {
            return Ok(vec![state.commit(&self.store_id, ops, now)?]);
        }
        transactions.iter().try_for_each(|ops| rules::check_shape(ops))?;
        // Kept apart until all have succeeded.
        let mut next = state.clone();
        let commit = |ops: &&[Op]| next.commit(&self.store_id, ops, now);
        let receipts = transactions.iter().map(commit).collect::<Result<_>>()?;
        *state = next;
        Ok(receipts)
    }

    fn newest(&self) -> Result<(TxId, Timestamp)> {
        self.read(State::newest)
    }

    fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>> {
        self.read(|state| state.objects.get(id)?.at(at).cloned())
    }

    fn history(&self, id: &ObjectId) -> Result<Vec<Version>> {
        self.read(|state| {
            let versions = state.objects.get(id).map(|object| object.versions.iter());
            versions.into_iter().flatten().rev().cloned().collect()
        })
    }

    fn content(&self, hash: &Hash) -> Result<Option<String>> {
        self.read(|state| state.contents.get(hash).cloned())
    }

    fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>> {
        self.read(|state| {
            let Some(object) = state.objects.get(id) else { return Vec::new() };
            let Some(version) = object.at(at) else { return Vec::new() };
            object.items(version.tx_id, range)
        })
    }

    fn placed_items(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>> {
        self.read(|state| {
            let places = state.objects.get(id).map(|object| object.places(range));
            places.unwrap_or_default().iter().flatten().cloned().collect()
        })
    }

    fn changes(&self, after: TxId, limit: usize) -> Result<Vec<Version>> {
        self.read(|state| {
            let later = &state.log[state.log.partition_point(|(tx_id, _)| *tx_id <= after)..];
            let last = later.get(limit.saturating_sub(1)).map(|(tx_id, _)| *tx_id);
            let whole =
                later.iter().take_while(|(tx_id, _)| last.is_none_or(|last| *tx_id <= last));
            let version = |(tx_id, id): &(TxId, ObjectId)| {
                state.objects.get(id)?.at(AsOf::Tx(*tx_id)).cloned()
            };
            whole.filter_map(version).collect()
        })
    }

    fn list(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<Version>> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.read(|state| {
            let objects = state.objects.range::<ObjectId, _>((start, Bound::Unbounded));
            let latest = objects.filter_map(|(_, object)| object.versions.last());
            latest.filter(|version| version.envelope.kind == kind).take(limit).cloned().collect()
        })
    }

    fn query(&self, query: &Query) -> Result<Vec<Version>> {
        self.read(|state| {
            let objects = state.objects.values();
            let candidates = objects.filter_map(|object| state.candidate(object, query.at));
            let found = query.answer(candidates.collect())?;
            Ok(found.into_iter().map(|candidate| candidate.version.clone()).collect())
        })?
    }

    fn has_field(&self, path: &FieldPath) -> Result<bool> {
        let condition = Condition::Test(path.clone(), Test::Exists);
        let query = Query { condition: Some(condition), ..Query::default() };
        self.read(|state| {
            let at = |(tx_id, id): &(TxId, ObjectId)| {
                state.candidate(state.objects.get(id)?, AsOf::Tx(*tx_id))
            };
            Ok(!query.answer(state.log.iter().filter_map(at).collect())?.is_empty())
        })?
    }

    fn field_paths(&self) -> Result<Vec<FieldPath>> {
        self.read(|state| {
            let mut paths = FieldPaths::default();
            for (tx_id, id) in state.log.iter().rev() {
                let object = state.objects.get(id).and_then(|object| object.at(AsOf::Tx(*tx_id)));
                if object.is_some_and(|version| paths.add(&version.fields).is_break()) {
                    break;
                }
            }
            paths.into_list()
        })
    }

    fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>> {
        let start = ObjectId::new(prefix);
        self.read(|state| {
            let ids = state.objects.range(start..).map(|(id, _)| id);
            ids.take_while(|id| id.as_str().starts_with(prefix)).take(limit).cloned().collect()
        })
    }

    fn find_nickname(&self, nickname: &Nickname) -> Result<Option<ObjectId>> {
        self.read(|state| state.nicknames.get(nickname).cloned())
    }

    fn nicknames(&self, id: &ObjectId) -> Result<Vec<Nickname>> {
        self.read(|state| {
            let owned = state.nicknames.iter().filter(|(_, owner)| *owner == id);
            owned.map(|(nickname, _)| nickname.clone()).collect()
        })
    }

    fn content_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.read(|state| {
            let hashes = state.contents.range::<Hash, _>((start, Bound::Unbounded));
            hashes.take(limit).map(|(hash, _)| hash.clone()).collect()
        })
    }

    fn search_index(&self) -> Option<&dyn SearchIndex> {
        Some(self)
    }

    fn relation_index(&self) -> Option<&dyn RelationIndex> {
        Some(self)
    }

    fn replace(&self, replacements: &[Replacement], banned: &[Hash], newest: TxId) -> Result<()> {
        let mut guard = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let state = guard.as_mut().ok_or(Error::Closed { what: "store" })?;
        rules::expect_newest(replacements, state.newest.map(|(tx_id, _)| tx_id), newest)?;
        // Kept apart until all have succeeded.
        let mut next = state.clone();
        for replacement in replacements {
            next.replace(replacement).ok_or_else(|| rules::nothing_to_replace(replacement.id()))?;
        }
        next.banned.extend(banned.iter().cloned());
        *state = next;
        *self.derived.lock().unwrap_or_else(PoisonError::into_inner) =
            relations::Derived::default();
        Ok(())
    }

    fn garbage(&self) -> Result<Garbage> {
        self.read(State::garbage)
    }

    fn collect(&self) -> Result<Garbage> {
        let mut guard = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let state = guard.as_mut().ok_or(Error::Closed { what: "store" })?;
        let garbage = state.garbage();
        let used = state.used_contents();
        state.contents.retain(|hash, _| used.contains(hash));
        Ok(garbage)
    }

    fn size(&self) -> Result<Size> {
        self.read(|state| {
            let mut size = Size { contents: state.contents.len() as u64, ..Size::default() };
            for object in state.objects.values() {
                if let Some(version) = object.versions.last() {
                    *size.objects.entry(version.envelope.kind).or_default() += 1;
                }
                size.forgotten += u64::from(object.forgotten);
                size.versions += object.versions.len() as u64;
                for version in &object.versions {
                    let fields = serde_json::to_string(&version.fields).unwrap_or_default();
                    size.plain_bytes += fields.len() as u64;
                }
                for placed in object.places.iter().flatten() {
                    size.items += 1;
                    size.plain_bytes += placed.item.text.len() as u64;
                }
            }
            size.plain_bytes += state.contents.values().map(|text| text.len() as u64).sum::<u64>();
            size
        })
    }

    fn close(&self) -> Result<()> {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}

/// What a transaction will do, found before anything is changed: so it applies as a whole or not at all.
struct Plan<'a> {
    tx_id: TxId,
    system_time: Timestamp,
    /// Objects that get a version.
    written: HashSet<&'a ObjectId>,
    /// Nicknames that change.
    nicknames: HashMap<&'a Nickname, Option<&'a ObjectId>>,
}

impl<'a> Plan<'a> {
    /// Judges the operations; returns the plan and their outcomes.
    fn make(state: &State, ops: &'a [Op], now: Timestamp) -> Result<(Self, Vec<Outcome>)> {
        let (tx_id, system_time) = rules::next(state.newest, now);
        let mut plan =
            Self { tx_id, system_time, written: HashSet::new(), nicknames: HashMap::new() };
        let mut outcomes = vec![Outcome::Written; ops.len()];
        for (op, outcome) in ops.iter().zip(&mut outcomes) {
            if let Op::Put(put) = op {
                *outcome = plan.put(state, put)?;
            }
        }
        for (op, outcome) in ops.iter().zip(&mut outcomes) {
            if let Op::Name { nickname, id } = op {
                *outcome = plan.name(state, nickname, id.as_ref())?;
            }
        }
        Ok((plan, outcomes))
    }

    fn put(&mut self, state: &State, put: &'a Put) -> Result<Outcome> {
        let latest = state.latest(&put.envelope.id);
        let writes = rules::writes(put, latest.as_ref())?;
        if let (Some(latest), false) = (latest, writes) {
            return Ok(Outcome::Unchanged(latest.tx_id));
        }
        if rules::contents(put).any(|hash| state.banned.contains(hash)) {
            return Err(Error::Forgotten { id: put.envelope.id.clone() });
        }
        self.written.insert(&put.envelope.id);
        Ok(Outcome::Written)
    }

    fn name(
        &mut self,
        state: &State,
        nickname: &'a Nickname,
        id: Option<&'a ObjectId>,
    ) -> Result<Outcome> {
        let stored = || state.nicknames.get(nickname);
        let owner = self.nicknames.get(nickname).copied().unwrap_or_else(stored);
        match (owner, id) {
            (None, None) => return Ok(Outcome::Unchanged(state.newest_tx())),
            (Some(owner), Some(id)) if owner == id => {
                let latest = self.latest_tx(state, id).unwrap_or(self.tx_id);
                return Ok(Outcome::Unchanged(latest));
            }
            (Some(owner), Some(_)) => return Err(rules::nickname_taken(nickname, owner)),
            (None, Some(id)) if self.latest_tx(state, id).is_none() => {
                return Err(rules::nickname_without_object(nickname, id));
            }
            (None, Some(_)) | (Some(_), None) => {}
        }
        self.nicknames.insert(nickname, id);
        Ok(Outcome::Written)
    }

    fn apply(self, state: &mut State, store_id: &str, ops: &[Op]) {
        let written = |put: &&Put| self.written.contains(&put.envelope.id);
        for put in rules::puts(ops).filter(written) {
            state.write(put, store_id, self.tx_id, self.system_time);
        }
        for (nickname, id) in self.nicknames {
            match id {
                Some(id) => state.nicknames.insert(nickname.clone(), id.clone()),
                None => state.nicknames.remove(nickname),
            };
        }
        state.newest = Some((self.tx_id, self.system_time));
    }

    /// The latest version of an object once this transaction has been applied.
    fn latest_tx(&self, state: &State, id: &ObjectId) -> Option<TxId> {
        if self.written.contains(id) {
            return Some(self.tx_id);
        }
        state.objects.get(id)?.versions.last().map(|version| version.tx_id)
    }
}

impl State {
    fn commit(&mut self, store_id: &str, ops: &[Op], now: Timestamp) -> Result<Receipt> {
        rules::check_shape(ops)?;
        let (plan, outcomes) = Plan::make(self, ops, now)?;
        if !outcomes.contains(&Outcome::Written) {
            let (tx_id, system_time) = self.newest();
            return Ok(Receipt { tx_id, system_time, outcomes });
        }
        let (tx_id, system_time) = (plan.tx_id, plan.system_time);
        plan.apply(self, store_id, ops);
        Ok(Receipt { tx_id, system_time, outcomes })
    }

    fn newest(&self) -> (TxId, Timestamp) {
        self.newest.unwrap_or((TxId(0), Timestamp(0)))
    }

    /// `None` where there is nothing to replace.
    fn replace(&mut self, replacement: &Replacement) -> Option<()> {
        let object = self.objects.get_mut(replacement.id())?;
        match replacement {
            Replacement::Version { tx_id, fields, content, additional, redacted, .. } => {
                let version = object.versions.iter_mut().find(|version| version.tx_id == *tx_id)?;
                for (hash, text) in content.iter().chain(additional.values()) {
                    self.contents.entry(hash.clone()).or_insert_with(|| text.clone());
                }
                let hash =
                    |(name, (hash, _)): (&String, &(Hash, String))| (name.clone(), hash.clone());
                version.fields.clone_from(fields);
                version.content = content.as_ref().map(|(hash, _)| hash.clone());
                version.additional = additional.iter().map(hash).collect();
                version.redacted = Some(redacted.clone());
            }
            Replacement::Item { position, from, item, .. } => {
                let place = object.places.get_mut(usize::try_from(*position).ok()?)?;
                place.iter_mut().find(|placed| placed.from == *from)?.item = item.clone();
            }
            Replacement::Forgotten { id } => {
                object.forgotten = true;
                for version in &mut object.versions {
                    version.envelope.source = None;
                }
                self.nicknames.retain(|_, owner| owner != id);
            }
        }
        Some(())
    }

    fn used_contents(&self) -> HashSet<Hash> {
        let versions = self.objects.values().flat_map(|object| &object.versions);
        versions
            .flat_map(|version| version.content.iter().chain(version.additional.values()))
            .cloned()
            .collect()
    }

    fn garbage(&self) -> Garbage {
        let used = self.used_contents();
        let unused = self.contents.iter().filter(|(hash, _)| !used.contains(*hash));
        unused.fold(Garbage::default(), |garbage, (_, text)| Garbage {
            contents: garbage.contents + 1,
            content_bytes: garbage.content_bytes + text.len() as u64,
            ..garbage
        })
    }

    fn newest_tx(&self) -> TxId {
        self.newest().0
    }

    /// An object as a query sees it.
    fn candidate<'s>(&'s self, object: &'s Object, at: AsOf) -> Option<Candidate<'s>> {
        let version = object.at(at)?;
        let owned = self.nicknames.iter().filter(|(_, owner)| **owner == version.envelope.id);
        let nicknames = owned.map(|(nickname, _)| nickname).collect();
        let content = version.content.as_ref().and_then(|hash| self.contents.get(hash));
        let content = content.map(String::as_str);
        Some(Candidate { version, nicknames, content, forgotten: object.forgotten })
    }

    fn latest(&self, id: &ObjectId) -> Option<Latest> {
        let object = self.objects.get(id)?;
        let version = object.versions.last()?;
        Some(Latest {
            tx_id: version.tx_id,
            identity_hash: version.envelope.identity_hash.clone(),
            content_hash: version.content_hash.clone(),
            source_hash: version.source_hash.clone(),
            item_count: version.item_count,
            forgotten: object.forgotten,
        })
    }

    fn write(&mut self, put: &Put, store_id: &str, tx_id: TxId, system_time: Timestamp) {
        for (hash, text) in put.content.iter().chain(put.additional.values()) {
            self.contents.entry(hash.clone()).or_insert_with(|| text.clone());
        }
        self.log.push((tx_id, put.envelope.id.clone()));
        let object = self.objects.entry(put.envelope.id.clone()).or_default();
        let (item_count, items_hash) = match (&put.items, object.versions.last()) {
            (Some(splice), _) => object.splice(splice, tx_id),
            (None, Some(latest)) => (latest.item_count, latest.items_hash.clone()),
            (None, None) => (0, None),
        };
        let here = || Origin { store_id: store_id.to_owned(), tx_id, time: system_time };
        let hash = |(name, (hash, _)): (&String, &(Hash, String))| (name.clone(), hash.clone());
        object.versions.push(Version {
            envelope: put.envelope.clone(),
            tx_id,
            system_time,
            origin: put.origin.clone().unwrap_or_else(here),
            source_hash: put.source_hash.clone(),
            content_hash: put.content_hash.clone(),
            fields: put.fields.clone(),
            content: put.content.as_ref().map(|(hash, _)| hash.clone()),
            item_count,
            items_hash,
            additional: put.additional.iter().map(hash).collect(),
            redacted: put.redacted.clone(),
        });
    }
}

impl Object {
    fn at(&self, at: AsOf) -> Option<&Version> {
        let visible = match at {
            AsOf::Latest => self.versions.len(),
            AsOf::Tx(tx_id) => self.versions.partition_point(|version| version.tx_id <= tx_id),
            AsOf::Time(time) => {
                self.versions.partition_point(|version| version.system_time <= time)
            }
        };
        self.versions[..visible].last()
    }

    fn items(&self, tx_id: TxId, range: Range<u64>) -> Vec<Item> {
        let visible = |placed: &&PlacedItem| {
            placed.from <= tx_id && placed.until.is_none_or(|until| tx_id < until)
        };
        self.places(range)
            .iter()
            .filter_map(|place| place.iter().find(visible))
            .map(|placed| placed.item.clone())
            .collect()
    }

    fn places(&self, range: Range<u64>) -> &[Vec<PlacedItem>] {
        let clip = |end: u64| {
            usize::try_from(end).map_or(self.places.len(), |end| end.min(self.places.len()))
        };
        self.places.get(clip(range.start)..clip(range.end)).unwrap_or_default()
    }

    /// Applies a splice that the rules allow; returns the number of items and their running hash after it.
    fn splice(&mut self, splice: &Splice, tx_id: TxId) -> (u64, Option<Hash>) {
        let keep = usize::try_from(splice.keep).unwrap_or(usize::MAX).min(self.places.len());
        let (kept, dropped) = self.places.split_at_mut(keep);
        let mut hash =
            kept.last().and_then(|place| place.last()).map(|last| last.item.running_hash.clone());
        for last in dropped.iter_mut().filter_map(|place| place.last_mut()) {
            last.until.get_or_insert(tx_id);
        }
        for (position, item) in (keep..).zip(&splice.add) {
            if position == self.places.len() {
                self.places.push(Vec::new());
            }
            hash = Some(item.running_hash.clone());
            self.places[position].push(PlacedItem {
                position: position as u64,
                from: tx_id,
                until: None,
                item: item.clone(),
            });
        }
        let count = splice.keep + splice.add.len() as u64;
        (count, Some(hash.unwrap_or_else(|| RunningHash::default().hash().clone())))
    }
}
