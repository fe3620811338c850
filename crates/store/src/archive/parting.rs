//! Sessions that continued differently here and in the archive. The local one stays as it is; the
//! archive's is stored as a separate session, under its ID with a mark. Reads the store, writes
//! nothing.

use serde_json::Value;

use super::incoming::Entry;
use super::merge::Merge;
use super::standing::{Chunk, Placed, VersionSource, in_store};
use crate::{Put, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, Payload, RunningHash};

/// Separates an ID from the mark of a copy.
pub(super) const SEPARATOR: char = '~';

/// Digits of a mark.
const MARK_DIGITS: usize = 8;

/// The ID of the original, if a session is a copy or a call got a mark.
pub fn copied_from(id: &ObjectId) -> Option<&str> {
    let (original, mark) = id.as_str().rsplit_once(SEPARATOR)?;
    let is_mark = mark.len() == MARK_DIGITS && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_mark.then_some(original)
}

/// The ID that its provider gave a call: the call's own, unless the store has that for another.
pub fn provided_id(call: &Version) -> &str {
    let id = &call.envelope.id;
    let provided = call.fields.get("provider_call_id").and_then(Value::as_str);
    provided.or_else(|| copied_from(id)).unwrap_or(id.as_str())
}

impl Merge<'_> {
    /// Whether a version belongs to a session that continued differently here: neither its events
    /// nor those of the archive's latest version begin with all of the other's.
    pub(super) fn is_parted(&mut self, entry: &Entry) -> Result<bool> {
        let session = match entry.kind {
            Some(ObjectType::Session) => Some(&entry.id),
            Some(ObjectType::Chat) => entry.partner.as_ref(),
            _ => None,
        };
        let Some(session) = session else { return Ok(false) };
        if let Some(known) = self.parted.get(session) {
            return Ok(*known);
        }
        let is_parted = self.parts(session)?;
        self.parted.insert(session.clone(), is_parted);
        Ok(is_parted)
    }

    fn parts(&self, session: &ObjectId) -> Result<bool> {
        let Some(theirs) = self.arrivals.latest.get(session) else { return Ok(false) };
        let ours = if let Some(object) = self.objects.get(session) {
            object.last.clone()
        } else {
            let ours = self.store.get(session, AsOf::Latest)?;
            ours.map(|version| in_store(&version, false))
        };
        let Some(ours) = ours else { return Ok(false) };
        Ok(!self.continues(session, &ours, &self.in_archive(*theirs))?)
    }

    /// Whether one of two versions of an object continues the other, or one of them has no list.
    fn continues(&self, id: &ObjectId, one: &Placed, other: &Placed) -> Result<bool> {
        let (Some(first), Some(second)) = (one.items, other.items) else { return Ok(true) };
        let both = first.min(second);
        Ok(self.common_items(id, one, other, both)? == both)
    }

    /// The sessions that continued differently, in order.
    pub(super) fn parted_sessions(&mut self) -> Result<Vec<ObjectId>> {
        let mut parted = Vec::new();
        let latest = self.arrivals.latest.values().map(|version| &self.arrivals.entries[*version]);
        let is_session = |entry: &&Entry| entry.kind == Some(ObjectType::Session);
        for entry in latest.filter(is_session).cloned().collect::<Vec<_>>() {
            if self.is_parted(&entry)? {
                parted.push(entry.id);
            }
        }
        parted.sort();
        Ok(parted)
    }

    /// Plans a copy of an archive's session and its chat; also returns the copy's ID. Plans nothing
    /// if the copy exists.
    pub(super) fn plan_copy(&mut self, session: &ObjectId) -> Result<(ObjectId, Chunk)> {
        let version = self.arrivals.latest[session];
        let theirs = self.in_archive(version);
        let mark = self.mark(session, &theirs)?;
        let copy = marked(session, &mark);
        let mut chunk = Chunk::default();
        let last = self.objects[&copy].last.as_ref();
        if last.is_some_and(|last| last.items >= theirs.items) {
            return Ok((copy, chunk));
        }
        let entry = &self.arrivals.entries[version];
        let chat = entry.partner.clone().zip(entry.beside);
        let mut ops = Vec::new();
        for (id, placed) in chat
            .map(|(chat, beside)| (marked(&chat, &mark), self.in_archive(beside)))
            .into_iter()
            .chain([(copy.clone(), theirs)])
        {
            self.load(&id)?;
            if let Some(op) = self.put(&id, &placed, &mut chunk)? {
                chunk.written.push(id);
                ops.push(op);
            }
        }
        chunk.transactions.push(ops);
        Ok((copy, chunk))
    }

    /// The mark of a session's copy: that of the store it comes from, so that a later archive
    /// continues the copy. If it does not continue the copy, the version's own mark.
    fn mark(&mut self, session: &ObjectId, theirs: &Placed) -> Result<String> {
        let (_, _, store_id, tx_id, content_hash) = &theirs.rank;
        let of_store = mark_of(store_id);
        let copy = marked(session, &of_store);
        self.load(&copy)?;
        let continues = match &self.objects[&copy].last {
            Some(last) => self.continues(&copy, last, theirs)?,
            None => true,
        };
        if continues {
            return Ok(of_store);
        }
        let of_version = digits(&Hash::of(format!("{store_id} {} {content_hash}", tx_id.0)));
        self.load(&marked(session, &of_version))?;
        Ok(of_version)
    }

    /// Turns a put of the archive's version into a version of its copy.
    pub(super) fn store_as(&self, put: &mut Put, id: &ObjectId, placed: &Placed) -> Result<()> {
        let mark = id.as_str().rsplit_once(SEPARATOR).map(|(_, mark)| mark);
        let (Some(mark), VersionSource::Archive(version)) = (mark, placed.place) else {
            return Err(Error::internal(format!("`{id}` is not a copy")));
        };
        for name in ["chat_ref", "session_ref"] {
            if let Some(Value::String(partner)) = put.fields.get(name) {
                let id = marked(&ObjectId::new(partner.as_str()), mark);
                put.fields.insert(name.to_owned(), id.as_str().into());
            }
        }
        put.envelope = Envelope::unsourced(id.clone(), put.envelope.kind)?;
        let text = |(_, text): &(Hash, String)| text.clone();
        let payload = Payload {
            fields: put.fields.clone(),
            content: put.content.as_ref().map(text),
            additional: put.additional.iter().map(|(n, held)| (n.clone(), text(held))).collect(),
            ..Payload::default()
        };
        let items = match placed.items.map(|count| count.checked_sub(1)) {
            Some(Some(last)) => self.incoming.hash_at(version, last)?,
            Some(None) => Some(RunningHash::default().hash().clone()),
            None => None,
        };
        put.content_hash = payload.content_hash(items.as_ref())?;
        put.redacted = None;
        Ok(())
    }
}

/// The mark of what comes from a store.
pub(super) fn mark_of(store_id: &str) -> String {
    digits(&Hash::of(store_id))
}

pub(super) fn marked(id: &ObjectId, mark: &str) -> ObjectId {
    ObjectId::new(format!("{id}{SEPARATOR}{mark}"))
}

fn digits(hash: &Hash) -> String {
    hash.as_str().chars().take(MARK_DIGITS).collect()
}
