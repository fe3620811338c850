//! Plans how an archive's versions join those of a store: which transactions to write, so that a
//! session's version keeps the chat that belonged to it, and which versions become the latest.
//! Reads the store, writes nothing.
//!
//! Versions can only be added, so an imported version that is older than the store's latest would
//! become the latest. Therefore each chunk ends by writing the version with the latest origin time
//! again, with its own origin. A session and its chat are two objects of one document: the chat as
//! of a transaction belongs to the session as of that transaction. So a session's version is always
//! written together with the chat's version that belonged to it.

use std::collections::{HashMap, HashSet};

use super::checked::envelope;
use super::format::VersionLine;
use super::incoming::{Arrivals, Entry, Incoming, Member};
use super::prefix::common_items;
use super::standing::{Chunk, Placed, Refusal, Standing, VersionSource, chat_of, in_store, rank};
use crate::{Expected, Item, Op, Put, Splice, Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, Origin, RedactionReason, TxId};

/// Versions and items after which a chunk ends, unless restoring the latest versions would cost
/// more than the chunk itself.
const CHUNK_ROWS: u64 = 512;

/// Bytes of text after which a chunk ends.
const CHUNK_BYTES: u64 = 16 << 20;

/// Plans which parts of an archive to write.
pub(super) struct Merge<'a> {
    pub(super) store: &'a Store,
    pub(super) incoming: &'a mut dyn Incoming,
    /// What comes, without its texts. Calls get the IDs that they have here.
    pub(super) arrivals: Arrivals,
    pub(super) objects: HashMap<ObjectId, Standing>,
    forgotten: HashSet<ObjectId>,
    /// Origin of the latest version before the import, of each object that the store had.
    pub(super) before: HashMap<ObjectId, Origin>,
    /// Whether a session continued differently here and in the archive, as far as checked.
    pub(super) parted: HashMap<ObjectId, bool>,
    /// Versions that the store certainly lacks, as far as checked in bulk.
    pub(super) lacking: HashSet<usize>,
    /// Number of the archive's transactions that were checked in bulk.
    pub(super) asked: usize,
    /// The IDs that calls have here, by those that they have where they come from.
    pub(super) calls: HashMap<ObjectId, ObjectId>,
    /// Whether files that the store saw itself keep their latest version.
    pub(super) keeps_files: bool,
    /// Whether all transactions are written and only latest versions are restored.
    pub(super) is_settling: bool,
}

impl<'a> Merge<'a> {
    pub(super) fn new(
        store: &'a Store,
        incoming: &'a mut dyn Incoming,
        arrivals: Arrivals,
        keeps_files: bool,
    ) -> Self {
        Self {
            store,
            incoming,
            arrivals,
            keeps_files,
            objects: HashMap::new(),
            forgotten: HashSet::new(),
            before: HashMap::new(),
            calls: HashMap::new(),
            parted: HashMap::new(),
            lacking: HashSet::new(),
            asked: 0,
            is_settling: false,
        }
    }

    /// Drops cached state after the store changed or refused a chunk.
    pub(super) fn begin_anew(&mut self) {
        self.objects.clear();
        self.parted.clear();
        self.lacking.clear();
        self.asked = 0;
    }

    /// Skips this object from now on.
    pub(super) fn leave_out(&mut self, id: ObjectId) {
        self.forgotten.insert(id);
    }

    /// Records that a chunk was written, with the objects' latest transactions.
    pub(super) fn written(&mut self, latest: HashMap<ObjectId, TxId>) {
        for (id, tx_id) in latest {
            if let Some(object) = self.objects.get_mut(&id) {
                object.latest = Some(tx_id);
                object.is_put = false;
            }
        }
    }

    /// Plans the next chunk, from the archive's transaction `first` on; returns it and the first
    /// transaction after it.
    ///
    /// `conflicts`: how often the chunk was refused because others wrote to its objects. Each time
    /// it gets shorter.
    pub(super) fn plan(&mut self, first: usize, conflicts: u32) -> Result<(Chunk, usize)> {
        let mut chunk = Chunk::default();
        let mut next = first;
        let mut room = CHUNK_ROWS.checked_shr(conflicts).unwrap_or(0).max(1);
        let mut touched = Vec::new();
        while next < self.arrivals.transactions.len() && chunk.bytes < CHUNK_BYTES {
            if next >= self.asked {
                self.ask_about(next)?;
            }
            if chunk.rows >= room {
                // Restoring latest versions must cost no more than the new versions, wherever
                // chunks end.
                let cost = self.cost_of_settling(&touched)?;
                if chunk.rows >= cost {
                    break;
                }
                room = cost;
            }
            self.plan_transaction(next, &mut chunk, &mut touched)?;
            next += 1;
        }
        self.settle(&touched, &mut chunk)?;
        Ok((chunk, next))
    }

    /// Plans a chunk that restores the right latest versions of these objects.
    pub(super) fn plan_settling(&mut self, ids: &[ObjectId]) -> Result<Chunk> {
        let mut chunk = Chunk::default();
        if !self.is_settling {
            self.is_settling = true;
            self.keep_settled()?;
        }
        self.load_all(ids.to_vec())?;
        for id in ids {
            self.load(id)?;
        }
        self.settle(ids, &mut chunk)?;
        Ok(chunk)
    }

    fn plan_transaction(
        &mut self,
        transaction: usize,
        chunk: &mut Chunk,
        touched: &mut Vec<ObjectId>,
    ) -> Result<()> {
        let members = self.arrivals.transactions[transaction].clone();
        let mut ops = Vec::new();
        let mut sessions = Vec::new();
        for Member { version, .. } in members.iter().filter(|member| member.is_new) {
            let entry = self.arrivals.entries[*version].clone();
            if self.is_taken(*version, &entry, chunk)? {
                let placed = self.in_archive(*version);
                if let Some(op) = self.put(&entry.id, &placed, chunk)? {
                    chunk.written.push(entry.id.clone());
                    touched.push(entry.id.clone());
                    ops.push(op);
                    sessions.extend(entry.beside.map(|chat| (entry.partner.clone(), chat)));
                }
            }
        }
        for (chat, beside) in sessions {
            let Some(chat) = chat.filter(|chat| !self.forgotten.contains(chat)) else { continue };
            self.load(&chat)?;
            let placed = self.in_archive(beside);
            let stands = self.objects[&chat].last.as_ref().is_some_and(|l| l.key == placed.key);
            let is_in = |op: &Op| matches!(op, Op::Put(put) if put.envelope.id == chat);
            if !stands && !ops.iter().any(is_in) {
                let op = self.put(&chat, &placed, chunk)?;
                chunk.again += u64::from(op.is_some());
                touched.push(chat);
                ops.extend(op);
            }
        }
        if !ops.is_empty() {
            chunk.transactions.push(ops);
        }
        Ok(())
    }

    /// Whether to write a version; counts it if not.
    fn is_taken(&mut self, at: usize, entry: &Entry, chunk: &mut Chunk) -> Result<bool> {
        let found = if self.lacking.contains(&at) {
            Vec::new()
        } else if let Some(version) = self.known_here(entry) {
            vec![version.clone()]
        } else {
            self.store.backend().find_origin(&entry.id, &entry.origin)?
        };
        let found = found.iter().find(|version| version.content_hash == entry.content_hash);
        if let Some(version) = found {
            chunk.present += 1;
            match version.redacted.as_ref().filter(|_| !entry.is_redacted) {
                Some(redaction)
                    if redaction.reason == RedactionReason::Forgotten
                        || version.envelope.is_nameless() =>
                {
                    chunk.refuse(&entry.id, Refusal::RedactedHere);
                }
                Some(_) => chunk.incomplete.push((at, version.tx_id)),
                None if !entry.is_redacted && self.is_damaged(version)? => {
                    chunk.incomplete.push((at, version.tx_id));
                }
                None => {}
            }
            return Ok(false);
        }
        let refusal = if self.forgotten.contains(&entry.id) {
            Some(Refusal::Forgotten)
        } else if entry.kind.is_none() {
            Some(Refusal::UnknownType)
        } else if entry.refused.is_some() {
            entry.refused
        } else if self.is_parted(entry)? {
            Some(Refusal::Parted)
        } else {
            self.load(&entry.id)?;
            self.is_other(at, entry)?.then_some(Refusal::OtherObject)
        };
        if let Some(refusal) = refusal {
            chunk.refuse(&entry.id, refusal);
        }
        Ok(refusal.is_none())
    }

    /// Whether the text of a version in a store's own file is not what was written.
    fn is_damaged(&self, version: &Version) -> Result<bool> {
        if self.store.backend().upkeep().is_none() {
            return Ok(false);
        }
        match self.store.verify(version) {
            Err(error) if error.is_damage() => Ok(true),
            verified => verified.map(|()| false),
        }
    }

    pub(super) fn in_archive(&self, version: usize) -> Placed {
        let entry = &self.arrivals.entries[version];
        let items = entry.items;
        let events = items.filter(|_| entry.kind == Some(ObjectType::Session));
        Placed {
            key: entry.key,
            place: VersionSource::Archive(version),
            items,
            rank: rank(events, &entry.origin, &entry.content_hash),
        }
    }

    /// Whether the store has another object under an ID. Providers repeat those of calls, so a call
    /// is another in another chat, at another position, or with other arguments.
    pub(super) fn is_other(&mut self, at: usize, entry: &Entry) -> Result<bool> {
        let Some(identity) = &self.objects[&entry.id].identity_hash else { return Ok(false) };
        if *identity != entry.identity_hash || entry.kind != Some(ObjectType::Toolcall) {
            return Ok(*identity != entry.identity_hash);
        }
        let there = self.incoming.version(at)?;
        let is_redacted = there.redacted.is_some();
        Ok(self.is_call(&entry.id, &there.fields, is_redacted)? == Some(false))
    }

    /// The operation that puts a version after those planned so far; `None` if it is refused.
    pub(super) fn put(
        &mut self,
        id: &ObjectId,
        placed: &Placed,
        chunk: &mut Chunk,
    ) -> Result<Option<Op>> {
        let last = self.objects[id].last.clone();
        let Ok(items) = self.splice(id, last.as_ref(), placed)? else {
            chunk.refuse(id, Refusal::WithoutItems);
            return Ok(None);
        };
        let mut put = match placed.place {
            VersionSource::Archive(version) => self.put_of_archive(version)?,
            VersionSource::Store(tx_id) => self.put_of_store(id, tx_id)?,
        };
        put.items = items;
        if put.envelope.id != *id {
            self.store_as(&mut put, id, placed)?;
        }
        let Some(object) = self.objects.get_mut(id) else {
            return Err(Error::internal(format!("`{id}` was not read")));
        };
        // Later puts of the chunk are in the same commit, so nobody can write in between. Without a
        // list, concurrent writes need no new plan: the last step of the import restores the latest
        // versions.
        let depends = put.items.is_some() || self.is_settling;
        put.expected = match object.latest {
            _ if object.is_put || !depends => Expected::Any,
            Some(tx_id) => Expected::Latest(tx_id),
            None => Expected::Absent,
        };
        object.is_put = true;
        object.known.insert(placed.key);
        object.identity_hash = Some(put.envelope.identity_hash.clone());
        object.last = Some(placed.clone());
        if object.newest.as_ref().is_none_or(|newest| newest.rank < placed.rank) {
            object.newest = Some(placed.clone());
        }
        if let (VersionSource::Archive(version), None) = (placed.place, &object.session) {
            let entry = &self.arrivals.entries[version];
            let is_chat = entry.kind == Some(ObjectType::Chat) && entry.id == *id;
            object.session = entry.partner.clone().filter(|_| is_chat);
        }
        let added = put.items.iter().flat_map(|splice| &splice.add);
        chunk.rows += 1 + put.items.as_ref().map_or(0, |splice| splice.add.len() as u64);
        chunk.bytes += added.map(|item| item.text.len() as u64).sum::<u64>();
        let texts = put.content.iter().chain(put.additional.values());
        chunk.bytes += texts.map(|(_, text)| text.len() as u64).sum::<u64>();
        Ok(Some(Op::Put(Box::new(put))))
    }

    pub(super) fn put_of_archive(&mut self, version: usize) -> Result<Put> {
        let mut line = self.incoming.version(version)?;
        let Entry { id, identity_hash, .. } = &self.arrivals.entries[version];
        (line.id, line.identity_hash) = (id.clone(), identity_hash.clone());
        // Text forgotten elsewhere is not forgotten here: a complete version may replace it.
        line.redacted.iter_mut().for_each(|redaction| redaction.reason = RedactionReason::Secret);
        let envelope = envelope(&line)?;
        let envelope = envelope.ok_or_else(|| Error::internal("a version of unknown type"))?;
        put_of(envelope, line, |hash| self.incoming.content(hash))
    }

    fn put_of_store(&self, id: &ObjectId, tx_id: TxId) -> Result<Put> {
        let version = self.store.require(id, AsOf::Tx(tx_id))?;
        let line = VersionLine::of(&version)?;
        put_of(version.envelope, line, |hash| self.store.text(id, hash))
    }

    /// The change that turns the items of `last` into those of `wanted`; `Err` if `last` has a list
    /// and `wanted` has none.
    fn splice(
        &mut self,
        id: &ObjectId,
        last: Option<&Placed>,
        wanted: &Placed,
    ) -> Result<std::result::Result<Option<Splice>, ()>> {
        let has = last.and_then(|last| last.items);
        let Some(count) = wanted.items else {
            return Ok(if has.is_some() { Err(()) } else { Ok(None) });
        };
        let keep = match last {
            Some(last) => self.common_items(id, last, wanted, count.min(has.unwrap_or(0)))?,
            None => 0,
        };
        let add = match wanted.place {
            VersionSource::Archive(version) => {
                let document = self.arrivals.entries[version].clone();
                let mut items = self.incoming.items(version, keep)?;
                items.iter_mut().try_for_each(|item| self.name_calls(&document, item))?;
                items
            }
            VersionSource::Store(tx_id) => {
                self.store.backend().items(id, AsOf::Tx(tx_id), keep..count)?
            }
        };
        if add.len() as u64 != count - keep {
            return Err(Error::internal(format!("items of `{id}` are missing")));
        }
        Ok(Ok(Some(Splice { keep, add })))
    }

    /// Counts the items that two versions share, of the first `most`.
    pub(super) fn common_items(
        &self,
        id: &ObjectId,
        a: &Placed,
        b: &Placed,
        most: u64,
    ) -> Result<u64> {
        common_items(most, |at| Ok(self.hash_at(id, a, at)? == self.hash_at(id, b, at)?))
    }

    fn hash_at(&self, id: &ObjectId, placed: &Placed, at: u64) -> Result<Option<Hash>> {
        match placed.place {
            VersionSource::Archive(version) => self.incoming.hash_at(version, at),
            VersionSource::Store(tx_id) => {
                let known = self.history_of(id).iter().find(|version| version.tx_id == tx_id);
                if let Some(version) = known.filter(|version| version.item_count == at + 1) {
                    return Ok(version.items_hash.clone());
                }
                let items = self.store.backend().items(id, AsOf::Tx(tx_id), at..at + 1)?;
                Ok(items.into_iter().next().map(|item: Item| item.running_hash))
            }
        }
    }

    /// Ends a chunk by restoring the right latest versions.
    fn settle(&mut self, touched: &[ObjectId], chunk: &mut Chunk) -> Result<()> {
        let mut ops = Vec::new();
        for (id, wanted) in self.unsettled(touched)? {
            let op = self.put(&id, &wanted, chunk)?;
            chunk.again += u64::from(op.is_some());
            ops.extend(op);
        }
        if !ops.is_empty() {
            chunk.transactions.push(ops);
        }
        Ok(())
    }

    fn cost_of_settling(&mut self, touched: &[ObjectId]) -> Result<u64> {
        let mut cost = 0;
        for (id, wanted) in self.unsettled(touched)? {
            let Some(last) = self.objects[&id].last.clone() else { continue };
            let (has, wants) = (last.items.unwrap_or(0), wanted.items.unwrap_or(0));
            cost += 1 + wants - self.common_items(&id, &last, &wanted, has.min(wants))?;
        }
        Ok(cost)
    }

    /// Those objects and partners whose latest version is wrong, with the right one.
    fn unsettled(&mut self, touched: &[ObjectId]) -> Result<Vec<(ObjectId, Placed)>> {
        let mut ids: Vec<ObjectId> = touched.to_vec();
        for id in touched {
            self.load(id)?;
            if let Some(session) = self.objects[id].session.clone() {
                self.load(&session)?;
            } else if let Some(chat) = self.chat_beside(id)?.map(|(chat, _)| chat) {
                self.load(&chat)?;
                ids.push(chat);
            }
        }
        ids.sort();
        ids.dedup();
        let mut unsettled = Vec::new();
        for id in ids.into_iter().filter(|id| !self.forgotten.contains(id)) {
            let Some(wanted) = self.wanted(&id)? else { continue };
            if self.objects[&id].last.as_ref().is_some_and(|last| last.key != wanted.key) {
                unsettled.push((id, wanted));
            }
        }
        Ok(unsettled)
    }

    /// The right latest version of an object.
    fn wanted(&self, id: &ObjectId) -> Result<Option<Placed>> {
        let object = &self.objects[id];
        let beside = match &object.session {
            Some(session) => self.chat_beside(session)?.filter(|(chat, _)| chat == id),
            None => None,
        };
        Ok(beside.map(|(_, placed)| placed).or_else(|| object.newest.clone()))
    }

    /// The chat of a session, and its version that belongs to the session's right latest version.
    fn chat_beside(&self, session: &ObjectId) -> Result<Option<(ObjectId, Placed)>> {
        let Some(newest) = self.objects.get(session).and_then(|object| object.newest.as_ref())
        else {
            return Ok(None);
        };
        match newest.place {
            VersionSource::Archive(version) => {
                let entry = &self.arrivals.entries[version];
                let placed = entry.beside.map(|beside| self.in_archive(beside));
                Ok(entry.partner.clone().zip(placed))
            }
            VersionSource::Store(tx_id) => {
                let version = self.version_here(session, tx_id)?;
                let Some(chat) = version.as_ref().and_then(chat_of) else { return Ok(None) };
                let beside = self.version_here(&chat, tx_id)?;
                Ok(beside.map(|version| (chat, in_store(&version, false))))
            }
        }
    }
}

/// The put of a version, without its items. `text`: reads a content.
fn put_of(
    envelope: Envelope,
    line: VersionLine,
    mut text: impl FnMut(&Hash) -> Result<String>,
) -> Result<Put> {
    let mut text = |hash: Hash| Ok((hash.clone(), text(&hash)?));
    let additional = line.additional.into_iter();
    let additional = additional.map(|(name, hash)| Ok((name, text(hash)?)));
    let additional = additional.collect::<Result<_>>()?;
    Ok(Put {
        envelope,
        source_hash: line.source_hash,
        content_hash: line.content_hash,
        fields: line.fields,
        content: line.content.map(text).transpose()?,
        items: None,
        additional,
        origin: Some(line.origin),
        redacted: line.redacted,
        expected: Expected::Any,
    })
}
