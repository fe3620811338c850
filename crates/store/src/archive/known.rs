//! What a merge knows of the store: what it reads before it plans, for many objects at once where that is
//! quicker, because each request to a shared store goes over the network. Must not decide what is
//! written.

use super::ChangedLatest;
use super::format::Key;
use super::incoming::Entry;
use super::merge::Merge;
use super::standing::{Placed, Standing, in_store, session_of};
use crate::Version;
use base::error::Result;
use base::object::{AsOf, ObjectId, ObjectType, Origin, Source, TxId};

/// Versions that the store is asked about in one request.
const ASKED_AT_ONCE: usize = 512;

impl Merge<'_> {
    /// Asks the store about the next transactions at once. Objects are read first: anything that
    /// others add between the two requests is then known to be present.
    pub(super) fn ask_about(&mut self, first: usize) -> Result<()> {
        let mut versions = Vec::new();
        self.asked = first;
        while let Some(members) = self.arrivals.transactions.get(self.asked)
            && versions.len() < ASKED_AT_ONCE
        {
            versions.extend(members.iter().filter(|one| one.is_new).map(|one| one.version));
            self.asked += 1;
        }
        let entries = &self.arrivals.entries;
        self.load_all(versions.iter().map(|at| entries[*at].id.clone()).collect())?;
        versions.iter().try_for_each(|at| self.tell_apart(*at))?;
        let entries = &self.arrivals.entries;
        let asked: Vec<_> =
            versions.iter().map(|at| (&entries[*at].id, &entries[*at].origin)).collect();
        let lacks = self.store.backend().lacks(&asked)?;
        let lacking = versions.into_iter().zip(lacks).filter(|(_, lacks)| *lacks);
        self.lacking.extend(lacking.map(|(version, _)| version));
        Ok(())
    }

    /// Reads the states of several objects at once, where that is quicker.
    pub(super) fn load_all(&mut self, mut ids: Vec<ObjectId>) -> Result<()> {
        ids.sort();
        ids.dedup();
        ids.retain(|id| !self.objects.contains_key(id));
        if ids.is_empty() {
            return Ok(());
        }
        let Some(mut histories) = self.store.backend().histories(&ids)? else { return Ok(()) };
        for id in ids {
            let history = histories.remove(&id).unwrap_or_default();
            self.loaded(&id, &history);
            if let Some(standing) = self.objects.get_mut(&id) {
                standing.history = history;
            }
        }
        Ok(())
    }

    /// Drops cached state that others may have changed; this object is known to have changed.
    pub(super) fn refresh(&mut self, changed: &ObjectId) -> Result<()> {
        if !self.is_settling {
            self.begin_anew();
            return Ok(());
        }
        self.objects.remove(changed);
        self.keep_settled()
    }

    /// Drops cached state of the store, except for objects without a list to which nobody else added
    /// a version. Somebody may have, before ours: then the latest one does not show it.
    pub(super) fn keep_settled(&mut self) -> Result<()> {
        let entries = self.arrivals.entries.iter();
        let plain = entries.filter(|entry| entry.items.is_none());
        let mut ids: Vec<ObjectId> = plain.map(|entry| entry.id.clone()).collect();
        ids.sort();
        ids.dedup();
        ids.retain(|id| self.objects.contains_key(id));
        let latest = self.store.backend().latest(&ids)?;
        let mut objects = std::mem::take(&mut self.objects);
        self.begin_anew();
        for (id, (content_hash, origin, versions)) in latest {
            let key = Key::of(&id, &content_hash, &origin);
            let known = objects.remove(&id);
            let is_same = |object: &Standing| {
                object.last.as_ref().is_some_and(|last| last.key == key)
                    && object.known.len() == versions
            };
            if let Some(mut object) = known.filter(is_same) {
                object.is_put = false;
                self.objects.insert(id, object);
            }
        }
        Ok(())
    }

    /// The version with this content and origin that the store is known to have.
    pub(super) fn known_here(&self, entry: &Entry) -> Option<&Version> {
        self.history_of(&entry.id).iter().find(|version| {
            version.content_hash == entry.content_hash
                && version.origin.store_id == entry.origin.store_id
                && version.origin.tx_id == entry.origin.tx_id
        })
    }

    /// The versions that an object had before the import, newest first; none if they were not read
    /// at once.
    pub(super) fn history_of(&self, id: &ObjectId) -> &[Version] {
        self.objects.get(id).map_or(&[], |object| &object.history)
    }

    /// An object's version as of a transaction.
    pub(super) fn version_here(&self, id: &ObjectId, tx_id: TxId) -> Result<Option<Version>> {
        let history = self.history_of(id);
        if history.first().is_some_and(|latest| tx_id <= latest.tx_id) {
            return Ok(history.iter().find(|version| version.tx_id <= tx_id).cloned());
        }
        self.store.get(id, AsOf::Tx(tx_id))
    }

    /// Reads an object's state from the store, unless it is known.
    pub(super) fn load(&mut self, id: &ObjectId) -> Result<()> {
        if self.objects.contains_key(id) {
            return Ok(());
        }
        let history = self.store.history(id)?;
        self.loaded(id, &history);
        Ok(())
    }

    fn loaded(&mut self, id: &ObjectId, history: &[Version]) {
        let mut standing = Standing::default();
        if let Some(latest) = history.first() {
            standing.identity_hash = Some(latest.envelope.identity_hash.clone());
            standing.latest = Some(latest.tx_id);
            let keeps = self.keeps_files && latest.envelope.kind == ObjectType::File;
            let placed = |version: &Version| {
                in_store(version, keeps && version.origin.store_id == self.store.id())
            };
            let all: Vec<Placed> = history.iter().map(placed).collect();
            standing.known = all.iter().map(|one| one.key).collect();
            standing.last = all.first().cloned();
            standing.newest = all.into_iter().max_by(|a, b| a.rank.cmp(&b.rank));
            self.before.entry(id.clone()).or_insert_with(|| latest.origin.clone());
            standing.session = session_of(latest);
        }
        self.objects.insert(id.clone(), standing);
    }

    /// The objects that the store had before and whose latest version changed, by ID.
    pub(super) fn changed(&self) -> Result<Vec<ChangedLatest>> {
        let mut changed: Vec<(&ObjectId, &Origin, Origin)> = Vec::new();
        for (id, before) in &self.before {
            let last = self.objects.get(id).and_then(|object| object.last.as_ref());
            if let Some(after) = last.map(origin).filter(|after| after != before) {
                changed.push((id, before, after));
            }
        }
        changed.sort_by_key(|(id, ..)| *id);
        changed.into_iter().map(|(id, before, after)| self.described(id, before, after)).collect()
    }

    fn described(&self, id: &ObjectId, before: &Origin, after: Origin) -> Result<ChangedLatest> {
        let envelope = match self.history_of(id).first() {
            Some(version) => version.envelope.clone(),
            None => self.store.require(id, AsOf::Latest)?.envelope,
        };
        let path = envelope.source.as_ref().and_then(Source::path).map(str::to_owned);
        Ok(ChangedLatest {
            id: id.clone(),
            kind: envelope.kind,
            path,
            before: before.time,
            after: after.time,
            store_id: after.store_id,
        })
    }
}

fn origin(placed: &Placed) -> Origin {
    let (_, time, store_id, tx_id, _) = placed.rank.clone();
    Origin { store_id, tx_id, time }
}
