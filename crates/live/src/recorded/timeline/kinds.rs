//! Breaks a request down: the tokens of a slot by kind of content, by our own count, and the
//! objects that it shows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde::Serialize;

use crate::journal::stored_version;
use crate::recorded::slots::pool_lines;
use crate::recorded::text_of;
use base::error::Result;
use base::object::{Hash, ObjectId, ObjectType};
use context::tokens::Counter;
use context::view::content_tokens;
use session::{ChatMessage, MessageKind, Session, SlotRecord, Subject, Treatment, Way};
use store::Store;

/// Tokens of a request by kind of content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TimelineKinds {
    /// System prompt and tools.
    pub prompt: u64,
    /// What a person or the host wrote: messages, summaries, unknown roles.
    pub person: u64,
    /// What the model wrote, including its calls.
    pub model: u64,
    /// Results of tools, whole or in part.
    pub outputs: u64,
    /// Text of files.
    pub files: u64,
    /// Notes of ours.
    pub notes: u64,
    /// Lines that stand for content, and for folded steps.
    pub references: u64,
}

impl TimelineKinds {
    pub(in crate::recorded) fn add(&mut self, other: &Self) {
        self.each(other, |sum, tokens| *sum += tokens);
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        self.each(other, |sum, tokens| *sum = sum.saturating_sub(tokens));
    }

    fn each(&mut self, other: &Self, change: impl Fn(&mut u64, u64)) {
        change(&mut self.person, other.person);
        change(&mut self.model, other.model);
        change(&mut self.outputs, other.outputs);
        change(&mut self.files, other.files);
        change(&mut self.notes, other.notes);
        change(&mut self.references, other.references);
    }
}

/// A slot of a request, counted.
#[derive(Debug, Default)]
pub(in crate::recorded) struct Counted {
    pub(in crate::recorded) kinds: TimelineKinds,
    /// The objects that it shows, and in which way.
    pub(super) shows: Vec<(ObjectId, Way)>,
    /// Its lines, if it is the metadata pool.
    pub(super) pool: Vec<String>,
    /// Its record, if it is a message of the chat: the host may replace the message while the
    /// record stays the same.
    pub(super) record: Option<SlotRecord>,
}

impl Counted {
    /// Position in the chat of its message, if it has one.
    pub(super) fn position(&self) -> Option<u64> {
        match self.record {
            Some(SlotRecord::Chat { chat, .. }) => Some(chat),
            _ => None,
        }
    }
}

/// Tokens of texts that were counted, by their hash and whether they are JSON: the calls of a session
/// show mostly the same.
pub(in crate::recorded) type CountedTexts = Rc<RefCell<HashMap<(Hash, bool), u64>>>;

/// Counts slots.
pub(in crate::recorded) struct Counting<'a> {
    store: &'a Store,
    counter: Counter,
    known: CountedTexts,
}

impl<'a> Counting<'a> {
    pub(in crate::recorded) fn new(store: &'a Store, known: &CountedTexts) -> Self {
        Self { store, counter: Counter::default(), known: Rc::clone(known) }
    }

    /// Tokens of a text, which `count` counts if it was not counted before.
    fn once(&self, text: &str, is_json: bool, count: impl FnOnce() -> u64) -> u64 {
        *self.known.borrow_mut().entry((Hash::of(text), is_json)).or_insert_with(count)
    }

    /// Counts a slot in the session's present state. `pool`: the lines of the metadata pool in the
    /// previous request.
    pub(in crate::recorded) fn count(
        &self,
        slot: &SlotRecord,
        state: &Session,
        pool: &[String],
    ) -> Result<Counted> {
        match slot {
            SlotRecord::Chat { chat, content, folded } => {
                let Some(message) = state.chat().get(*chat) else { return Ok(Counted::default()) };
                let (content, folded) = (content.as_deref(), folded.as_deref());
                let counted = self.of_chat((*chat, message), state, content, folded);
                Ok(Counted { record: Some(slot.clone()), ..counted })
            }
            SlotRecord::Pool { .. } => {
                let pool = pool_lines(slot, pool);
                let references = self.of_text(&pool.join("\n"));
                Ok(Counted {
                    kinds: TimelineKinds { references, ..TimelineKinds::default() },
                    pool,
                    ..Counted::default()
                })
            }
            SlotRecord::Active { active, version, .. } => self.of_active(active, version),
            SlotRecord::Message { message, .. } => {
                let notes = self.of_message(message);
                Ok(Counted {
                    kinds: TimelineKinds { notes, ..TimelineKinds::default() },
                    ..Counted::default()
                })
            }
        }
    }

    fn of_chat(
        &self,
        (at, message): (u64, &ChatMessage),
        state: &Session,
        content: Option<&str>,
        folded: Option<&str>,
    ) -> Counted {
        let treatment = if content.is_some() { state.treatment(at) } else { &Treatment::Given };
        let way = Way::from(treatment);
        let of_content =
            |content| self.once(content, true, || content_tokens(content, self.counter));
        let whole = content.map_or(message.tokens, of_content);
        // Notes stand after the content to which they were added.
        let added = if content.is_some() { state.notes(at) } else { &[] };
        let notes = added.iter().map(|note| self.of_text(&note.text)).sum::<u64>().min(whole);
        let tokens = whole - notes;
        let references = folded.map_or(0, |lines| self.of_text(lines));
        let mut kinds = TimelineKinds { notes, references, ..TimelineKinds::default() };
        let mut shows = Vec::new();
        match (&message.kind, state.result(at)) {
            (MessageKind::Assistant, _) => kinds.model = tokens,
            (_, None) => kinds.person = tokens,
            (_, Some(fact)) => {
                let beside = fact.kept_tokens.filter(|_| fact.within.is_some()).unwrap_or(0);
                kinds.person = beside.min(tokens);
                let tokens = tokens - kinds.person;
                let text_of = match treatment {
                    Treatment::Current { object, .. } => Some(object),
                    _ => fact.shown_object(),
                };
                shows.extend(fact.object.iter().chain(text_of).map(|object| (object.clone(), way)));
                let is_file = |object| matches!(state.subject(object), Some(Subject::File { .. }));
                let of_file = text_of.is_some_and(is_file);
                match way {
                    Way::Reference | Way::Reread => kinds.references += tokens,
                    _ if of_file => kinds.files = tokens,
                    _ => kinds.outputs = tokens,
                }
            }
        }
        Counted { kinds, shows, ..Counted::default() }
    }

    /// The content of an active object, in the layout `pools`; nothing if the store no longer holds
    /// it.
    fn of_active(&self, object: &ObjectId, version: &Hash) -> Result<Counted> {
        let version = stored_version(self.store, object, version)?;
        let text = text_of(self.store, &version, None)?.unwrap_or_default();
        let tokens = self.of_text(&text);
        let kinds = if version.envelope.kind == ObjectType::File {
            TimelineKinds { files: tokens, ..TimelineKinds::default() }
        } else {
            TimelineKinds { outputs: tokens, ..TimelineKinds::default() }
        };
        Ok(Counted { kinds, shows: vec![(object.clone(), Way::Given)], ..Counted::default() })
    }

    fn of_text(&self, text: &str) -> u64 {
        self.once(text, false, || self.counter.count(text))
    }

    /// Tokens of a message as a call shows it.
    pub(in crate::recorded) fn of_message(&self, json: &str) -> u64 {
        self.once(json, true, || context::host::HostMessage::parse(json, self.counter).tokens())
    }
}
