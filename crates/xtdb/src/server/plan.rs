//! Plans what a transaction changes in XTDB, and what the change depends on. Reads the database;
//! must not write to it.

use std::collections::{HashMap, HashSet};

use super::client::{At, Document, TxOp};
use super::{XtdbBackend, documents};
use base::error::{Error, Result};
use base::lock;
use base::object::{Hash, Nickname, ObjectId, Origin, Room, RunningHash, TxId};
use store::{Expected, Op, Outcome, Put, rules};

/// A planned transaction: its changes, if any, and the outcome of its operations.
#[derive(Debug, Default)]
pub(super) struct Planned {
    pub changes: Vec<TxOp>,
    pub outcomes: Vec<Outcome>,
    /// Marks of other stores' versions that it brings.
    pub marks: Vec<String>,
}

/// The placeholder number of a planned transaction until it has one: −1 for the first, −2 for the
/// second.
pub(super) fn place(planned: usize) -> TxId {
    TxId(-1 - i64::try_from(planned).unwrap_or(i64::MAX - 1))
}

/// The number of a planned transaction, see [`place`].
pub(super) fn number(tx_id: TxId, written: &[TxId]) -> TxId {
    let at = usize::try_from(-1 - tx_id.0).ok();
    at.and_then(|at| written.get(at).copied()).unwrap_or(tx_id)
}

/// The state of an object after everything planned so far.
#[derive(Debug, Clone)]
struct PlannedObject {
    document: Document,
    latest: rules::Latest,
}

impl PlannedObject {
    fn new(document: Document, tx: i64) -> Result<Self> {
        Ok(Self { latest: documents::latest(&document, TxId(tx))?, document })
    }
}

/// Plans transactions one after another, each on the result of the previous ones.
pub(super) struct Planner<'b> {
    backend: &'b XtdbBackend,
    planned: usize,
    objects: HashMap<ObjectId, Option<PlannedObject>>,
    nicknames: HashMap<String, Option<Document>>,
    /// Running hashes of planned items, by object and position.
    items: HashMap<(ObjectId, u64), Hash>,
    /// Contents that exist or will exist.
    contents: HashSet<Hash>,
    /// Contents that were forgotten.
    forgotten: HashSet<Hash>,
    /// Marks of other stores' versions that exist.
    marks: HashSet<String>,
    /// Marks that will exist.
    brought: HashSet<String>,
}

impl<'b> Planner<'b> {
    pub(super) fn new(backend: &'b XtdbBackend) -> Self {
        Self {
            backend,
            planned: 0,
            objects: HashMap::new(),
            nicknames: HashMap::new(),
            items: HashMap::new(),
            contents: HashSet::new(),
            forgotten: HashSet::new(),
            marks: HashSet::new(),
            brought: HashSet::new(),
        }
    }

    /// Continues after everything planned was committed, as transactions with these numbers.
    pub(super) fn go_on(&mut self, written: &[TxId]) {
        self.planned = 0;
        for standing in self.objects.values_mut().flatten() {
            standing.latest.tx_id = number(standing.latest.tx_id, written);
        }
    }

    /// Reads what the plans of these transactions depend on, with few requests for all of them.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn prepare(&mut self, transactions: &[&[Op]]) -> Result<()> {
        let puts = || transactions.iter().copied().flat_map(rules::puts);
        let contents: HashSet<&Hash> = puts().flat_map(rules::contents).collect();
        (self.contents, self.forgotten) = self.backend.states_of(contents)?;
        let mark = |put: &Put| Some(documents::origin_id(&put.envelope.id, put.origin.as_ref()?));
        self.marks = self.backend.present(&puts().filter_map(mark).collect::<Vec<_>>())?;
        self.brought.clear();
        // Ask which transaction wrote an object only if it matters.
        let is_named = |id: &ObjectId| {
            let mut ops = transactions.iter().copied().flatten();
            ops.any(|op| matches!(op, Op::Name { id: Some(named), .. } if named == id))
        };
        let (mut plain, mut exact) = (HashSet::new(), HashSet::new());
        for put in puts().filter(|put| !self.objects.contains_key(&put.envelope.id)) {
            let id = &put.envelope.id;
            let is_plain = put.expected == Expected::Any && put.origin.is_some();
            if is_plain && !is_named(id) {
                plain.insert(id)
            } else {
                exact.insert(id)
            };
        }
        plain.retain(|id| !exact.contains(id));
        let exact: Vec<ObjectId> = exact.into_iter().cloned().collect();
        for (id, found) in exact.iter().zip(self.backend.documents(&exact, At::Latest)?) {
            let standing =
                found.map(|(tx, document)| PlannedObject::new(document, tx.id)).transpose()?;
            self.objects.insert(id.clone(), standing);
        }
        let mut found = self.backend.latest_documents(plain.iter().copied())?;
        for id in plain {
            let document = found.remove(id.as_str());
            let standing = document.map(|document| PlannedObject::new(document, 0)).transpose()?;
            self.objects.insert(id.clone(), standing);
        }
        Ok(())
    }

    /// Plans one transaction.
    ///
    /// # Errors
    /// Those of [`store::Backend::commit`].
    pub(super) fn plan(&mut self, ops: &[Op]) -> Result<Planned> {
        for put in rules::puts(ops) {
            if rules::contents(put).any(|hash| self.forgotten.contains(hash)) {
                return Err(Error::Forgotten { id: put.envelope.id.clone() });
            }
        }
        let mut planned = Planned::default();
        let mut outcomes = vec![Outcome::Written; ops.len()];
        // Puts apply before names.
        for (op, outcome) in ops.iter().zip(&mut outcomes) {
            if let Op::Put(put) = op {
                *outcome = self.put(put, &mut planned)?;
            }
        }
        let mut named = HashMap::new();
        for (op, outcome) in ops.iter().zip(&mut outcomes) {
            if let Op::Name { nickname, id } = op {
                *outcome = self.name(nickname, id.as_ref(), &mut named)?;
            }
        }
        let mut named: Vec<(Nickname, Option<Document>)> = named.into_values().collect();
        named.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        for (nickname, before) in named {
            let id = documents::nickname_id(&nickname);
            let after = self.nicknames.get(nickname.as_str()).cloned().flatten();
            if before == after {
                continue;
            }
            planned.changes.push(TxOp::Match(id.clone(), before));
            planned.changes.push(after.map_or(TxOp::Delete(id), TxOp::Put));
        }
        planned.outcomes = outcomes;
        self.planned += 1;
        Ok(planned)
    }

    fn put(&mut self, put: &Put, planned: &mut Planned) -> Result<Outcome> {
        let id = &put.envelope.id;
        let standing = self.standing(id)?;
        let latest = standing.as_ref().map(|standing| &standing.latest);
        if !rules::writes(put, latest)? {
            let tx_id = latest.map_or(TxId(0), |latest| latest.tx_id);
            return Ok(Outcome::Unchanged(tx_id));
        }
        let before = standing.as_ref().map(|standing| standing.document.clone());
        let changes = &mut planned.changes;
        let (count, hash) = self.splice(put, standing.as_ref(), changes)?;
        let document = documents::object(put, (count, hash.as_ref()))?;
        changes.push(TxOp::Match(id.as_str().to_owned(), before));
        changes.push(TxOp::Put(document.clone()));
        if let Some(origin) = &put.origin {
            self.origin(id, put, origin, planned)?;
        }
        let changes = &mut planned.changes;
        for (hash, text) in put.content.iter().chain(put.additional.values()) {
            if self.contents.insert(hash.clone()) {
                changes.push(TxOp::Match(documents::content_id(hash), None));
                changes.push(TxOp::Put(documents::content(hash, text)));
            }
        }
        let latest = rules::Latest {
            tx_id: place(self.planned),
            identity_hash: put.envelope.identity_hash.clone(),
            content_hash: put.content_hash.clone(),
            source_hash: put.source_hash.clone(),
            item_count: count,
            forgotten: false,
        };
        self.objects.insert(id.clone(), Some(PlannedObject { document, latest }));
        Ok(Outcome::Written)
    }

    /// Plans the change of the items; returns their new number and running hash.
    fn splice(
        &mut self,
        put: &Put,
        standing: Option<&PlannedObject>,
        changes: &mut Vec<TxOp>,
    ) -> Result<(u64, Option<Hash>)> {
        let id = &put.envelope.id;
        let count = standing.map_or(0, |standing| standing.latest.item_count);
        let hash = standing.map(|standing| documents::items_hash(&standing.document));
        let hash = hash.transpose()?.flatten();
        let Some(splice) = &put.items else { return Ok((count, hash)) };
        for (position, item) in (splice.keep..).zip(&splice.add) {
            changes.push(TxOp::Put(documents::item(id, position, item)));
            self.items.insert((id.clone(), position), item.running_hash.clone());
        }
        let after = splice.keep + splice.add.len() as u64;
        let ended = (after..count).map(|position| TxOp::Delete(documents::item_id(id, position)));
        changes.extend(ended);
        let none = || RunningHash::default().hash().clone();
        let hash = match (splice.add.last(), after.checked_sub(1)) {
            (Some(last), _) => last.running_hash.clone(),
            (None, None) => none(),
            (None, Some(_)) if after == count => hash.unwrap_or_else(none),
            (None, Some(last)) => self.item_hash(id, last)?,
        };
        Ok((after, Some(hash)))
    }

    fn item_hash(&self, id: &ObjectId, position: u64) -> Result<Hash> {
        if let Some(hash) = self.items.get(&(id.clone(), position)) {
            return Ok(hash.clone());
        }
        let item = documents::item_id(id, position);
        let document = self.backend.client.latest(&item)?;
        let document = document.ok_or_else(|| documents::gone(item))?;
        Ok(documents::read_item(&document)?.1.running_hash)
    }

    /// Plans the mark by which a version of another store is found. If two bring it at once, the
    /// second is refused; otherwise it would be there twice.
    fn origin(
        &mut self,
        id: &ObjectId,
        put: &Put,
        origin: &Origin,
        planned: &mut Planned,
    ) -> Result<()> {
        let mark = documents::origin_id(id, origin);
        if self.marks.contains(&mark) {
            if lock(&self.backend.missed).contains(&mark) {
                return Err(Error::Conflict { id: id.clone(), winner: None });
            }
        } else if self.brought.insert(mark.clone()) {
            planned.changes.push(TxOp::Match(mark.clone(), None));
            lock(&self.backend.missed).insert(mark.clone());
        }
        planned.changes.push(TxOp::Put(documents::origin(id, &put.content_hash, origin)));
        planned.marks.push(mark);
        Ok(())
    }

    /// `named`: the nicknames that this transaction touches, as they were before it.
    fn name(
        &mut self,
        nickname: &Nickname,
        id: Option<&ObjectId>,
        named: &mut HashMap<String, (Nickname, Option<Document>)>,
    ) -> Result<Outcome> {
        let key = nickname.as_str().to_owned();
        let before = self.nickname(nickname)?;
        let owner: Option<ObjectId> =
            before.as_ref().map(|document| documents::field(document, "object")).transpose()?;
        match (owner, id) {
            (None, None) => {
                let newest = match self.planned.checked_sub(1) {
                    Some(before) => place(before),
                    None => self.backend.newest_tx()?.0,
                };
                return Ok(Outcome::Unchanged(newest));
            }
            (Some(owner), Some(id)) if owner == *id => {
                let latest = self.standing(id)?.map(|standing| standing.latest.tx_id);
                return Ok(Outcome::Unchanged(latest.unwrap_or(place(self.planned))));
            }
            (Some(owner), Some(_)) => return Err(rules::nickname_taken(nickname, &owner)),
            (None, Some(id)) if self.standing(id)?.is_none() => {
                return Err(rules::nickname_without_object(nickname, id));
            }
            (_, id) => {
                named.entry(key.clone()).or_insert_with(|| (nickname.clone(), before));
                self.nicknames.insert(key, id.map(|id| documents::nickname(nickname, id)));
            }
        }
        Ok(Outcome::Written)
    }

    fn nickname(&mut self, nickname: &Nickname) -> Result<Option<Document>> {
        if let Some(known) = self.nicknames.get(nickname.as_str()) {
            return Ok(known.clone());
        }
        let id = documents::nickname_id(nickname);
        let found = self.backend.client.latest(&id)?;
        self.nicknames.insert(nickname.as_str().to_owned(), found.clone());
        Ok(found)
    }

    fn standing(&mut self, id: &ObjectId) -> Result<Option<PlannedObject>> {
        if let Some(known) = self.objects.get(id) {
            return Ok(known.clone());
        }
        let found = self.backend.document(id, At::Latest, &Room::for_answers())?;
        let found = found.map(|(tx, document)| PlannedObject::new(document, tx.id)).transpose()?;
        self.objects.insert(id.clone(), found.clone());
        Ok(found)
    }
}
