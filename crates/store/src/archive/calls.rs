//! Tool calls whose ID the store has for another call, since providers repeat their IDs. Such a call
//! is stored under its ID with the mark of its chat, and the items that name it name it so. Whichever
//! way a call comes, it is found under the name that it has here. Reads the store, writes nothing.

use serde_json::{Deserializer, Map, Value};

use super::format::Key;
use super::incoming::Entry;
use super::merge::Merge;
use super::parting::{SEPARATOR, copied_from, mark_of, marked};
use crate::Item;
use base::error::Result;
use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType};

/// The members by which items name objects, as they are written.
const NAMING: [&str; 3] = ["\"object\":", "\"active\":", "\"objects\":"];

/// Where a chat's item names an object, behind the host's own message.
const BEHIND_MESSAGE: &str = ",\"content\":{\"object\":\"";

/// Length of an ID that is a hash, as a file's is.
const HASH_DIGITS: usize = 64;

/// Marks of an ID that are looked at: machines give one or two.
const MAX_MARKS: usize = 8;

/// The fields that say which call a toolcall is.
const OF_A_CALL: [&str; 4] = [CHAT, "position", "tool", "args"];

const CHAT: &str = "chat_ref";

impl Merge<'_> {
    /// Gives a version the ID under which the store keeps its call.
    pub(super) fn tell_apart(&mut self, at: usize) -> Result<()> {
        let entry = &self.arrivals.entries[at];
        if entry.kind != Some(ObjectType::Toolcall) {
            return Ok(());
        }
        let entry = entry.clone();
        self.load(&entry.id)?;
        if self.objects[&entry.id].known.contains(&entry.key) {
            return Ok(());
        }
        let id = self.call_here(&entry.id)?;
        if id == entry.id {
            return Ok(());
        }
        let Envelope { identity_hash, .. } = Envelope::unsourced(id.clone(), ObjectType::Toolcall)?;
        self.load(&id)?;
        let key = Key::of(&id, &entry.content_hash, &entry.origin);
        self.arrivals.entries[at] = Entry { id, identity_hash, key, ..entry };
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
                let mut values = Deserializer::from_str(part).into_iter::<Value>();
                let value = values.next().and_then(std::result::Result::ok).unwrap_or_default();
                let here = self.named_here(&value)?;
                let end = if here == value { 0 } else { values.byte_offset() };
                changed += member;
                if end > 0 {
                    changed += &here.to_string();
                }
                changed += &part[end..];
            }
            named = changed;
        }
        if named != item.text {
            item.redacted = Some(Hash::of(&named));
            item.text = named;
        }
        Ok(())
    }

    /// One name or several, as they are here.
    fn named_here(&mut self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::String(id) => self.call_here(&ObjectId::new(id.as_str()))?.as_str().into(),
            Value::Array(all) => {
                let all = all.iter().map(|value| self.named_here(value));
                Value::Array(all.collect::<Result<_>>()?)
            }
            other => other.clone(),
        })
    }

    /// The ID that a call has here: that under which the store has it, else its own, else one with
    /// the mark of its chat.
    fn call_here(&mut self, id: &ObjectId) -> Result<ObjectId> {
        if let Some(here) = self.calls.get(id) {
            return Ok(here.clone());
        }
        let marks = id.as_str().matches(SEPARATOR).count();
        if marks > MAX_MARKS || id.as_str().len() == HASH_DIGITS {
            return Ok(id.clone());
        }
        self.load(id)?;
        let is_new = self.objects[id].identity_hash.is_none();
        let latest = self.arrivals.latest.get(id).copied();
        let kind = latest.map(|at| self.arrivals.entries[at].kind);
        let may_be_call = kind.is_none_or(|kind| kind == Some(ObjectType::Toolcall));
        let call = if may_be_call && (!is_new || copied_from(id).is_some()) {
            self.incoming.call(id, latest)?
        } else {
            None
        };
        let here = match call {
            Some((fields, is_redacted)) => self.place_of_call(id, &fields, is_redacted)?,
            None => id.clone(),
        };
        self.calls.insert(id.clone(), here.clone());
        Ok(here)
    }

    fn place_of_call(
        &mut self,
        id: &ObjectId,
        fields: &Map<String, Value>,
        is_redacted: bool,
    ) -> Result<ObjectId> {
        let mark = mark_of(fields.get(CHAT).and_then(Value::as_str).unwrap_or_default());
        let own = id.as_str().trim_end_matches(marked(&ObjectId::new(""), &mark).as_str());
        // Two calls of a chat have one ID where its session went on in several ways.
        let mut name = ObjectId::new(own);
        loop {
            self.load(&name)?;
            if self.objects[&name].identity_hash.is_some() {
                if self.is_call(&name, fields, is_redacted)?.unwrap_or(false) {
                    return Ok(name);
                }
            } else if name == *id || !self.is_coming(&name)? {
                // So that no other takes it before this one is written.
                let Envelope { identity_hash, .. } =
                    Envelope::unsourced(name.clone(), ObjectType::Toolcall)?;
                if let Some(standing) = self.objects.get_mut(&name) {
                    standing.identity_hash = Some(identity_hash);
                }
                return Ok(name);
            }
            name = marked(&name, &mark);
        }
    }

    /// Whether something comes that is kept under a free name.
    fn is_coming(&mut self, name: &ObjectId) -> Result<bool> {
        let is_arriving = self.arrivals.latest.contains_key(name);
        Ok((is_arriving && self.call_here(name)? == *name)
            || self.objects[name].identity_hash.is_some())
    }

    /// Whether the call that the store has under an ID is the one with these fields; `None` if it
    /// has nothing there.
    pub(super) fn is_call(
        &self,
        id: &ObjectId,
        there: &Map<String, Value>,
        is_redacted: bool,
    ) -> Result<Option<bool>> {
        let Some(here) = self.store.get(id, AsOf::Latest)? else { return Ok(None) };
        // What was replaced in a call's arguments does not make it another.
        let is_whole = here.redacted.is_none() && !is_redacted;
        let compared = if is_whole { &OF_A_CALL[..] } else { &OF_A_CALL[..2] };
        let differs = |name: &&str| {
            let fields = here.fields.get(*name).zip(there.get(*name));
            fields.is_some_and(|(here, there)| here != there)
        };
        Ok(Some(here.envelope.kind == ObjectType::Toolcall && !compared.iter().any(differs)))
    }
}
