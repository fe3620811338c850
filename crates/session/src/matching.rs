//! Compares the host's list of messages with the known chat: did it grow, branch, or get rewritten?

use std::collections::{HashMap, HashSet};

use super::chat::Chat;
use super::event::Rewrite;
use super::message::MessageKey;

/// One message of the host's list, matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEntry {
    /// A known message, by its position in the chat.
    Known(u64),
    /// A new message, by its index in the list.
    New(usize),
}

/// How a host's list continues the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMatch {
    /// Number of messages at the front of the window that the list still starts with.
    pub kept: usize,
    /// The list from `kept` on.
    pub rest: Vec<HostEntry>,
    /// Set if the list does not simply continue the window.
    pub rewrite: Option<Rewrite>,
    /// Number of messages at the front of the chat that stay.
    pub chat_len: u64,
}

/// Matches the host's list with the chat by message identity. No message is matched twice or lost.
///
/// `skip`: number of messages at the front that are known to be unchanged; `keys` holds the keys of
/// the rest.
///
/// The longest common prefix with the window is kept. If that is the whole window, the rest is new.
/// Otherwise, if later entries are known messages or include a compaction summary, the host rewrote
/// its list and the chat keeps everything. If not, the list is another branch, and the chat goes
/// back to where the two diverge.
pub fn match_host_list(chat: &Chat, skip: usize, keys: &[MessageKey]) -> HostMatch {
    let window = chat.window();
    let skip = skip.min(window.len());
    let same = window[skip..]
        .iter()
        .zip(keys)
        .take_while(|(at, key)| chat.get(**at).is_some_and(|message| message.key == **key))
        .count();
    let kept = skip + same;
    let rest = &keys[same..];
    if kept == window.len() {
        let rest = (same..keys.len()).map(HostEntry::New).collect();
        return HostMatch { kept, rest, rewrite: None, chat_len: chat.len() };
    }
    let known = find_known(chat, &window[..kept], rest);
    let survives = known.iter().any(Option::is_some);
    let summary_first = rest.iter().any(|key| key.role == "compactionSummary");
    if survives || summary_first {
        let entries = known
            .into_iter()
            .enumerate()
            .map(|(index, at)| at.map_or(HostEntry::New(same + index), HostEntry::Known))
            .collect();
        let kind = if summary_first { Rewrite::Compaction } else { Rewrite::Rearranged };
        return HostMatch { kept, rest: entries, rewrite: Some(kind), chat_len: chat.len() };
    }
    let chat_len = window[..kept].iter().max().map_or(0, |at| at + 1);
    let entries = (same..keys.len()).map(HostEntry::New).collect();
    HostMatch { kept, rest: entries, rewrite: Some(Rewrite::Branch), chat_len }
}

/// Finds the message for each key, except those already `kept`. Hosts mostly keep the order, so
/// messages after the previous match are tried first; a key that identifies a single message is
/// accepted anywhere.
fn find_known(chat: &Chat, kept: &[u64], keys: &[MessageKey]) -> Vec<Option<u64>> {
    let mut places: HashMap<&MessageKey, Vec<u64>> = HashMap::new();
    for (at, message) in (0..).zip(chat.messages()) {
        places.entry(&message.key).or_default().push(at);
    }
    let mut used: HashSet<u64> = kept.iter().copied().collect();
    let mut next = kept.last().map_or(0, |at| at + 1);
    keys.iter()
        .map(|key| {
            let free = || places.get(key).into_iter().flatten().filter(|at| !used.contains(at));
            let is_distinct = key.timestamp.is_some() || !key.calls.is_empty();
            let later = free().find(|at| **at >= next);
            let at = *later.or_else(|| free().find(|_| is_distinct))?;
            used.insert(at);
            next = next.max(at + 1);
            Some(at)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::MessageKind;
    use base::object::Hash;

    fn key(name: &str) -> MessageKey {
        let role = if name == "S" { "compactionSummary" } else { "user" };
        MessageKey { role: role.into(), timestamp: None, calls: vec![name.into()] }
    }

    fn keys(names: &str) -> Vec<MessageKey> {
        names.chars().map(|c| key(&c.to_string())).collect()
    }

    fn chat(names: &str) -> Chat {
        let mut chat = Chat::default();
        for key in keys(names) {
            chat.push(key, Hash::of(""), MessageKind::Other, 1, false);
        }
        chat
    }

    fn known(range: std::ops::Range<u64>) -> Vec<HostEntry> {
        range.map(HostEntry::Known).collect()
    }

    #[test]
    fn a_list_that_continues_is_growth() {
        let found = match_host_list(&chat("abc"), 0, &keys("abcde"));
        assert_eq!((found.kept, found.rewrite), (3, None));
        assert_eq!(found.rest, [HostEntry::New(3), HostEntry::New(4)]);
    }

    #[test]
    fn messages_known_to_be_unchanged_need_not_be_given() {
        let found = match_host_list(&chat("abc"), 2, &keys("cd"));
        assert_eq!((found.kept, found.rewrite), (3, None));
        assert_eq!(found.rest, [HostEntry::New(1)]);
    }

    #[test]
    fn a_list_that_differs_from_a_message_on_is_a_branch() {
        let found = match_host_list(&chat("abcd"), 0, &keys("abx"));
        assert_eq!((found.kept, found.rewrite, found.chat_len), (2, Some(Rewrite::Branch), 2));
        let shorter = match_host_list(&chat("abcd"), 0, &keys("ab"));
        assert_eq!(
            (shorter.kept, shorter.rewrite, shorter.chat_len),
            (2, Some(Rewrite::Branch), 2)
        );
    }

    #[test]
    fn a_compacted_list_keeps_the_chat() {
        let found = match_host_list(&chat("abcd"), 0, &keys("Scde"));
        assert_eq!((found.kept, found.rewrite, found.chat_len), (0, Some(Rewrite::Compaction), 4));
        let mut expected = vec![HostEntry::New(0)];
        expected.extend(known(2..4));
        expected.push(HostEntry::New(3));
        assert_eq!(found.rest, expected);
    }

    #[test]
    fn a_removed_message_is_a_rearrangement() {
        let found = match_host_list(&chat("abcd"), 0, &keys("acd"));
        assert_eq!((found.kept, found.rewrite), (1, Some(Rewrite::Rearranged)));
        assert_eq!(found.rest, known(2..4));
    }

    #[test]
    fn messages_that_changed_places_are_known() {
        let found = match_host_list(&chat("abcd"), 0, &keys("acbde"));
        assert_eq!((found.kept, found.rewrite), (1, Some(Rewrite::Rearranged)));
        let known = [2, 1, 3].map(HostEntry::Known);
        assert_eq!(found.rest[..3], known);
        assert_eq!(found.rest[3], HostEntry::New(4));
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn every_message_of_the_list_is_matched_once(old in "[a-e]{0,8}", new in "[a-eS]{0,8}") {
            let chat = chat(&old);
            let list = keys(&new);
            let found = match_host_list(&chat, 0, &list);
            prop_assert_eq!(found.kept + found.rest.len(), list.len());
            let mut seen = std::collections::HashSet::new();
            for (index, entry) in found.rest.iter().enumerate() {
                match entry {
                    HostEntry::Known(at) => {
                        prop_assert!(seen.insert(*at), "doubled");
                        prop_assert_eq!(&chat.get(*at).unwrap().key, &list[found.kept + index]);
                    }
                    HostEntry::New(at) => prop_assert_eq!(*at, found.kept + index),
                }
            }
        }
    }
}
