//! The request as it was last sent: one slot per message, its hash, and the edits that lead to the next one.
//!
//! Holds no decision; it is rebuilt from the session and the host's messages after a restart.

use serde_json::json;

use super::host::HostMessage;
use super::payload::Said;
use crate::object::{Hash, RunningHash};
use crate::session::{SlotEdit, SlotRecord};

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// As it is recorded.
    pub record: SlotRecord,
    /// Index in the host's list; `None` for messages of our own.
    pub host: Option<usize>,
    /// JSON of a message of our own.
    pub message: Option<String>,
    /// SHA-256 of the message's JSON.
    pub digest: Hash,
    /// Its tokens.
    pub tokens: u64,
    /// What of it the provider's request is to say.
    pub said: Option<Said>,
}

impl Slot {
    /// A message of the host's, with another content if there is one.
    pub fn of_host(index: usize, at: u64, message: &HostMessage, content: Option<String>) -> Self {
        let (digest, tokens) = match &content {
            Some(content) => (Hash::of(message.with_content(content)), content_tokens(content)),
            None => (message.digest(), message.tokens),
        };
        let said = Said::of_message(message, content.as_deref());
        let record = SlotRecord::Chat { chat: at, content };
        Self { record, host: Some(index), message: None, digest, tokens, said }
    }

    /// A message of the host's that changes on every call: it passes through, and its record holds all of it.
    pub fn of_volatile(index: usize, message: &HostMessage) -> Self {
        let record = SlotRecord::Message {
            message: message.raw.clone(),
            withheld: message.withheld.clone(),
        };
        Self { record, ..Self::of_host(index, 0, message, None) }
    }

    /// A message of our own.
    pub fn of_ours(record: SlotRecord, message: String) -> Self {
        let parsed = HostMessage::parse(&message);
        let (tokens, said) = (parsed.tokens, Said::of_message(&parsed, None));
        Self {
            record,
            host: None,
            digest: Hash::of(&message),
            message: Some(message),
            tokens,
            said,
        }
    }

    /// What the host's side needs to build the message: an index, with a content in place of its own, or a message.
    fn instruction(&self) -> String {
        let host = self.host.unwrap_or_default();
        match (&self.message, &self.record) {
            (Some(message), _) => format!(r#"{{"message":{message}}}"#),
            (None, SlotRecord::Chat { content: Some(content), .. }) => {
                format!(r#"{{"host":{host},"content":{content}}}"#)
            }
            (None, _) => format!(r#"{{"host":{host}}}"#),
        }
    }
}

/// A change of the list of slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Index in the list before this edit and after those before it.
    pub at: usize,
    /// So many slots go.
    pub remove: usize,
    /// These come in their place.
    pub insert: Vec<Slot>,
}

/// The slots of a request with their running hash.
#[derive(Debug, Clone, Default)]
pub struct View {
    slots: Vec<Slot>,
    hashes: Vec<Hash>,
    tokens: u64,
    of_host: usize,
}

impl View {
    /// The slots.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Tokens of all messages.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Number of messages of the host's.
    pub fn of_host(&self) -> usize {
        self.of_host
    }

    /// Running hash over the SHA-256 of each message's JSON.
    pub fn hash(&self) -> Hash {
        self.hashes.last().cloned().unwrap_or_else(|| RunningHash::default().hash().clone())
    }

    /// Makes the edits, in order.
    pub fn apply(&mut self, edits: &[Edit]) {
        let Some(first) = edits.iter().map(|edit| edit.at).min() else { return };
        for edit in edits {
            let end = (edit.at + edit.remove).min(self.slots.len());
            let (came, of_host) = sizes(&edit.insert);
            let gone: Vec<Slot> =
                self.slots.splice(edit.at..end, edit.insert.iter().cloned()).collect();
            let (went, of_host_before) = sizes(&gone);
            self.tokens = self.tokens + came - went;
            self.of_host = self.of_host + of_host - of_host_before;
        }
        self.hashes.truncate(first);
        let mut running = RunningHash::from_stored(self.hash());
        self.hashes
            .extend(self.slots[first..].iter().map(|slot| running.push(slot.digest.as_str())));
    }
}

/// Tokens of slots, and how many of them are of the host's.
fn sizes(slots: &[Slot]) -> (u64, usize) {
    let of_host = slots.iter().filter(|slot| slot.host.is_some()).count();
    (slots.iter().map(|slot| slot.tokens).sum(), of_host)
}

/// A replacement in a list: index, how many go, what comes.
pub type Replacement<T> = (usize, usize, Vec<T>);

/// The replacements that make one list of another, place by place: a list with a changing head and tail does not repeat
/// what lies between.
pub fn replacements<T: PartialEq + Clone>(before: &[T], after: &[T]) -> Vec<Replacement<T>> {
    let mut found = Vec::new();
    let same = |at: usize| before.get(at).zip(after.get(at)).is_some_and(|(a, b)| a == b);
    let mut at = 0;
    while at < after.len().max(before.len()) {
        if same(at) {
            at += 1;
            continue;
        }
        let Some(end) = (at..before.len().min(after.len())).find(|next| same(*next)) else {
            let insert = after.get(at..).unwrap_or_default().to_vec();
            found.push((at, before.len().saturating_sub(at), insert));
            break;
        };
        found.push((at, end - at, after[at..end].to_vec()));
        at = end;
    }
    found
}

/// The edits that lead from one list of slots to another.
pub fn edits_between(before: &[Slot], after: &[Slot]) -> Vec<Edit> {
    let found = replacements(before, after);
    found.into_iter().map(|(at, remove, insert)| Edit { at, remove, insert }).collect()
}

/// The edits as they are recorded, `first` being the first slot recorded before. A pool that only grew is recorded by what
/// it gained.
pub fn recorded(first: Option<&SlotRecord>, edits: Vec<Replacement<SlotRecord>>) -> Vec<SlotEdit> {
    edits
        .into_iter()
        .map(|(at, remove, insert)| SlotEdit {
            at: at as u64,
            remove: remove as u64,
            insert: insert.into_iter().map(|record| pool_gain(first, record)).collect(),
        })
        .collect()
}

fn pool_gain(first: Option<&SlotRecord>, record: SlotRecord) -> SlotRecord {
    let SlotRecord::Pool { mut pool_add, time, .. } = record else { return record };
    let known = match first {
        Some(SlotRecord::Pool { pool_add, .. }) => pool_add.as_slice(),
        _ => &[],
    };
    let keep = known.iter().zip(&pool_add).take_while(|(a, b)| a == b).count();
    pool_add.drain(..keep);
    SlotRecord::Pool { pool_keep: keep as u64, pool_add, time }
}

/// The edits as JSON for the host's side: `[{"at":0,"remove":1,"insert":[…]}]`.
pub fn instructions(edits: &[Edit]) -> String {
    let edits: Vec<String> = edits
        .iter()
        .map(|edit| {
            let slots: Vec<String> = edit.insert.iter().map(Slot::instruction).collect();
            format!(
                r#"{{"at":{},"remove":{},"insert":[{}]}}"#,
                edit.at,
                edit.remove,
                slots.join(",")
            )
        })
        .collect();
    format!("[{}]", edits.join(","))
}

/// A user message of our own.
pub fn user_message(text: &str, timestamp: i64) -> String {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": timestamp })
        .to_string()
}

/// Tokens of a message with this content.
pub fn content_tokens(content: &str) -> u64 {
    HostMessage::parse(&format!(r#"{{"content":{content}}}"#)).tokens
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slots(text: &str) -> Vec<Slot> {
        text.chars()
            .map(|c| {
                let record = SlotRecord::Message { message: c.to_string(), withheld: None };
                Slot::of_ours(record, c.to_string())
            })
            .collect()
    }

    proptest! {
        #[test]
        fn edits_lead_from_one_list_to_the_other(before in "[abc]{0,8}", after in "[abc]{0,8}") {
            let mut view = View::default();
            view.apply(&edits_between(&[], &slots(&before)));
            let edits = edits_between(view.slots(), &slots(&after));
            view.apply(&edits);
            prop_assert_eq!(view.slots(), &slots(&after)[..]);
            let mut fresh = View::default();
            fresh.apply(&edits_between(&[], &slots(&after)));
            prop_assert_eq!(view.hash(), fresh.hash());
        }
    }
}
