//! One message of a request: what is recorded about it, and what the host needs to build it.

use serde_json::json;

use crate::host::HostMessage;
use crate::payload::RequestText;
use crate::tokens::Counter;
use base::object::Hash;
use session::{Note, SlotRecord};

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its record.
    pub record: SlotRecord,
    /// Index in the host's list; for a message of ours that precedes a host's one, the index of
    /// that one. `None` for other messages of ours.
    pub host: Option<usize>,
    /// JSON of a message of our own.
    pub message: Option<String>,
    /// JSON of the content that replaces the host's, if the record holds only part of it.
    pub content: Option<String>,
    /// SHA-256 of the message's JSON.
    pub digest: Hash,
    /// Its tokens.
    pub tokens: u64,
    /// What the provider's request should say here.
    pub said: Option<RequestText>,
}

impl Slot {
    /// A message of the host. `content`, if given, replaces its own.
    pub fn of_host(index: usize, at: u64, message: &HostMessage, content: Option<String>) -> Self {
        let (digest, tokens) = match &content {
            Some(content) => {
                (Hash::of(message.with_content(content)), message.tokens_with(content))
            }
            None => (message.digest().clone(), message.tokens()),
        };
        let said = RequestText::of_message(message, content.as_deref());
        let record = SlotRecord::Chat { chat: at, content, folded: None };
        Self { record, host: Some(index), message: None, content: None, digest, tokens, said }
    }

    /// A message of the host with the lines of folded steps as its last block. `content`, if given,
    /// replaces its own.
    pub fn of_carrier(
        index: usize,
        at: u64,
        message: &HostMessage,
        content: Option<String>,
        lines: String,
    ) -> Self {
        let whole = message.content_and_block(content.as_deref(), &lines);
        let slot = Self::of_host(index, at, message, Some(whole.clone()));
        let record = SlotRecord::Chat { chat: at, content, folded: Some(lines) };
        Self { record, content: Some(whole), ..slot }
    }

    /// A message of the host that changes on every call. It passes through, and its record holds it
    /// whole.
    pub fn of_volatile(index: usize, message: &HostMessage) -> Self {
        let record = SlotRecord::Message {
            message: message.raw.clone(),
            withheld: message.withheld.clone(),
        };
        Self { record, ..Self::of_host(index, 0, message, None) }
    }

    /// A message of our own.
    pub fn of_ours(record: SlotRecord, message: String, counter: Counter) -> Self {
        let parsed = HostMessage::parse(&message, counter);
        let (tokens, said) = (parsed.tokens(), RequestText::of_message(&parsed, None));
        let digest = Hash::of(&message);
        Self { record, host: None, digest, message: Some(message), content: None, tokens, said }
    }

    /// A message of ours with the notes of the host's message at `index`. It goes before that
    /// message, which the host sends itself.
    pub fn ahead_of(index: usize, host: &HostMessage, notes: &[Note]) -> Self {
        let message = json!({
            "role": "custom",
            "customType": "palimpsest",
            "content": notes.iter().map(|note| json!({ "type": "text", "text": note.text })).collect::<Vec<_>>(),
            "display": false,
            "timestamp": host.key.timestamp.unwrap_or_default(),
        });
        let message = message.to_string();
        let record = SlotRecord::Message { message: message.clone(), withheld: None };
        Self { host: Some(index), ..Self::of_ours(record, message, host.counter) }
    }

    /// A copy of this message of ours with another time. `message`: its JSON.
    #[must_use]
    pub fn at_another_time(&self, record: SlotRecord, message: String) -> Self {
        let digest = Hash::of(&message);
        Self { record, digest, message: Some(message), ..self.clone() }
    }

    /// JSON from which the host's side builds the message: an index, possibly with a content that
    /// replaces the message's own, or a whole message.
    pub(super) fn instruction(&self) -> String {
        let host = self.host.unwrap_or_default();
        match (&self.message, self.content()) {
            (Some(message), _) => format!(r#"{{"message":{message}}}"#),
            (None, Some(content)) => format!(r#"{{"host":{host},"content":{content}}}"#),
            (None, None) => format!(r#"{{"host":{host}}}"#),
        }
    }

    /// JSON of the content that replaces the host's, if any.
    pub fn content(&self) -> Option<&str> {
        match (&self.content, &self.record) {
            (Some(content), _) | (None, SlotRecord::Chat { content: Some(content), .. }) => {
                Some(content)
            }
            _ => None,
        }
    }

    /// Identifies the slot of a message of the chat.
    pub(super) fn key(&self) -> Option<u64> {
        record_key(&self.record)
    }
}

/// Identifies the record of a message of the chat.
pub fn record_key(record: &SlotRecord) -> Option<u64> {
    match record {
        SlotRecord::Chat { chat, .. } => Some(*chat),
        _ => None,
    }
}
