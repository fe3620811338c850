//! What waits to be stored, and storing it: one transaction, durable when it returns.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::LiveSession;
use crate::error::{Error, Result};
use crate::object::{AsOf, Envelope, Hash, Nickname, ObjectId, ObjectType, Payload, TxId};
use crate::session::Event;
use crate::store::{Expected, Outcome, Transaction};

/// What waits for the next commit.
#[derive(Debug, Default)]
pub(super) struct Staged {
    pub(super) events: Vec<Event>,
    pub(super) objects: Vec<(Envelope, Payload, Expected)>,
    /// Nicknames that go over to another object.
    pub(super) nicknames: Vec<(Nickname, ObjectId)>,
    pub(super) chat: Option<ChatChange>,
    /// Whether the calls that failed are among the events.
    pub(super) failed_calls: bool,
}

/// A change of the chat's items: so many stay, these follow.
#[derive(Debug)]
pub(super) struct ChatChange {
    pub(super) keep: u64,
    pub(super) add: Vec<String>,
}

/// Where the stored documents stand, as this process wrote or read them last.
#[derive(Debug, Default, Clone)]
pub(super) struct Stored {
    pub(super) session: Option<TxId>,
    pub(super) events: u64,
    pub(super) chat: Option<TxId>,
    pub(super) prompt: Option<Hash>,
}

impl Stored {
    /// The chat's version to read from: another process may have written a later one.
    pub(super) fn chat_at(&self) -> AsOf {
        self.chat.map_or(AsOf::Latest, AsOf::Tx)
    }
}

impl LiveSession {
    /// Takes an event into the state and stages it.
    pub(super) fn record(&mut self, event: Event) {
        self.state.apply(&event);
        if matches!(event, Event::Rewritten { .. } | Event::Edited { .. } | Event::Epoch { .. }) {
            self.lines = None;
        }
        self.staged.events.push(event);
    }

    /// Does work that ends with a commit. Where another process wrote to this session since, this one goes on as a session
    /// of its own and the work is done anew there. After a failed commit the state is as before the work.
    pub(super) fn durably<T>(&mut self, work: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        let result = self.attempt(work);
        self.refresh_after(&result);
        result
    }

    /// As [`Self::durably`], but leaves the state in doubt after a failed commit.
    pub(super) fn attempt<T>(&mut self, work: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        self.refresh_if_stale()?;
        let mut parted = false;
        loop {
            match work(self) {
                Err(Error::Conflict { id, .. }) if self.ids.contain(&id) && !parted => {
                    self.part()?;
                    parted = true;
                }
                // It was forgotten since this process looked: the work is done anew without it.
                Err(Error::Forgotten { id })
                    if !self.ids.contain(&id) && !self.forgotten.contains(&id) =>
                {
                    // Where the provider's ID was taken, the object would have another ID the next time.
                    self.forgotten.extend(self.provider_id(&id));
                    self.forgotten.insert(id);
                    self.reload()?;
                }
                result => return result,
            }
        }
    }

    /// The provider's ID of the call whose object this is.
    fn provider_id(&self, object: &ObjectId) -> Option<ObjectId> {
        let is_it = |at: u64| self.state.result(at)?.object.as_ref().filter(|id| *id == object);
        let (_, message) = self.state.window().rev().find(|(at, _)| is_it(*at).is_some())?;
        message.key.calls.first().map(|id| ObjectId::new(&**id))
    }

    /// Reads the state again if work left it in doubt. Where that fails too, it is tried again before the next work.
    pub(super) fn refresh_after<T>(&mut self, result: &Result<T>) {
        if result.is_err() {
            drop(self.refresh_if_stale());
        }
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        self.commit_as("active")
    }

    /// Writes all that is staged in one transaction. After an error the state in memory counts for nothing.
    pub(super) fn commit_as(&mut self, activity: &str) -> Result<()> {
        let result = self.write_staged(activity);
        self.stale |= result.is_err();
        result
    }

    fn write_staged(&mut self, activity: &str) -> Result<()> {
        let staged = std::mem::take(&mut self.staged);
        let payloads = self.payloads.events();
        let events: Vec<String> = staged
            .events
            .iter()
            .chain(&payloads)
            .map(|event| {
                serde_json::to_string(event).map_err(|error| Error::internal(error.to_string()))
            })
            .collect::<Result<_>>()?;
        let written = events.len() as u64;
        let mut transaction = self.put_objects(staged.objects)?;
        for (nickname, id) in staged.nicknames {
            transaction.name(nickname.clone(), None).name(nickname, Some(id));
        }
        let changes_chat = staged.chat.is_some();
        if let Some(ChatChange { keep, add }) = staged.chat {
            let envelope = Envelope::unsourced(self.ids.chat.clone(), ObjectType::Chat)?;
            let payload = Payload { fields: self.chat_fields(), ..Payload::default() };
            transaction.splice(envelope, &payload, keep, add, expected(self.stored.chat))?;
        }
        let envelope = Envelope::unsourced(self.ids.session.clone(), ObjectType::Session)?;
        let payload = Payload { fields: self.session_fields(activity), ..Payload::default() };
        let (keep, latest) = (self.stored.events, expected(self.stored.session));
        transaction.splice(envelope, &payload, keep, events, latest)?;
        let receipt = transaction.commit()?;
        self.stored.events += written;
        self.payloads.settle();
        let latest = |outcome: &Outcome| match outcome {
            Outcome::Written => receipt.tx_id,
            Outcome::Unchanged(tx_id) => *tx_id,
        };
        let mut outcomes = receipt.outcomes.iter().rev();
        self.stored.session = outcomes.next().map(latest);
        if changes_chat {
            self.stored.chat = outcomes.next().map(latest);
        }
        if staged.failed_calls {
            self.settle_failed_calls();
        }
        self.reconcile.settle();
        self.trim_texts();
        self.hand_over();
        Ok(())
    }

    /// Puts objects into a transaction. Where an object got several versions since the last commit, the earlier ones are
    /// committed first: a transaction holds one version of an object.
    fn put_objects(&self, objects: Vec<(Envelope, Payload, Expected)>) -> Result<Transaction<'_>> {
        let mut transaction = self.store.begin();
        let mut held = HashSet::new();
        for (envelope, payload, expected) in objects {
            if !held.insert(envelope.id.clone()) {
                std::mem::replace(&mut transaction, self.store.begin()).commit()?;
                held = HashSet::from([envelope.id.clone()]);
            }
            transaction.put(envelope, &payload, expected)?;
        }
        Ok(transaction)
    }

    /// Fields of an object's latest version, staged or stored.
    pub(super) fn latest_fields(&self, id: &ObjectId) -> Result<Option<Map<String, Value>>> {
        let staged = self.staged.objects.iter().rev().find(|(envelope, ..)| envelope.id == *id);
        match staged {
            Some((_, payload, _)) => Ok(Some(payload.fields.clone())),
            None => Ok(self.store.get(id, AsOf::Latest)?.map(|version| version.fields)),
        }
    }

    fn session_fields(&self, activity: &str) -> Map<String, Value> {
        let fields = json!({
            "harness": self.options.harness,
            "host_session": self.options.host_session,
            "cwd": self.options.cwd.to_string_lossy(),
            "state": activity,
            "chat_ref": self.ids.chat,
            "system_prompt_ref": self.ids.prompt,
        });
        fields.as_object().cloned().unwrap_or_default()
    }

    fn chat_fields(&self) -> Map<String, Value> {
        let fields =
            json!({ "session_ref": self.ids.session, "turn_count": self.state.chat().turn() });
        fields.as_object().cloned().unwrap_or_default()
    }
}

fn expected(tx: Option<TxId>) -> Expected {
    tx.map_or(Expected::Absent, Expected::Latest)
}
