//! Renders a recorded call again from the store and checks its hash (DESIGN.md section 8).

use std::sync::Arc;

use super::{chat_item, stored_text};
use crate::context::log_layout::Texts;
use crate::context::pools_layout::active_block;
use crate::context::view::user_message;
use crate::error::{Error, Result};
use crate::object::{AsOf, Hash, ObjectId, RunningHash};
use crate::session::{CallRecord, Event, Session, SlotEdit, SlotRecord};
use crate::store::{Store, Version};

struct StoredTexts<'a>(&'a Store);

impl Texts for StoredTexts<'_> {
    fn text(&self, object: &ObjectId, version: &Hash) -> Result<Arc<str>> {
        stored_text(self.0, object, version)
    }
}

/// The messages of call `number` of a session as they went out, each as JSON.
///
/// # Errors
/// `NOT_FOUND` if the session has no such call; `HASH_MISMATCH` if what is stored no longer gives what was sent.
pub fn replay_call(store: &Store, session: &ObjectId, number: u64) -> Result<Vec<String>> {
    let missing = || Error::NotFound { id: session.clone(), at: format!("with call {number}") };
    let versions = store.history(session)?;
    let latest = versions.first().ok_or_else(missing)?;
    let events = read_events(store, session, AsOf::Latest)?;
    if let Some(parent) = inherited_from(&events, number) {
        return replay_call(store, parent, number);
    }
    let mut slots: Vec<SlotRecord> = Vec::new();
    let mut before = 0;
    let mut unknown = false;
    for (position, event) in (1..).zip(&events) {
        let chat = || chat_at(store, latest, &versions, position);
        match event {
            Event::Called(_) if unknown => {
                let before = &events[..usize::try_from(position).unwrap_or(usize::MAX)];
                let slots = window_slots(&Session::replay(before));
                return render(store, &slots, &chat()?, None);
            }
            Event::Called(record) => {
                apply_edits(&mut slots, &record.edits);
                if record.number == number {
                    return render(store, &slots, &chat()?, Some(record));
                }
                before = record.number;
            }
            Event::FailedOpen { calls } => {
                let mut slots = Vec::new();
                for (number_of, call) in (before + 1..).zip(calls) {
                    apply_edits(&mut slots, call.edits.as_deref().unwrap_or_default());
                    match call.edits {
                        Some(_) if number_of == number => {
                            return render(store, &slots, &chat()?, None);
                        }
                        None if number_of == number => unknown = true,
                        _ => {}
                    }
                }
                before += calls.len() as u64;
            }
            _ => {}
        }
    }
    Err(missing())
}

/// The session in which a call was made that this one inherited as a fork.
fn inherited_from(events: &[Event], number: u64) -> Option<&ObjectId> {
    let forked =
        |event: &Event| matches!(event, Event::Opened(opened) if opened.forked_from.is_some());
    let place = events.iter().rposition(forked)?;
    let calls = events[..place].iter().fold(0, |calls, event| match event {
        Event::Called(record) => record.number,
        Event::FailedOpen { calls: failed } => calls + failed.len() as u64,
        _ => calls,
    });
    match &events[place] {
        Event::Opened(opened) if number <= calls => opened.forked_from.as_ref(),
        _ => None,
    }
}

/// The events of a session, in order.
pub(super) fn read_events(store: &Store, session: &ObjectId, at: AsOf) -> Result<Vec<Event>> {
    let items = store.items(session, at, 0..u64::MAX)?;
    let read = |item: &String| {
        serde_json::from_str(item).map_err(|error| {
            Error::internal(format!("event of `{session}` cannot be read: {error}"))
        })
    };
    items.iter().map(read).collect()
}

/// The slots of the newest recorded call.
pub(super) fn recorded_slots(events: &[Event]) -> Vec<SlotRecord> {
    let mut slots = Vec::new();
    for event in events {
        if let Event::Called(record) = event {
            apply_edits(&mut slots, &record.edits);
        }
    }
    slots
}

/// The host's list as it is.
fn window_slots(state: &Session) -> Vec<SlotRecord> {
    let window = state.chat().window().iter();
    window.map(|at| SlotRecord::Chat { chat: *at, content: None }).collect()
}

/// Makes edits; a pool is given its lines in full.
fn apply_edits(slots: &mut Vec<SlotRecord>, edits: &[SlotEdit]) {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let known = match slots.first() {
        Some(SlotRecord::Pool { pool_add, .. }) => pool_add.clone(),
        _ => Vec::new(),
    };
    for edit in edits {
        let at = place(edit.at).min(slots.len());
        let end = at.saturating_add(place(edit.remove)).min(slots.len());
        let insert = edit.insert.iter().cloned().map(|slot| match slot {
            SlotRecord::Pool { pool_keep, pool_add, time } => {
                let kept = known.iter().take(place(pool_keep)).cloned();
                SlotRecord::Pool { pool_keep: 0, pool_add: kept.chain(pool_add).collect(), time }
            }
            other => other,
        });
        slots.splice(at..end, insert);
    }
}

/// The chat's items as they were when the session's event `position` was written.
fn chat_at(
    store: &Store,
    session: &Version,
    versions: &[Version],
    position: u64,
) -> Result<Vec<String>> {
    let written =
        versions.iter().rev().find(|version| version.item_count >= position).unwrap_or(session);
    let chat = session.fields.get("chat_ref").and_then(|id| id.as_str()).unwrap_or_default();
    let (chat, at) = (ObjectId::new(chat), AsOf::Tx(written.tx_id));
    if store.get(&chat, at)?.is_none() {
        return Ok(Vec::new());
    }
    store.items(&chat, at, 0..u64::MAX)
}

fn render(
    store: &Store,
    slots: &[SlotRecord],
    chat: &[String],
    record: Option<&CallRecord>,
) -> Result<Vec<String>> {
    let texts = StoredTexts(store);
    let mut messages = Vec::with_capacity(slots.len());
    let mut running = RunningHash::default();
    for slot in slots {
        let message = render_slot(slot, chat, &texts)?;
        running.push(Hash::of(&message).as_str());
        messages.push(message);
    }
    if let Some(record) = record.filter(|record| record.hash != *running.hash()) {
        return Err(Error::HashMismatch {
            what: format!("call {}", record.number),
            found: running.hash().to_string(),
            recorded: record.hash.to_string(),
        });
    }
    Ok(messages)
}

fn render_slot(slot: &SlotRecord, chat: &[String], texts: &dyn Texts) -> Result<String> {
    match slot {
        SlotRecord::Chat { chat: at, content } => {
            let item = usize::try_from(*at).ok().and_then(|at| chat.get(at));
            let item =
                item.ok_or_else(|| Error::internal(format!("the chat has no message {at}")))?;
            let message = chat_item::read(item, texts)?;
            Ok(content
                .as_ref()
                .map_or_else(|| message.raw.clone(), |content| message.with_content(content)))
        }
        SlotRecord::Pool { pool_add, time, .. } => Ok(user_message(&pool_add.join("\n"), *time)),
        SlotRecord::Active { active, version, ranges, time } => {
            let text = texts.text(active, version)?;
            Ok(user_message(&active_block(active, &text, ranges), *time))
        }
        SlotRecord::Message { message } => Ok(message.clone()),
    }
}
