//! Segments of the chat: objects that name a run of its messages and hold no text of their own.
//!
//! A segment's version identifies its messages by a hash over theirs. Their texts are the chat's
//! items, as the session had them when it recorded the version.

use std::ops::RangeInclusive;

use serde_json::json;

use super::words::stored_words;
use super::{Journal, chat_item, fields};
use base::error::{Error, Result};
use base::object::{Envelope, Handle, Hash, ObjectId, ObjectType, Payload};
use context::host::HostMessage;
use context::segment::Words;
use session::{Event, IndexEntry, Subject};

/// A segment as the session knows it.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) object: ObjectId,
    pub(crate) version: Hash,
    pub(crate) handle: Handle,
    pub(crate) turns: (u32, u32),
}

impl Segment {
    /// The segment of an entry of the session index; `None` if the entry is something else.
    pub(crate) fn of(entry: &IndexEntry) -> Option<Self> {
        let Subject::Segment { turns, version, .. } = &entry.subject else { return None };
        let (object, version) = (entry.id.clone(), version.clone());
        Some(Self { object, version, handle: entry.handle, turns: *turns })
    }
}

impl Journal {
    /// The segment of a run of the chat's messages, given the positions of the first and the last.
    /// It is staged if it is new or one of its texts changed.
    ///
    /// `compacted`: whether the host compacted these messages away.
    pub(crate) fn segment(
        &mut self,
        messages: RangeInclusive<u64>,
        compacted: bool,
    ) -> Result<Segment> {
        let (first, last) = messages.into_inner();
        let mut object = ObjectId::chat_segment(self.ids.own_key(), first, last);
        // A fork knows its parent's segments. Changes since then are its own.
        if let Some(known) = self.state.index().segment(first, last).and_then(Segment::of)
            && self.segment_payload(&known.object, first, last).content_hash(None)? == known.version
        {
            if !compacted {
                return Ok(known);
            }
            object = known.object;
        }
        let payload = self.segment_payload(&object, first, last);
        let version = payload.content_hash(None)?;
        let envelope = Envelope::unsourced(object.clone(), ObjectType::ChatSegment)?;
        self.stage_object(envelope, payload, version.clone());
        self.record(Event::Segment { object: object.clone(), version, first, last, compacted });
        let entry = self.state.index().get(&object).and_then(Segment::of);
        entry.ok_or_else(|| Error::internal(format!("`{object}` is not in the session index")))
    }

    fn segment_payload(&self, object: &ObjectId, first: u64, last: u64) -> Payload {
        let messages = (first..=last).filter_map(|at| self.state.chat().get(at));
        let digests: Vec<&str> = messages.map(|message| message.digest.as_str()).collect();
        let turn = |at: u64| self.state.chat().get(at).map_or(0, |message| message.turn);
        let fields = fields(&json!({
            "chat_ref": chat_of(object),
            "first_message": first,
            "last_message": last,
            "first_turn": turn(first),
            "last_turn": turn(last),
            "messages_hash": Hash::of(digests.join("\n")),
        }));
        Payload { fields, ..Payload::default() }
    }

    /// The words of a version of a segment; `None` if the object is no segment.
    pub(crate) fn words_of(&self, object: &ObjectId, version: &Hash) -> Result<Option<Words>> {
        let Some(entry) = self.state.index().of_version(object, version) else { return Ok(None) };
        let Subject::Segment { first, last, version: known, is_left, .. } = &entry.subject else {
            return Ok(None);
        };
        let is_as_now = || {
            let payload = self.segment_payload(object, *first, *last);
            payload.content_hash(None).map(|hash| hash == *version)
        };
        if known == version && !is_left && is_as_now()? {
            let messages = self.unfilled_messages(*first..=*last)?;
            return Ok(Some(Words::of(&self.state, *first, &messages)));
        }
        let stored = self.owned_version(object, version)?;
        stored_words(&self.store, &stored).map(|(words, _)| Some(words))
    }

    /// Messages of the chat, staged or stored, without the parts of tool results that are kept
    /// elsewhere.
    fn unfilled_messages(&self, messages: RangeInclusive<u64>) -> Result<Vec<HostMessage>> {
        let counter = self.options.counter;
        messages.map(|at| chat_item::read_unfilled(&self.item(at)?, counter)).collect()
    }
}

/// The chat that a segment's ID names.
fn chat_of(segment: &ObjectId) -> ObjectId {
    let key = segment.as_str().strip_prefix("chat_segment:").unwrap_or_default();
    ObjectId::chat(key.rsplit_once(':').map_or(key, |(key, _)| key))
}
