//! Sessions that nobody went on with for long, and what only they know. `gc` drops them when a person
//! says how long. Must not know how objects are dropped.
//!
//! A session stays if it, its chat or its system prompt has a nickname, or if one that stays refers
//! to it. What it met stays if it has a nickname, if a session that stays knows it, or if it is a
//! file that was indexed by name or changed since.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use super::forget::{PAGE, add_met, each_item, is_named, met, reference, session_of_chat};
use super::{IndexedFolder, SqliteBackend, Store, Version};
use base::error::Result;
use base::object::{ObjectId, ObjectType, Source, Timestamp, TxId};

/// What goes with the sessions that nobody went on with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Aged {
    /// Number of these sessions.
    pub sessions: u64,
    /// Sessions that are as old, but stay.
    pub kept: u64,
    /// Objects that go: the sessions' documents, their tool calls, files that only they know.
    pub objects: u64,
    /// UTF-8 bytes of what these hold, before compression.
    pub text_bytes: u64,
}

/// Sessions to drop, and what those that stay know.
struct Search<'a> {
    store: &'a Store,
    index: &'a SqliteBackend,
    before: Timestamp,
    /// Folders that a person indexed.
    folders: Vec<IndexedFolder>,
    /// Old sessions; later only those that stay.
    old: Vec<Version>,
    /// Documents of these sessions.
    documents: HashSet<ObjectId>,
    /// Hashes of the IDs that the events of other sessions name.
    known: HashSet<u64>,
    /// Events of these that were read.
    read: HashMap<ObjectId, u64>,
    /// The transaction up to which they were.
    until: TxId,
}

impl Store {
    /// Drops the sessions that were last written before a time, and what only they know; with
    /// `dry_run`, only counts.
    pub(super) fn drop_aged(
        &self,
        index: &SqliteBackend,
        before: Timestamp,
        dry_run: bool,
    ) -> Result<Aged> {
        let mut search = Search::new(self, index, before)?;
        let old = search.take_those_that_go()?;
        let mut aged = Aged { kept: search.old.len() as u64, ..Aged::default() };
        let mut counted = HashSet::new();
        let mut dropping = if dry_run { None } else { Some(index.dropping()?) };
        for session in &old {
            let is_needed = search.catch_up()? && search.is_session_needed(session)?;
            // Somebody may go on with it just now.
            if is_needed || (!dry_run && !index.retire(&session.envelope.id, session.tx_id)?) {
                aged.kept += 1;
                continue;
            }
            aged.sessions += 1;
            let ids = search.what_goes_with(session)?;
            for id in ids.iter().filter(|id| counted.insert(mark_of(id))) {
                aged.objects += 1;
                aged.text_bytes += text_bytes(self, id)?;
            }
            if let Some(dropping) = &mut dropping {
                dropping.objects(&ids)?;
            }
        }
        Ok(aged)
    }
}

impl<'a> Search<'a> {
    fn new(store: &'a Store, index: &'a SqliteBackend, before: Timestamp) -> Result<Self> {
        let (old, documents, known, read) = Default::default();
        let (until, _) = store.newest()?;
        let folders = index.folders()?;
        let mut search = Self { store, index, before, folders, old, documents, known, read, until };
        for page in store.pages(ObjectType::Session, PAGE) {
            for session in page? {
                if session.origin.time < before {
                    search.documents.extend(documents_of(&session));
                    search.old.push(session);
                } else {
                    search.stays(&session)?;
                }
            }
        }
        Ok(search)
    }

    /// Takes out the old sessions that go. One that others know stays, with all that it knows.
    fn take_those_that_go(&mut self) -> Result<Vec<Version>> {
        let mut going = std::mem::take(&mut self.old);
        loop {
            let mut stay = Vec::new();
            let mut go = Vec::new();
            for session in going {
                let is_needed = self.is_session_needed(&session)?;
                if is_needed { &mut stay } else { &mut go }.push(session);
            }
            if stay.is_empty() {
                return Ok(go);
            }
            for session in stay {
                for id in documents_of(&session) {
                    self.documents.remove(&id);
                }
                self.stays(&session)?;
                self.old.push(session);
            }
            going = go;
        }
    }

    /// Notes what a session that stays knows, as far as that was not read yet.
    fn stays(&mut self, session: &Version) -> Result<()> {
        let id = &session.envelope.id;
        let from = self.read.insert(id.clone(), session.item_count).unwrap_or(0);
        let mut met = BTreeSet::new();
        for placed in self.store.backend().placed_items(id, from..session.item_count)? {
            add_met(&placed.item.text, &mut met);
        }
        self.known.extend(met.iter().map(mark_of));
        Ok(())
    }

    /// Notes what sessions met meanwhile; returns whether it is anything new.
    fn catch_up(&mut self) -> Result<bool> {
        let (newest, _) = self.store.newest()?;
        let written = self.store.changes(self.until, usize::MAX)?;
        self.until = newest;
        let before = self.known.len();
        for session in written.iter().filter(|it| it.envelope.kind == ObjectType::Session) {
            self.stays(session)?;
        }
        Ok(self.known.len() > before)
    }

    fn is_session_needed(&self, session: &Version) -> Result<bool> {
        for id in documents_of(session) {
            if self.is_needed(&id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether somebody named an object, or a session that stays knows it.
    fn is_needed(&self, id: &ObjectId) -> Result<bool> {
        if self.known.contains(&mark_of(id)) || !self.store.nicknames(id)?.is_empty() {
            return Ok(true);
        }
        let calling = self.index.chats_calling(id.as_str())?;
        // Providers repeat IDs: what the chat's session met says whether it is this call.
        let says_otherwise = |naming: &ObjectId| {
            Ok(calling.contains(naming) && session_of_chat(self.store, naming)?.is_some())
        };
        let counts = |document: &ObjectId| !self.documents.contains(document);
        is_named(self.store, self.index, id, says_otherwise, counts)
    }

    /// What goes with an old session, its own document last: that says what else there is.
    fn what_goes_with(&self, session: &Version) -> Result<Vec<ObjectId>> {
        let mut ids = Vec::new();
        for id in met(self.store, &self.store.history(&session.envelope.id)?)? {
            let history = self.store.history(&id)?;
            let Some(latest) = history.first() else { continue };
            let is_content = latest.envelope.kind.is_content();
            if is_content && !self.was_indexed(&history) && !self.is_needed(&id)? {
                ids.push(id);
            }
        }
        ids.extend(documents_of(session).into_iter().rev());
        Ok(ids)
    }

    /// Whether a file is in a folder that a person indexed, or was written since.
    fn was_indexed(&self, history: &[Version]) -> bool {
        let Some(Source::Filesystem { filesystem_id, path }) =
            history.first().and_then(|latest| latest.envelope.source.as_ref())
        else {
            return false;
        };
        let is_since = history.iter().any(|version| version.origin.time >= self.before);
        is_since || self.folders.iter().any(|folder| folder.holds(filesystem_id, path))
    }
}

/// The session, its chat, its system prompt.
fn documents_of(session: &Version) -> Vec<ObjectId> {
    let fields = ["chat_ref", "system_prompt_ref"];
    let others = fields.iter().filter_map(|field| reference(session, field));
    std::iter::once(session.envelope.id.clone()).chain(others).collect()
}

/// UTF-8 bytes of an object's contents and items.
fn text_bytes(store: &Store, id: &ObjectId) -> Result<u64> {
    let history = store.history(id)?;
    let contents: BTreeSet<_> =
        history.iter().flat_map(|it| it.content.iter().chain(it.additional.values())).collect();
    let mut bytes = 0;
    for hash in contents {
        bytes += store.backend().content(hash)?.map_or(0, |text| text.len() as u64);
    }
    each_item(store, &history, |placed| {
        bytes += placed.item.text.len() as u64;
        Ok(())
    })?;
    Ok(bytes)
}

/// Eight bytes in the place of an ID: a store has millions.
fn mark_of(id: &ObjectId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Expected;
    use base::object::{Envelope, Payload};

    fn session(store: &Store, key: &str, object: &ObjectId) {
        let envelope = Envelope::unsourced(ObjectId::session(key), ObjectType::Session).unwrap();
        let events = vec![json!({ "event": "toolcall", "object": object }).to_string()];
        let mut transaction = store.begin();
        transaction.splice(envelope, Payload::default(), 0, events, Expected::Absent).unwrap();
        transaction.commit().unwrap();
    }

    #[test]
    fn what_a_session_meets_meanwhile_stays() {
        let store = Store::open(":memory:").unwrap();
        let call = ObjectId::new("call");
        let envelope = Envelope::unsourced(call.clone(), ObjectType::Toolcall).unwrap();
        let mut transaction = store.begin();
        transaction.put(envelope, Payload::default(), Expected::Any).unwrap();
        transaction.commit().unwrap();
        session(&store, "old", &call);
        let index = store.upkeep("test").unwrap();
        let later = Timestamp(store.now().0 + 1);
        let mut search = Search::new(&store, index, later).unwrap();
        let old = search.take_those_that_go().unwrap().remove(0);
        let goes = |search: &Search<'_>| search.what_goes_with(&old).unwrap().contains(&call);
        assert!(goes(&search));
        session(&store, "meanwhile", &call);
        assert!(goes(&search), "it is not looked for again at each object");
        search.catch_up().unwrap();
        assert!(!goes(&search));
    }
}
