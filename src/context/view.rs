//! The request as it was last sent: one slot per message that goes out, its hash, and the edits that lead to the next one.
//!
//! Holds no decision; it is rebuilt from the session and the host's messages after a restart.

use std::collections::BTreeMap;

use serde_json::json;

use super::host::HostMessage;
use super::payload::Said;
use super::tokens::Counter;
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
    /// The content's JSON in place of the host's, where the record has only a part of it.
    pub content: Option<String>,
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
            Some(content) => {
                (Hash::of(message.with_content(content)), message.tokens_with(content))
            }
            None => (message.digest(), message.tokens),
        };
        let said = Said::of_message(message, content.as_deref());
        let record = SlotRecord::Chat { chat: at, content, folded: None };
        Self { record, host: Some(index), message: None, content: None, digest, tokens, said }
    }

    /// A message of the host's, with another content if there is one, and lines of folded steps as its last block.
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

    /// A message of the host's that changes on every call: it passes through, and its record holds all of it.
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
        let (tokens, said) = (parsed.tokens, Said::of_message(&parsed, None));
        let digest = Hash::of(&message);
        Self { record, host: None, digest, message: Some(message), content: None, tokens, said }
    }

    /// What the host's side needs to build the message: an index, with a content in place of its own, or a message.
    fn instruction(&self) -> String {
        let host = self.host.unwrap_or_default();
        match (&self.message, self.content()) {
            (Some(message), _) => format!(r#"{{"message":{message}}}"#),
            (None, Some(content)) => format!(r#"{{"host":{host},"content":{content}}}"#),
            (None, None) => format!(r#"{{"host":{host}}}"#),
        }
    }

    /// The content's JSON in place of the host's.
    pub fn content(&self) -> Option<&str> {
        match (&self.content, &self.record) {
            (Some(content), _) | (None, SlotRecord::Chat { content: Some(content), .. }) => {
                Some(content)
            }
            _ => None,
        }
    }

    /// What tells the slot of a message of the chat from those of others.
    fn key(&self) -> Option<u64> {
        record_key(&self.record)
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
    /// Tokens by index in the host's list; 0 where nothing goes out.
    sizes: Vec<u64>,
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

    /// So many messages of the host's list are known, folded ones included.
    pub fn of_host(&self) -> usize {
        self.of_host
    }

    /// Tokens of the messages of the host's list that are known, in order, as they were last sent; 0 for folded ones.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The slot of the message at an index of the host's list; `None` if it is folded.
    pub fn at_host(&self, index: usize) -> Option<&Slot> {
        self.place(index).ok().map(|place| &self.slots[place])
    }

    /// Where the slot of the message at an index of the host's list is, or would be. Slots are in the order of the list.
    fn place(&self, index: usize) -> Result<usize, usize> {
        let is_before = |slot: &Slot| match slot.host {
            Some(host) => host < index,
            None => matches!(slot.record, SlotRecord::Pool { .. }),
        };
        let place = self.slots.partition_point(is_before);
        match self.slots.get(place) {
            Some(slot) if slot.host == Some(index) => Ok(place),
            _ => Err(place),
        }
    }

    /// The edits that give the host's messages at these indexes other slots, or none, and end with `len` messages.
    pub fn edits_to(&self, changed: BTreeMap<usize, Option<Slot>>, len: usize) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        let (mut came, mut went) = (0, 0);
        for (index, slot) in changed {
            let place = self.place(index);
            if place.ok().map(|place| &self.slots[place]) == slot.as_ref() {
                continue;
            }
            let (Ok(before) | Err(before)) = place;
            let (at, remove) = (before + came - went, usize::from(place.is_ok()));
            went += remove;
            came += usize::from(slot.is_some());
            match edits.last_mut() {
                Some(edit) if edit.at + edit.insert.len() == at => {
                    edit.insert.extend(slot);
                    edit.remove += remove;
                }
                _ => edits.push(Edit { at, remove, insert: slot.into_iter().collect() }),
            }
        }
        let (Ok(end) | Err(end)) = self.place(len);
        if end < self.slots.len() {
            let (at, remove) = (end + came - went, self.slots.len() - end);
            edits.push(Edit { at, remove, insert: Vec::new() });
        }
        edits
    }

    /// Running hash over the SHA-256 of each message's JSON.
    pub fn hash(&self) -> Hash {
        self.hashes.last().cloned().unwrap_or_else(|| RunningHash::default().hash().clone())
    }

    /// Makes the edits, in order. `of_host`: messages of the host's list that are known then.
    pub fn apply(&mut self, edits: &[Edit], of_host: usize) {
        self.of_host = of_host;
        self.sizes.resize(of_host, 0);
        let Some(first) = edits.iter().map(|edit| edit.at).min() else { return };
        for edit in edits {
            let end = (edit.at + edit.remove).min(self.slots.len());
            let gone = self.slots.splice(edit.at..end, edit.insert.iter().cloned());
            let gone: Vec<Slot> = gone.collect();
            let went: u64 = gone.iter().map(|slot| slot.tokens).sum();
            let sizes = gone.iter().map(|slot| (slot.host, 0));
            let sizes = sizes.chain(edit.insert.iter().map(|slot| (slot.host, slot.tokens)));
            for (index, tokens) in sizes {
                if let Some(size) = index.and_then(|index| self.sizes.get_mut(index)) {
                    *size = tokens;
                }
            }
            let came: u64 = edit.insert.iter().map(|slot| slot.tokens).sum();
            self.tokens = self.tokens + came - went;
        }
        self.hashes.truncate(first);
        let mut running = RunningHash::from_stored(self.hash());
        self.hashes
            .extend(self.slots[first..].iter().map(|slot| running.push(slot.digest.as_str())));
    }
}

/// A replacement in a list: index, how many go, what comes.
pub type Replacement<T> = (usize, usize, Vec<T>);

/// The replacements that make one list of another, place by place: a list with a changing head and tail does not repeat
/// what lies between. `key`: what tells an element from others, where that rises along the list; so elements are found
/// again behind others that came or went.
pub fn replacements<T: PartialEq + Clone>(
    before: &[T],
    after: &[T],
    key: impl Fn(&T) -> Option<u64>,
) -> Vec<Replacement<T>> {
    let mut found: Vec<Replacement<T>> = Vec::new();
    let (mut from, mut at) = (0, 0);
    while from < before.len() || at < after.len() {
        let (old, new) = (before.get(from), after.get(at));
        if old == new {
            (from, at) = (from + 1, at + 1);
            continue;
        }
        let keys = old.and_then(&key).zip(new.and_then(&key));
        let goes = old.filter(|_| keys.is_none_or(|(old, new)| old <= new));
        let comes = new.filter(|_| keys.is_none_or(|(old, new)| old >= new));
        let (remove, insert) = (usize::from(goes.is_some()), comes.cloned());
        let came = usize::from(insert.is_some());
        match found.last_mut() {
            Some((start, removed, inserted)) if *start + inserted.len() == at => {
                *removed += remove;
                inserted.extend(insert);
            }
            _ => found.push((at, remove, insert.into_iter().collect())),
        }
        (from, at) = (from + remove, at + came);
    }
    found
}

/// What tells a record of a message of the chat from others.
pub fn record_key(record: &SlotRecord) -> Option<u64> {
    match record {
        SlotRecord::Chat { chat, .. } => Some(*chat),
        _ => None,
    }
}

/// The edits that lead from one list of slots to another.
pub fn edits_between(before: &[Slot], after: &[Slot]) -> Vec<Edit> {
    let found = replacements(before, after, Slot::key);
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
pub fn content_tokens(content: &str, counter: Counter) -> u64 {
    HostMessage::parse(&format!(r#"{{"content":{content}}}"#), counter).tokens
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slots(text: &str) -> Vec<Slot> {
        text.chars()
            .map(|c| {
                let record = SlotRecord::Message { message: c.to_string(), withheld: None };
                Slot::of_ours(record, c.to_string(), Counter::Bundled)
            })
            .collect()
    }

    /// Slots of the host's messages at these indexes; `changes` are those that look otherwise.
    fn of_host(indexes: &[usize], changes: &[usize]) -> Vec<Slot> {
        let message = HostMessage::parse(r#"{"role":"user","content":"x"}"#, Counter::Bundled);
        let content = |index: &usize| changes.contains(index).then(|| "[]".to_owned());
        indexes.iter().map(|i| Slot::of_host(*i, *i as u64, &message, content(i))).collect()
    }

    fn fresh(slots: &[Slot]) -> View {
        let mut view = View::default();
        view.apply(&edits_between(&[], slots), slots.len());
        view
    }

    proptest! {
        #[test]
        fn edits_lead_from_one_list_to_the_other(before in "[abc]{0,8}", after in "[abc]{0,8}") {
            let mut view = fresh(&slots(&before));
            let edits = edits_between(view.slots(), &slots(&after));
            view.apply(&edits, after.len());
            prop_assert_eq!(view.slots(), &slots(&after)[..]);
            prop_assert_eq!(view.hash(), fresh(&slots(&after)).hash());
        }

        #[test]
        fn messages_come_and_go_by_their_index(
            before in prop::collection::btree_set(0..12usize, 0..12),
            after in prop::collection::btree_set(0..12usize, 0..12),
            changes in prop::collection::vec(0..12usize, 0..4),
            len in 0..12usize,
        ) {
            let list = |set: &std::collections::BTreeSet<usize>| set.iter().copied().collect::<Vec<_>>();
            let wanted: Vec<usize> = list(&after).into_iter().filter(|index| *index < len).collect();
            let wanted = of_host(&wanted, &changes);
            let mut view = fresh(&of_host(&list(&before), &[]));
            let slot = |index| wanted.iter().find(|slot| slot.host == Some(index)).cloned();
            let edits = view.edits_to((0..len).map(|index| (index, slot(index))).collect(), len);
            view.apply(&edits, len);
            prop_assert_eq!(view.slots(), &wanted[..]);
            prop_assert_eq!(view.hash(), fresh(&wanted).hash());
            prop_assert_eq!(view.tokens(), fresh(&wanted).tokens());
            let found: Vec<_> = (0..12).filter_map(|index| view.at_host(index)).collect();
            prop_assert_eq!(found, wanted.iter().collect::<Vec<_>>());
        }

        #[test]
        fn what_stays_of_a_list_is_not_repeated(
            gone in prop::collection::btree_set(0..20usize, 0..20),
            more in 20..24usize,
        ) {
            let before = of_host(&(0..20).collect::<Vec<_>>(), &[]);
            let after: Vec<usize> = (0..more).filter(|index| !gone.contains(index)).collect();
            let after = of_host(&after, &[]);
            let edits = edits_between(&before, &after);
            let came: usize = edits.iter().map(|edit| edit.insert.len()).sum();
            prop_assert_eq!(came, more - 20);
        }
    }
}
