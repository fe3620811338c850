//! The request as last sent: one slot per message, a hash, and the edits that make the next
//! request.
//!
//! Decides nothing. After a restart it is rebuilt from the session and the host's messages.

mod applied;
mod edits;
mod slot;

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::json;

pub use self::applied::{Inserted, read_edits};
pub use self::edits::{Edit, edits_between, instructions, recorded, replacements};
pub use self::slot::{Slot, record_key};
use super::host::HostMessage;
use super::tokens::Counter;
use base::object::{Hash, RunningHash};
use session::SlotRecord;

/// The slots of a request and their running hash.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Number of the request's call.
    pub call: Option<u64>,
    /// The slots.
    pub slots: Vec<Slot>,
    hashes: Vec<Hash>,
    /// Tokens of all messages.
    pub tokens: u64,
    /// Number of known messages of the host's list, including folded ones.
    pub of_host: usize,
    /// Tokens by index in the host's list; 0 for messages that do not go out.
    pub sizes: Vec<u64>,
}

impl View {
    /// Sets the number of the request's call.
    pub fn set_call(&mut self, number: u64) {
        self.call = Some(number);
    }

    /// The slot of the message at an index of the host's list; `None` if it is folded.
    pub fn at_host(&self, index: usize) -> Option<&Slot> {
        self.slots[self.place(index)].last()
    }

    /// The slots of the message at an index of the host's list: one, possibly preceded by one of
    /// ours; none if it is folded. Slots are in list order.
    fn place(&self, index: usize) -> Range<usize> {
        let is_before = |slot: &Slot| match slot.host {
            Some(host) => host < index,
            None => matches!(slot.record, SlotRecord::Pool { .. }),
        };
        let start = self.slots.partition_point(is_before);
        let count = self.slots[start..].iter().take_while(|slot| slot.host == Some(index)).count();
        start..start + count
    }

    /// The edits that replace the slots of the host's messages at these indexes (with no slots:
    /// remove them) and cut the list after `len` messages.
    pub fn edits_to(&self, changed: BTreeMap<usize, Vec<Slot>>, len: usize) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        let (mut came, mut went) = (0, 0);
        for (index, slots) in changed {
            let place = self.place(index);
            if self.slots[place.clone()] == slots[..] {
                continue;
            }
            let (at, remove) = (place.start + came - went, place.len());
            went += remove;
            came += slots.len();
            match edits.last_mut() {
                Some(edit) if edit.at + edit.insert.len() == at => {
                    edit.insert.extend(slots);
                    edit.remove += remove;
                }
                _ => edits.push(Edit { at, remove, insert: slots }),
            }
        }
        let end = self.place(len).start;
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

    /// Applies edits in order. `of_host`: number of known messages of the host's list afterwards.
    pub fn apply(&mut self, edits: &[Edit], of_host: usize) {
        self.of_host = of_host;
        self.sizes.resize(of_host, 0);
        let Some(first) = edits.iter().map(|edit| edit.at).min() else { return };
        for edit in edits {
            let end = (edit.at + edit.remove).min(self.slots.len());
            let gone = self.slots.splice(edit.at..end, edit.insert.iter().cloned());
            let gone: Vec<Slot> = gone.collect();
            let went: u64 = gone.iter().map(|slot| slot.tokens).sum();
            for (slots, goes) in [(&gone, true), (&edit.insert, false)] {
                for slot in slots {
                    let size = slot.host.and_then(|index| self.sizes.get_mut(index));
                    let Some(size) = size else { continue };
                    *size =
                        if goes { size.saturating_sub(slot.tokens) } else { *size + slot.tokens };
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

/// A user message of our own.
pub fn user_message(text: &str, timestamp: i64) -> String {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": timestamp })
        .to_string()
}

/// Tokens of a message with this content.
pub fn content_tokens(content: &str, counter: Counter) -> u64 {
    HostMessage::parse(format!(r#"{{"content":{content}}}"#), counter).tokens()
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

    /// Slots of the host's messages at these indexes. `changes`: those that differ.
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
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn edits_lead_from_one_list_to_the_other(before in "[abc]{0,8}", after in "[abc]{0,8}") {
            let mut view = fresh(&slots(&before));
            let edits = edits_between(&view.slots, &slots(&after));
            view.apply(&edits, after.len());
            prop_assert_eq!(&view.slots, &slots(&after)[..]);
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
            let slot = |index| wanted.iter().filter(|slot| slot.host == Some(index)).cloned().collect();
            let edits = view.edits_to((0..len).map(|index| (index, slot(index))).collect(), len);
            view.apply(&edits, len);
            prop_assert_eq!(&view.slots, &wanted[..]);
            prop_assert_eq!(view.hash(), fresh(&wanted).hash());
            prop_assert_eq!(view.tokens, fresh(&wanted).tokens);
            let found: Vec<_> = (0..12).filter_map(|index| view.at_host(index)).collect();
            prop_assert_eq!(found, wanted.iter().collect::<Vec<_>>());
        }

        #[test]
        fn unchanged_parts_of_a_list_are_not_repeated(
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
