//! The journal of a session: its state, the changes that wait to be stored, and storing them in one
//! transaction that is durable when it returns.
//!
//! The only part of this crate that writes the store. Staged changes count already: reads of the
//! latest version of an object see them. After a failed commit the state is in doubt and must be
//! read again with [`Journal::reload`], so a failed call never leaves half of itself. Must not look
//! at files, nor decide what the model sees.

mod ahead;
pub(super) mod chat_item;
mod documents;
mod events;
mod family;
mod looks;
mod pool_lines;
mod recording;
mod segments;
mod staged;
mod texts;
mod versions;
mod words;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::ahead::ReadAhead;
pub(super) use self::chat_item::ContentFrom;
use self::documents::Ids;
pub(super) use self::documents::session_key;
pub(super) use self::events::read_events;
pub(super) use self::family::{LastWritten, stem, written, written_at_most};
use self::looks::{Looks, written_at};
use self::pool_lines::PoolLines;
pub(super) use self::recording::Recording;
pub(super) use self::segments::Segment;
use self::staged::{StagedObject, StagedObjects};
use self::texts::TextCache;
pub(super) use self::versions::{
    FULL_OUTPUT, if_found, image_name, is_forgotten, no_text, stored_version,
};
pub(super) use self::words::{chat_at, refers_to_chat, stored_words};
use super::OpenSession;
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, Hash, Nickname, ObjectId, ObjectType, Payload, TxId};
use context::host::HostMessage;
use session::{Event, Session};
use store::{Expected, Store};

/// The journal of a session; see the module.
#[derive(Debug)]
pub(super) struct Journal {
    /// The store, for reading.
    pub(super) store: Store,
    options: Arc<OpenSession>,
    ids: Ids,
    state: Session,
    /// Number of recorded events that changed how messages of the window are shown.
    pub(super) rewrites: u64,
    staged: Staged,
    stored: Stored,
    ahead: ReadAhead,
    texts: TextCache,
    /// Why versions have no content. The files of a type share theirs, so the store is seldom asked;
    /// only for a piece of work, since one may be forgotten meanwhile.
    reasons: RefCell<HashMap<Hash, String>>,
    pool_lines: PoolLines,
    looks: Looks,
    /// Objects that the store reported as forgotten by a person.
    forgotten: HashSet<ObjectId>,
    /// Whether the state may contain changes that are not stored: it is read again before the next
    /// work.
    pub(super) is_in_doubt: bool,
    /// How many sessions had split off from this one; `None` before that was looked up.
    split_offs: Option<usize>,
}

/// What waits for the next commit.
#[derive(Debug, Default)]
struct Staged {
    events: Vec<Event>,
    objects: StagedObjects,
    /// Nicknames that move to another object.
    nicknames: Vec<(Nickname, ObjectId)>,
    chat: Option<ChatChange>,
}

/// A change of the chat's items: the first `keep` stay, `add` follow.
#[derive(Debug)]
struct ChatChange {
    keep: u64,
    add: Vec<String>,
}

/// The stored state of the documents, as this process last wrote or read them.
#[derive(Debug, Default, Clone)]
struct Stored {
    session: Option<TxId>,
    events: u64,
    chat: Option<TxId>,
    prompt: Option<Hash>,
    /// The start of a session that is not stored yet: its first commit stores it too, so that a
    /// session without a call leaves no trace.
    start: Option<Event>,
}

impl Stored {
    /// The version of the chat to read: another process may have written a later one.
    fn chat_at(&self) -> AsOf {
        self.chat.map_or(AsOf::Latest, AsOf::Tx)
    }
}

/// Whether a process works on the session, as its document says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Activity {
    /// A process has it open.
    Active,
    /// It was closed.
    Paused,
}

impl Activity {
    fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Journal {
    /// The state: the fold of all events, staged ones included.
    pub(super) fn state(&self) -> &Session {
        &self.state
    }

    /// ID of the session document.
    pub(super) fn session_id(&self) -> &ObjectId {
        &self.ids.session
    }

    /// ID of the chat document.
    pub(super) fn chat_id(&self) -> &ObjectId {
        &self.ids.chat
    }

    /// Whether an object is one of the session's own documents.
    pub(super) fn owns(&self, id: &ObjectId) -> bool {
        self.ids.contain(id)
    }

    /// Applies an event to the state and stages it.
    pub(super) fn record(&mut self, event: Event) {
        self.state.apply(&event);
        let rewrites =
            matches!(event, Event::Rewritten { .. } | Event::Edited { .. } | Event::Epoch { .. });
        self.rewrites += u64::from(rewrites);
        self.staged.events.push(event);
    }

    /// Stages a version of an object, whatever the store's latest version is. `version`:
    /// `content_hash` of the payload.
    pub(super) fn stage_object(&mut self, envelope: Envelope, payload: Payload, version: Hash) {
        let expected = Expected::Any;
        self.staged.objects.push(StagedObject { envelope, payload, version, expected });
    }

    /// Stages that the nicknames of one object move to another.
    pub(super) fn stage_nicknames(&mut self, from: &ObjectId, to: &ObjectId) -> Result<()> {
        for nickname in self.store.nicknames(from)? {
            self.staged.nicknames.push((nickname, to.clone()));
        }
        Ok(())
    }

    /// Stages a message at the end of the chat; the state holds it already, at position `at`.
    pub(super) fn stage_message(
        &mut self,
        at: u64,
        message: &HostMessage,
        from: Option<ContentFrom>,
    ) -> Result<()> {
        let item = self.chat_item(at, message, from)?;
        let change = self.staged.chat.get_or_insert(ChatChange { keep: at, add: Vec::new() });
        change.add.push(item);
        Ok(())
    }

    /// Stages a changed text of a message of the chat; the messages after it are written again.
    pub(super) fn stage_changed_message(&mut self, at: u64, message: &HostMessage) -> Result<()> {
        let item = self.chat_item(at, message, None)?;
        let keep = self.staged.chat.as_ref().map_or(self.state.chat().len(), |change| change.keep);
        if at < keep {
            let before = self.items_for_a_copy(&self.ids.chat, self.stored.chat_at(), at..keep)?;
            let change = self.staged.chat.get_or_insert(ChatChange { keep, add: Vec::new() });
            change.add.splice(0..0, before);
            change.keep = at;
        }
        if let Some(change) = &mut self.staged.chat {
            let place = usize::try_from(at - change.keep).unwrap_or(usize::MAX);
            if let Some(slot) = change.add.get_mut(place) {
                *slot = item;
            }
        }
        Ok(())
    }

    /// Stages that the chat ends after its first `keep` messages.
    pub(super) fn stage_shorter_chat(&mut self, keep: u64) {
        self.staged.chat = Some(ChatChange { keep, add: Vec::new() });
    }

    fn chat_item(
        &self,
        at: u64,
        message: &HostMessage,
        from: Option<ContentFrom>,
    ) -> Result<String> {
        let known = self.state.chat().get(at);
        let (turn, step) = known.map_or((0, 0), |known| (known.turn, known.step));
        chat_item::write(message, turn, step, from, self)
    }

    /// The message at a position of the chat, staged or stored.
    pub(super) fn message(&self, at: u64) -> Result<HostMessage> {
        self.read_item(at, &self.item(at)?)
    }

    /// The item at a position of the chat, staged or stored.
    fn item(&self, at: u64) -> Result<Cow<'_, str>> {
        let item = match self.staged.chat.as_ref().filter(|change| at >= change.keep) {
            // What the store has from there on is cut off.
            Some(change) => {
                let place = usize::try_from(at - change.keep).unwrap_or(usize::MAX);
                change.add.get(place).map(|item| Cow::Borrowed(item.as_str()))
            }
            None => self.stored_item(at)?.map(Cow::Owned),
        };
        item.ok_or_else(|| Error::NotFound {
            id: self.ids.chat.clone(),
            at: format!("with message {at}"),
        })
    }

    fn read_item(&self, at: u64, item: &str) -> Result<HostMessage> {
        let counter = self.options.counter;
        match (chat_item::read(item, self, counter), self.state.chat().get(at)) {
            (Err(Error::Forgotten { .. }), Some(known)) => {
                chat_item::read_forgotten(item, &known.digest, known.tokens, counter)
            }
            (message, _) => message,
        }
    }

    /// Stages a version of the system prompt and the tool definitions, unless the latest one is the
    /// same; returns its `content_hash`. With neither given, returns that of the previous call.
    pub(super) fn stage_prompt(
        &mut self,
        system_prompt: Option<&String>,
        tools: &Value,
    ) -> Result<Option<Hash>> {
        if system_prompt.is_none() && tools.is_null() {
            return Ok(self.stored.prompt.clone());
        }
        let fields = fields(&json!({ "session_ref": self.ids.session, "tools": tools }));
        let payload = Payload { content: system_prompt.cloned(), fields, ..Payload::default() };
        let hash = payload.content_hash(None)?;
        if self.stored.prompt.as_ref() != Some(&hash) {
            let envelope = Envelope::unsourced(self.ids.prompt.clone(), ObjectType::SystemPrompt)?;
            self.stage_object(envelope, payload, hash.clone());
            self.stored.prompt = Some(hash.clone());
        }
        Ok(Some(hash))
    }

    /// Number of events that wait to be stored, not counting the start of the session.
    pub(super) fn staged_events(&self) -> usize {
        self.staged.events.len().saturating_sub(usize::from(self.stored.start.is_some()))
    }

    /// The version of the session that this process wrote or read last; `None` if it is not in the
    /// store.
    pub(super) fn stored_at(&self) -> Option<TxId> {
        self.stored.session
    }

    /// Whether the session was closed by the process that wrote it last.
    pub(super) fn was_closed(&self) -> Result<bool> {
        let latest = self.store.get(&self.ids.session, AsOf::Latest)?;
        let is_paused = |state: &Value| state == Activity::Paused.as_str();
        Ok(latest.is_some_and(|version| version.fields.get("state").is_some_and(is_paused)))
    }

    /// The reports of providers that wait to be stored.
    pub(super) fn staged_reports(&self) -> Vec<Event> {
        let is_report = |event: &&Event| matches!(event, Event::Reported(_));
        self.staged.events.iter().filter(is_report).cloned().collect()
    }

    /// Bytes of text that wait to be stored.
    pub(super) fn staged_text_bytes(&self) -> usize {
        let text = |payload: &Payload| payload.content.as_ref().map_or(0, String::len);
        self.staged.objects.all.iter().map(|staged| text(&staged.payload)).sum()
    }

    /// All events, stored and staged.
    pub(super) fn events(&self) -> Result<Vec<Event>> {
        let mut events = match self.stored.session {
            Some(at) => read_events(&self.store, &self.ids.session, AsOf::Tx(at))?,
            None => Vec::new(),
        };
        events.extend(self.staged.events.iter().cloned());
        Ok(events)
    }

    /// Puts the state in doubt: work may have been left half done.
    pub(super) fn doubt(&mut self) {
        self.is_in_doubt = true;
    }

    /// Whether another process wrote to the session after this one.
    pub(super) fn has_moved_on(&self) -> Result<bool> {
        let latest = self.store.get(&self.ids.session, AsOf::Latest)?;
        Ok(latest.map(|version| version.tx_id) != self.stored.session)
    }

    /// Writes everything staged, and `aside` after the staged events, in one transaction. After an
    /// error the state is in doubt.
    ///
    /// `aside`: events about requests that already went out; they are kept elsewhere, so that
    /// failed work does not lose them.
    pub(super) fn commit(&mut self, activity: Activity, aside: &[Event]) -> Result<()> {
        let result = self.write_staged(activity, aside);
        self.is_in_doubt |= result.is_err();
        result
    }

    fn write_staged(&mut self, activity: Activity, aside: &[Event]) -> Result<()> {
        self.ahead = ReadAhead::default();
        let staged = std::mem::take(&mut self.staged);
        let events = staged.events.iter().chain(aside).map(|event| {
            serde_json::to_string(event).map_err(|error| Error::internal(error.to_string()))
        });
        let events = events.collect::<Result<Vec<String>>>()?;
        let written = events.len() as u64;
        let (mut transaction, puts) = self.put_objects(staged.objects.all)?;
        for (nickname, id) in staged.nicknames {
            transaction.name(nickname.clone(), None).name(nickname, Some(id));
        }
        let changes_chat = staged.chat.is_some();
        if let Some(ChatChange { keep, add }) = staged.chat {
            let envelope = Envelope::unsourced(self.ids.chat.clone(), ObjectType::Chat)?;
            let turns = self.state.chat().turn();
            let fields = fields(&json!({ "session_ref": self.ids.session, "turn_count": turns }));
            let payload = Payload { fields, ..Payload::default() };
            transaction.splice(envelope, payload, keep, add, expected(self.stored.chat))?;
        }
        let envelope = Envelope::unsourced(self.ids.session.clone(), ObjectType::Session)?;
        let payload = Payload { fields: self.session_fields(activity), ..Payload::default() };
        let (keep, latest) = (self.stored.events, expected(self.stored.session));
        transaction.splice(envelope, payload, keep, events, latest)?;
        let receipt = transaction.commit()?;
        self.stored.events += written;
        let mut latest = written_at(&receipt).rev();
        self.stored.session = latest.next();
        self.stored.start = None;
        if changes_chat {
            self.stored.chat = latest.next();
        }
        self.wrote(puts, &receipt);
        self.texts.trim();
        Ok(())
    }

    fn session_fields(&self, activity: Activity) -> Map<String, Value> {
        fields(&json!({
            "harness": self.options.harness,
            "host_session": self.options.host_session,
            "cwd": self.options.cwd.to_string_lossy(),
            "state": activity.as_str(),
            "chat_ref": self.ids.chat,
            "system_prompt_ref": self.ids.prompt,
        }))
    }
}

/// A payload's fields from the object that they make.
fn fields(object: &Value) -> Map<String, Value> {
    object.as_object().cloned().unwrap_or_default()
}

fn expected(tx: Option<TxId>) -> Expected {
    tx.map_or(Expected::Absent, Expected::Latest)
}
