//! The words of a segment from the store: those of the chat as the session had it when it recorded
//! the segment's version.

use std::ops::Range;

use super::chat_item;
use super::recording::Recording;
use base::error::{Error, Result};
use base::object::item::partner;
use base::object::{AsOf, ObjectId, ObjectType};
use context::segment::Words;
use context::tokens::Counter;
use session::{Event, MessageKind, Session};
use store::{Item, Store, Version};

/// Whether a version is a segment whose words are the chat's. Other programs may put segments with
/// texts of their own.
pub(crate) fn refers_to_chat(version: &Version) -> bool {
    let is_segment = version.envelope.kind == ObjectType::ChatSegment;
    is_segment && version.content.is_none() && version.fields.contains_key("chat_ref")
}

/// The words of a version of a segment, and whether something was removed from its messages.
pub(crate) fn stored_words(store: &Store, version: &Version) -> Result<(Words, bool)> {
    let id = &version.envelope.id;
    let missing = || Error::NotFound { id: id.clone(), at: "with its session".to_owned() };
    let chat = version.fields.get("chat_ref").and_then(|id| id.as_str()).ok_or_else(missing)?;
    let chat = store.get(&ObjectId::new(chat), AsOf::Latest)?.ok_or_else(missing)?;
    let session = partner(ObjectType::Chat, &chat.fields).ok_or_else(missing)?;
    let recording = Recording::of(store, &session, &"as a session")?;
    let events = &recording.events;
    let is_it = |event: &Event| match event {
        Event::Segment { object, version: of, .. } => object == id && *of == version.content_hash,
        _ => false,
    };
    let place = events.iter().position(is_it).ok_or_else(missing)?;
    let Event::Segment { first, last, .. } = events[place] else { return Err(missing()) };
    let state = Session::replay(&events[..=place]);
    let items = chat_at(store, &recording.session, place as u64 + 1, first..last + 1)?;
    let messages =
        items.iter().map(|item| chat_item::read_unfilled(&item.text, Counter::default()));
    // A result has no words of its own here.
    let has_words =
        |at| !matches!(state.chat().get(at).map(|it| &it.kind), Some(MessageKind::Result(_)));
    let is_redacted =
        (first..).zip(&items).any(|(at, item)| item.redacted.is_some() && has_words(at));
    Ok((Words::of(&state, first, &messages.collect::<Result<Vec<_>>>()?), is_redacted))
}

/// The chat's items as they were when the session's event `position` (from 1) was written: as of
/// the first transaction in which the session contained it. If two machines have versions of a
/// session, this finds the chat that each had.
pub(crate) fn chat_at(
    store: &Store,
    session: &Version,
    position: u64,
    items: Range<u64>,
) -> Result<Vec<Item>> {
    let written = store.item_since(&session.envelope.id, position.saturating_sub(1))?;
    let chat = session.fields.get("chat_ref").and_then(|id| id.as_str()).unwrap_or_default();
    let (chat, at) = (ObjectId::new(chat), AsOf::Tx(written.unwrap_or(session.tx_id)));
    if store.get(&chat, at)?.is_none() {
        return Ok(Vec::new());
    }
    store.list_items(&chat, at, items)
}
