//! Tool calls whose ID the store has for another call, since providers repeat their IDs. Such a call
//! is stored under its ID with the mark of the store it comes from, and the items that name it there
//! name it so. Reads the store, writes nothing.

use super::format::Key;
use super::incoming::Entry;
use super::merge::Merge;
use super::parting::{mark_of, marked};
use crate::Item;
use base::error::Result;
use base::object::{Envelope, Hash, ObjectId, ObjectType};

/// The members by which items name an object, as they are written.
const NAMING: [&str; 2] = ["\"object\":\"", "\"active\":\""];

/// Where a chat's item names an object, behind the host's own message.
const BEHIND_MESSAGE: &str = ",\"content\":{\"object\":\"";

/// Length of an ID that is a hash, as a file's is.
const HASH_DIGITS: usize = 64;

impl Merge<'_> {
    /// Gives a version another ID if the store has another call under its own.
    pub(super) fn tell_apart(&mut self, at: usize) -> Result<()> {
        let entry = &self.incoming.arrivals().entries[at];
        if entry.kind != Some(ObjectType::Toolcall) {
            return Ok(());
        }
        let entry = entry.clone();
        self.load(&entry.id)?;
        // All versions of a call go the way of the first, whichever stores they were written in.
        let told = self.calls.get(&entry.id).cloned().flatten();
        if self.objects[&entry.id].known.contains(&entry.key)
            || told.is_none() && !self.is_other(at, &entry)?
        {
            return Ok(());
        }
        let id = told.unwrap_or_else(|| marked(&entry.id, &mark_of(&entry.origin.store_id)));
        let Envelope { identity_hash, .. } = Envelope::unsourced(id.clone(), ObjectType::Toolcall)?;
        self.load(&id)?;
        self.calls.insert(entry.id.clone(), Some(id.clone()));
        let key = Key::of(&id, &entry.content_hash, &entry.origin);
        self.incoming.arrivals_mut().entries[at] = Entry { id, identity_hash, key, ..entry };
        Ok(())
    }

    /// Names the calls in an item of a document as they are named here.
    pub(super) fn name_calls(&mut self, document: &Entry, item: &mut Item) -> Result<()> {
        let is_chat = document.kind == Some(ObjectType::Chat);
        let start = if is_chat { item.text.rfind(BEHIND_MESSAGE) } else { Some(0) };
        let Some(start) = start else { return Ok(()) };
        let mut named = item.text.clone();
        for member in NAMING {
            let (before, text) = named.split_at(start);
            let mut parts = text.split(member);
            let mut changed = before.to_owned() + parts.next().unwrap_or_default();
            for part in parts {
                let id = &part[..part.find('"').unwrap_or(part.len())];
                let here = self.call_here(id, &document.origin.store_id)?;
                changed += member;
                changed += here.as_ref().map_or(id, ObjectId::as_str);
                changed += &part[id.len()..];
            }
            named = changed;
        }
        if named != item.text {
            item.redacted = Some(Hash::of(&named));
            item.text = named;
        }
        Ok(())
    }

    /// The ID that a call from this store has here, if it is another: those that came together were
    /// told apart, others may have been when they came.
    fn call_here(&mut self, id: &str, store_id: &str) -> Result<Option<ObjectId>> {
        let id = ObjectId::new(id);
        if !self.calls.contains_key(&id) {
            let mut here = None;
            if !self.incoming.arrivals().latest.contains_key(&id)
                && id.as_str().len() != HASH_DIGITS
            {
                let other = marked(&id, &mark_of(store_id));
                self.load(&other)?;
                here = self.objects[&other].last.is_some().then_some(other);
            }
            self.calls.insert(id.clone(), here);
        }
        Ok(self.calls[&id].clone())
    }
}
