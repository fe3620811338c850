//! Renders a recorded call again from the store and checks its hash.
//!
//! Some of the sent text may not be in the store: it was never put there, was forgotten, or was
//! redacted. Each such message is a [`CallPlace`] of the call: it shows something else, and the
//! hash is checked over what is known of the message that went out.

use super::find::{Finder, FoundCall};
use super::gaps::StoredTexts;
use super::messages::{ChatMessage, ChatMessages};
use super::slots::Recorded;
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, RunningHash};
use context::log_layout::Texts;
use context::pools_layout::active_block;
use context::view::user_message;
use session::{CallRecord, Session, SlotRecord, Withheld, WithheldReason};
use store::Store;

/// A recorded call, rendered again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The messages in order, each as JSON. Except at the places in `withheld`, they are what went
    /// out, byte for byte.
    pub messages: Vec<String>,
    /// The parts of the call that the store does not hold, in the order of the messages.
    pub withheld: Vec<CallPlace>,
    /// Whether the hash was checked. A call that failed open has none, and the hash of a withheld
    /// message may be unknown.
    pub verified: bool,
}

/// A message of a recorded call whose sent text the store does not hold. A placeholder is shown
/// instead, or the message with the replacement of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPlace {
    /// Index of the message in the call.
    pub message: usize,
    /// Why.
    pub reason: WithheldReason,
    /// The object that held the text; `None` if the text stood in the chat or in the call record
    /// itself.
    pub object: Option<ObjectId>,
    /// SHA-256 of the message's JSON as it went out, if known.
    pub digest: Option<Hash>,
}

/// The messages of call `number` of a session as they went out.
///
/// The hash of the call is checked over the rendered messages and, at withheld places, over the
/// SHA-256 of what went out. It is not checked if that is unknown for a place.
///
/// # Errors
/// `NOT_FOUND` if the session has no such call; `FORGOTTEN` if the session that made it is forgotten;
/// `HASH_MISMATCH` if what is stored no longer gives what was sent.
pub fn replay_call(store: &Store, session: &ObjectId, number: u64) -> Result<Replayed> {
    let found = Finder::new(store, session).find(number)?;
    render(store, &found, &mut ChatMessages::default())
}

/// The messages of a call as they went out, checked. `chat`: messages of its session already known
/// from other calls.
pub(super) fn render(
    store: &Store,
    found: &FoundCall,
    chat: &mut ChatMessages,
) -> Result<Replayed> {
    let positions = found.slots().filter_map(|slot| match slot {
        SlotRecord::Chat { chat, .. } => Some(*chat),
        _ => None,
    });
    chat.turn_to(found.until, &found.recording.events);
    chat.read(store, &found.recording.session, positions)?;
    Call { store, chat, state: &found.state }.render(&found.slots, found.record.as_ref())
}

/// A call with the data from which it is rendered.
struct Call<'a> {
    store: &'a Store,
    /// The messages of the chat that the call contains.
    chat: &'a ChatMessages,
    /// The session as it stood at the call.
    state: &'a Session,
}

/// A message of a call, and which part of it is withheld.
struct Rendered {
    message: String,
    withheld: Option<(WithheldReason, Option<ObjectId>)>,
    /// SHA-256 of what went out.
    digest: Option<Hash>,
}

impl Rendered {
    fn whole(message: String) -> Self {
        Self { digest: Some(Hash::of(&message)), message, withheld: None }
    }

    /// A message that the store holds, from a record that may have been redacted.
    fn redacted_if(is_redacted: bool, message: String) -> Self {
        if is_redacted {
            Self::withheld(message, WithheldReason::Redacted, None)
        } else {
            Self::whole(message)
        }
    }

    fn withheld(message: String, reason: WithheldReason, digest: Option<Hash>) -> Self {
        Self { message, withheld: Some((reason, None)), digest }
    }
}

impl Call<'_> {
    fn render(&self, slots: &[Recorded], record: Option<&CallRecord>) -> Result<Replayed> {
        let mut replayed = Replayed { messages: vec![], withheld: vec![], verified: false };
        let (mut running, mut shown) = (RunningHash::default(), RunningHash::default());
        let mut is_known = true;
        for (index, recorded) in slots.iter().enumerate() {
            let Rendered { message, withheld, digest } = self.render_slot(recorded)?;
            running.push(digest.clone().unwrap_or_else(|| Hash::of(&message)).as_str());
            shown.push(Hash::of(&message).as_str());
            is_known &= digest.is_some();
            if let Some((reason, object)) = withheld {
                replayed.withheld.push(CallPlace { message: index, reason, object, digest });
            }
            replayed.messages.push(message);
        }
        let is_wrong = |record: &&CallRecord| is_known && record.hash != *running.hash();
        if let Some(record) = record.filter(is_wrong) {
            return Err(Error::HashMismatch {
                what: format!("call {}", record.number),
                found: running.hash().to_string(),
                recorded: record.hash.to_string(),
            });
        }
        // Items may have changed in the names of calls alone, which no message shows.
        if record.is_some_and(|record| record.hash == *shown.hash()) {
            replayed.withheld.clear();
            is_known = true;
        }
        replayed.verified = is_known && record.is_some();
        Ok(replayed)
    }

    fn render_slot(&self, recorded: &Recorded) -> Result<Rendered> {
        match &recorded.slot {
            SlotRecord::Chat { chat, content: None, folded: None } => self.render_message(*chat),
            SlotRecord::Chat { chat, content, folded } => {
                let known = self.chat.get(*chat)?;
                let redacted = Some((WithheldReason::Redacted, None));
                // Missing content does not count where the record holds another.
                let withheld = withheld_of(known, content.is_none())
                    .or_else(|| redacted.filter(|_| recorded.is_redacted));
                let (message, content) = (&known.message, content.as_deref());
                let message = match folded {
                    Some(lines) => message.with_content(&message.content_and_block(content, lines)),
                    None => message.with_content(content.unwrap_or_default()),
                };
                let digest = withheld.is_none().then(|| Hash::of(&message));
                Ok(Rendered { message, withheld, digest })
            }
            SlotRecord::Pool { pool_add, time, .. } => {
                let message = user_message(&pool_add.join("\n"), *time);
                Ok(Rendered::redacted_if(recorded.is_redacted, message))
            }
            SlotRecord::Active { active, version, ranges, time } => {
                let texts = StoredTexts::new(self.store);
                let text = texts.text(active, version)?;
                let Some(gap) = texts.gap.take() else {
                    return Ok(Rendered::whole(user_message(
                        &active_block(active, &text, ranges),
                        *time,
                    )));
                };
                let text = if gap.is_empty {
                    active_block(active, &gap.line(), &[])
                } else {
                    active_block(active, &text, ranges)
                };
                let withheld = Some((gap.reason, Some(gap.object)));
                Ok(Rendered { message: user_message(&text, *time), withheld, digest: None })
            }
            SlotRecord::Message { message, withheld: Some(Withheld { reason, digest, .. }) } => {
                Ok(Rendered::withheld(message.clone(), *reason, Some(digest.clone())))
            }
            SlotRecord::Message { message, withheld: None } => {
                Ok(Rendered::redacted_if(recorded.is_redacted, message.clone()))
            }
        }
    }

    /// A message of the chat as the host gave it.
    fn render_message(&self, at: u64) -> Result<Rendered> {
        let known = self.chat.get(at)?;
        let (raw, withheld) = (known.message.raw.clone(), withheld_of(known, true));
        let digest = match &known.message.withheld {
            _ if withheld.is_none() => return Ok(Rendered::whole(raw)),
            Some(withheld) => Some(withheld.digest.clone()),
            None => self.state.chat().get(at).map(|known| known.digest.clone()),
        };
        if digest == Some(Hash::of(&raw)) {
            return Ok(Rendered::whole(raw));
        }
        Ok(Rendered { message: raw, withheld, digest })
    }
}

/// Why a message of the chat is not as it came, and the object whose text is missing, if its
/// content counts.
fn withheld_of(
    known: &ChatMessage,
    with_content: bool,
) -> Option<(WithheldReason, Option<ObjectId>)> {
    let gap = known.gap.as_ref().filter(|_| with_content);
    match (&known.message.withheld, gap) {
        (Some(withheld), _) => Some((withheld.reason, None)),
        (None, Some(gap)) => Some((gap.reason, Some(gap.object.clone()))),
        (None, None) => known.is_redacted.then_some((WithheldReason::Redacted, None)),
    }
}
