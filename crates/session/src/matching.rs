//! Compares the host's list of messages with the known chat: did it grow, branch, or get rewritten?

mod passing;

use std::collections::{HashMap, HashSet};

use super::chat::Chat;
use super::event::Rewrite;
use super::message::MessageKey;
use super::passing::PassingMessage;
use base::object::Hash;

/// A message of the host's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Identity.
    pub key: MessageKey,
    /// See [`said`](super::said).
    pub said: Hash,
    /// See [`opening`](super::opening).
    pub opening: Option<u64>,
}

/// One message of the host's list, matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEntry {
    /// A known message, by its position in the chat.
    Known(u64),
    /// A new message, by its index in the list.
    New(usize),
    /// A message that passes, by its index in the list.
    Passing(usize),
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
    /// The passing messages among those kept.
    pub passing: Vec<PassingMessage>,
    /// Whether messages of the chat left the window.
    pub is_less: bool,
    /// Number of messages at the front of the chat that stay.
    pub chat_len: u64,
}

/// Matches the host's list with the chat by message identity. No message is matched twice or lost.
///
/// `skip`: number of messages at the front that are known to be unchanged; `list` holds the rest.
///
/// If the list continues the window but for messages that come and go, those pass. Otherwise the
/// longest common prefix with the window is kept. If later entries are then known messages or
/// include a new compaction summary, the host rewrote its list and the chat keeps everything. So it
/// does if the list goes back to a window that the host left so. If not, the list is another branch,
/// and the chat goes back to where the two diverge.
pub fn match_host_list(chat: &Chat, skip: usize, list: &[Listed]) -> HostMatch {
    let skip = skip.min(chat.window.len());
    passing::continued(chat, skip, list).unwrap_or_else(|| rewritten(chat, skip, list))
}

/// The answer with the call that a result belongs to: the newest one that has a call of this ID
/// without a result. `newest_first`: the messages before the result. Servers repeat IDs.
pub fn answer_of<'a>(
    id: &str,
    newest_first: impl Iterator<Item = &'a MessageKey>,
) -> Option<usize> {
    let mut answered = 0;
    for (back, key) in newest_first.enumerate() {
        let calls = key.calls.iter().filter(|call| *call == id).count();
        match key.role.as_str() {
            "toolResult" => answered += calls,
            "assistant" if calls > answered => return Some(back),
            _ => answered -= calls.min(answered),
        }
    }
    None
}

/// A list that does not continue the window.
fn rewritten(chat: &Chat, skip: usize, list: &[Listed]) -> HostMatch {
    let window = &chat.window;
    let same = window[skip..].iter().zip(list).take_while(|(at, listed)| {
        chat.get(**at).is_some_and(|message| {
            message.key == listed.key && (!chat.is_passing(**at) || message.digest == listed.said)
        })
    });
    let same = same.count();
    let kept = skip + same;
    let rest = &list[same..];
    let own = &chat.own_window;
    let kept_own = &own[..chat.passing.own_before(kept)];
    let known = find_known(chat, kept_own, rest);
    let survives = known.iter().any(Option::is_some);
    let is_new_summary = |(listed, at): (&Listed, &Option<u64>)| {
        at.is_none() && listed.key.role == "compactionSummary"
    };
    let is_compacted = rest.iter().zip(&known).any(is_new_summary);
    let before_new = known.iter().map_while(|at| *at);
    let lead: Vec<u64> = kept_own.iter().copied().chain(before_new).collect();
    let is_lead = lead.len() == kept_own.len() + known.iter().flatten().count();
    let goes_back = is_lead && chat.left_window(&lead).is_some();
    let entries = known.into_iter().enumerate().map(|(index, at)| match at {
        Some(at) => HostEntry::Known(at),
        None if passing::passes_anywhere(chat, &rest[index]) => HostEntry::Passing(same + index),
        None => HostEntry::New(same + index),
    });
    let rest = entries.collect();
    let (how, chat_len) = match (survives, is_compacted) {
        (_, true) => (Rewrite::Compaction, chat.len()),
        (true, false) if goes_back => (Rewrite::Branch, chat.len()),
        (true, false) => (Rewrite::Rearranged, chat.len()),
        (false, false) => (Rewrite::Branch, kept_own.iter().max().map_or(0, |at| at + 1)),
    };
    let passing = chat.passing.before(kept);
    HostMatch { kept, rest, passing, rewrite: Some(how), is_less: true, chat_len }
}

/// Finds the message for each of these, except those already `kept`. Hosts mostly keep the order,
/// so messages after the previous match are tried first; a key that identifies a single message is
/// accepted anywhere.
fn find_known(chat: &Chat, kept: &[u64], list: &[Listed]) -> Vec<Option<u64>> {
    let mut places: HashMap<&MessageKey, Vec<u64>> = HashMap::new();
    for (at, message) in (0..).zip(&chat.messages) {
        places.entry(&message.key).or_default().push(at);
    }
    let mut used: HashSet<u64> = kept.iter().copied().collect();
    let mut next = kept.last().map_or(0, |at| at + 1);
    list.iter()
        .map(|Listed { key, .. }| {
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

    fn key(name: &str) -> MessageKey {
        let role = if name == "S" { "compactionSummary" } else { "user" };
        MessageKey { role: role.into(), timestamp: None, calls: vec![name.into()] }
    }

    fn keys(names: &str) -> Vec<Listed> {
        let listed = |key| Listed { key, said: Hash::of(""), opening: None };
        names.chars().map(|c| listed(key(&c.to_string()))).collect()
    }

    fn chat(names: &str) -> Chat {
        let mut chat = Chat::default();
        for Listed { key, said, .. } in keys(names) {
            chat.push(key, said, MessageKind::Other, 1, false, None);
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

    fn dated(role: &str, time: i64, opening: u64) -> Listed {
        let calls = if role == "toolResult" { vec![time.to_string()] } else { Vec::new() };
        let key = MessageKey { role: role.into(), timestamp: Some(time), calls };
        Listed { key, said: Hash::of(time.to_string()), opening: Some(opening) }
    }

    fn take(chat: &mut Chat, listed: &Listed) {
        let kind = match listed.key.role.as_str() {
            "user" => MessageKind::User,
            "assistant" => MessageKind::Assistant,
            _ => MessageKind::Other,
        };
        let Listed { key, said, opening } = listed.clone();
        chat.push(key, said, kind, 1, false, opening);
    }

    #[test]
    fn a_message_that_is_gone_with_an_answer_behind_it_passed() {
        let list = [
            dated("user", 1, 1),
            dated("assistant", 2, 0),
            dated("toolResult", 3, 0),
            dated("user", 4, 7),
        ];
        let mut chat = Chat::default();
        for listed in &list {
            take(&mut chat, listed);
        }
        chat.called();
        let more = [dated("assistant", 5, 0), dated("toolResult", 6, 0), dated("user", 7, 7)];
        let next: Vec<Listed> = list[..3].iter().chain(&more).cloned().collect();
        let found = match_host_list(&chat, 0, &next);
        assert_eq!((found.kept, found.rewrite), (3, Some(Rewrite::Passing)));
        assert_eq!((found.is_less, found.chat_len), (true, 3));
        // Another one in its place is what the person wrote anew.
        let next: Vec<Listed> = list[..3].iter().chain(&more[2..]).cloned().collect();
        let found = match_host_list(&chat, 0, &next);
        assert_eq!((found.kept, found.rewrite), (3, Some(Rewrite::Branch)));
    }

    #[test]
    fn what_stood_before_the_first_turn_may_be_gone() {
        let list = [dated("user", 1, 1), dated("custom", 2, 2), dated("user", 3, 3)];
        let mut chat = Chat::default();
        for listed in &list {
            take(&mut chat, listed);
        }
        chat.called();
        let next = [list[2].clone(), dated("assistant", 4, 0), dated("toolResult", 5, 0)];
        let found = match_host_list(&chat, 0, &next);
        assert_eq!((found.kept, found.rewrite), (0, Some(Rewrite::Passing)));
        assert_eq!((&found.rest[0], found.chat_len), (&HostEntry::Known(2), 3));
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
                        prop_assert_eq!(&chat.get(*at).unwrap().key, &list[found.kept + index].key);
                    }
                    HostEntry::New(at) | HostEntry::Passing(at) => prop_assert_eq!(*at, found.kept + index),
                }
            }
        }
    }
}
