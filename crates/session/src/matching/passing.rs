//! Finds the messages that come and go in a list that otherwise continues the window.
//!
//! An answer or a tool result never passes. A message before known ones was put there later, so it
//! passes. One behind them passes if it moved or if messages that begin like it passed before; else
//! it is new, and passes once it is gone with what came behind it still there.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::{HostEntry, HostMatch, Listed};
use crate::chat::{Chat, ChatMessage};
use crate::event::Rewrite;
use crate::message::MessageKind;

/// Matches a list that continues the window but for such messages; `None` for any other.
pub(super) fn continued(chat: &Chat, skip: usize, list: &[Listed]) -> Option<HostMatch> {
    let own = &chat.own_window[chat.passing.own_before(skip)..];
    let aligned = Aligned::new(chat, own, list)?;
    let entries = aligned.settled(chat, skip, list);
    let window = &chat.window;
    let same = entries.iter().zip(&window[skip..]).take_while(|(entry, at)| match entry {
        HostEntry::Known(known) => known == *at,
        HostEntry::New(_) => false,
        HostEntry::Passing(index) => {
            chat.is_passing(**at) && is_same(chat.get(**at), &list[*index])
        }
    });
    let same = same.count();
    let kept = skip + same;
    let is_less = !aligned.gone.is_empty();
    let gone_last = aligned.gone.last() == own.last() && is_less;
    let chat_len = if gone_last {
        let gone = |at: &&u64| aligned.gone.contains(at);
        chat.own_window.iter().filter(|at| !gone(at)).max().map_or(0, |at| at + 1)
    } else {
        chat.len()
    };
    Some(HostMatch {
        kept,
        rest: entries[same..].to_vec(),
        passing: chat.passing.before(kept),
        rewrite: (kept < window.len()).then_some(Rewrite::Passing),
        is_less,
        chat_len,
    })
}

/// Whether a message that the chat does not have passes, wherever it stands.
pub(super) fn passes_anywhere(chat: &Chat, listed: &Listed) -> bool {
    listed.key.may_pass() && chat.passing_kinds.begin(&listed.key.role, listed.opening)
}

/// A list beside the messages of the chat that it should continue.
struct Aligned {
    /// What each message of the list is; `None` if it may be new or pass.
    entries: Vec<Option<HostEntry>>,
    /// Positions of the messages that the list no longer has.
    gone: Vec<u64>,
}

impl Aligned {
    fn new(chat: &Chat, own: &[u64], list: &[Listed]) -> Option<Self> {
        let (mut entries, mut gone, mut next) = (Vec::with_capacity(list.len()), Vec::new(), 0);
        let going = Going { chat, one_call: OnceCell::new(), own, list };
        for (index, listed) in list.iter().enumerate() {
            if let Some(ahead) = going.ahead(&own[next..], listed) {
                gone.extend(&own[next..next + ahead]);
                next += ahead + 1;
                entries.push(Some(HostEntry::Known(own[next - 1])));
            } else if listed.key.may_pass() {
                entries.push(None);
            } else {
                let left = &own[next..];
                let is_summary = listed.key.role == "compactionSummary";
                if !left.is_empty() && (is_summary || !going.may_all_go(left)) {
                    return None;
                }
                gone.extend(left);
                next = own.len();
                entries.push(Some(HostEntry::New(index)));
            }
        }
        // Without an answer behind it, a person's message that is gone is one that they took back.
        let left = &own[next..];
        if !left.iter().all(|at| passed(chat, *at)) {
            return None;
        }
        gone.extend(left);
        Some(Self { entries, gone })
    }

    /// The entries, all decided.
    fn settled(&self, chat: &Chat, skip: usize, list: &[Listed]) -> Vec<HostEntry> {
        let last_known =
            self.entries.iter().rposition(|it| matches!(it, Some(HostEntry::Known(_))));
        let tail = last_known.map_or(0, |last| last + 1);
        let mut entries: Vec<HostEntry> = Vec::with_capacity(list.len());
        for (index, entry) in self.entries.iter().enumerate() {
            entries.push(match entry {
                Some(entry) => *entry,
                None if index < tail => HostEntry::Passing(index),
                None if self.passes(chat, (skip, tail, index), list) => HostEntry::Passing(index),
                None => HostEntry::New(index),
            });
        }
        self.let_turns_begin(chat, skip, list, &mut entries[..]);
        entries
    }

    /// Whether a message behind all known ones passes. `tail`: index of the first of these.
    fn passes(
        &self,
        chat: &Chat,
        (skip, tail, index): (usize, usize, usize),
        list: &[Listed],
    ) -> bool {
        let listed = &list[index];
        let is_dated = listed.key.timestamp.is_some();
        let is_it = |at: &u64| chat.get(*at).is_some_and(|gone| gone.key == listed.key);
        if is_dated && self.gone.iter().any(is_it) {
            return true;
        }
        let is_new = |entry: &Option<HostEntry>| matches!(entry, Some(HostEntry::New(_)));
        let stays = chat.passing.listed().any(|(at, message)| {
            at >= skip + tail && is_same(Some(message), listed) && message.key == listed.key
        });
        if stays {
            // What was sent in this place and has an answer behind it by now stays.
            let is_answered = self.entries[index..].iter().any(is_new);
            return self.entries[..index].iter().any(is_new) || !is_answered;
        }
        let answers = self.entries[index..].iter().zip(&list[index..]);
        let after = answers.filter(|(_, listed)| listed.key.role == "assistant").count();
        let (kinds, role) = (&chat.passing_kinds, &listed.key.role);
        kinds.begin(role, listed.opening) || kinds.stand(role, after)
    }

    /// Turns begin with a person's message: behind a finished answer not all can pass.
    fn let_turns_begin(
        &self,
        chat: &Chat,
        skip: usize,
        list: &[Listed],
        entries: &mut [HostEntry],
    ) {
        let own = chat.own_window[..chat.passing.own_before(skip)].last();
        let is_finished = |at: &u64| {
            chat.get(*at).is_none_or(|message| {
                matches!(message.kind, MessageKind::Assistant) && message.key.calls.is_empty()
            })
        };
        let mut may_begin = own.is_none_or(is_finished);
        let mut first = None;
        for index in 0..=entries.len() {
            let listed = list.get(index);
            let role = listed.map_or("", |listed| listed.key.role.as_str());
            match (role, entries.get(index)) {
                ("user", Some(HostEntry::Passing(_))) if may_begin => {
                    first = first.or(Some(index).filter(|index| !self.is_before_known(*index)));
                }
                ("user", Some(_)) => (may_begin, first) = (false, None),
                ("custom" | "system", Some(_)) => {}
                _ => {
                    if let Some(index) = first.take() {
                        entries[index] = HostEntry::New(index);
                    }
                    let calls = listed.map_or(0, |listed| listed.key.calls.len());
                    may_begin = role == "assistant" && calls == 0;
                }
            }
        }
    }

    fn is_before_known(&self, index: usize) -> bool {
        self.entries[index..].iter().any(|entry| matches!(entry, Some(HostEntry::Known(_))))
    }
}

/// Finds which messages of the chat another extension may have taken out of a list.
struct Going<'a> {
    chat: &'a Chat,
    own: &'a [u64],
    list: &'a [Listed],
    /// Whether the list has come of one more call at most; found when it is asked for.
    one_call: OnceCell<bool>,
}

impl Going<'_> {
    /// How many messages of the chat stand before the one that is listed, if they may all be gone.
    fn ahead(&self, own: &[u64], listed: &Listed) -> Option<usize> {
        for (ahead, at) in own.iter().enumerate() {
            if self.chat.get(*at)?.key == listed.key {
                return Some(ahead);
            }
            if !self.may_go(*at, &own[ahead + 1..]) {
                return None;
            }
        }
        None
    }

    fn may_all_go(&self, own: &[u64]) -> bool {
        own.iter().enumerate().all(|(index, at)| self.may_go(*at, &own[index + 1..]))
    }

    /// Whether another extension may have taken out a message: it came with the newest call, and
    /// did not begin a turn alone. `behind`: the messages of the chat behind it.
    fn may_go(&self, at: u64, behind: &[u64]) -> bool {
        let kind = |at: &u64| self.chat.get(*at).map(|message| &message.kind);
        let is_user = |at: &u64| matches!(kind(at), Some(MessageKind::User));
        let is_other = |at: &u64| matches!(kind(at), Some(MessageKind::Other));
        if !is_user(&at) || passed(self.chat, at) {
            return passed(self.chat, at);
        }
        let before = self.chat.index_of(at).map(|index| self.chat.passing.own_before(index));
        let before = before.and_then(|index| self.chat.own_window.get(index.checked_sub(1)?));
        let begins = before.is_none_or(|at| matches!(kind(at), Some(MessageKind::Assistant)));
        at >= self.chat.fresh_from()
            && (!begins || behind.iter().find(|at| !is_other(at)).is_some_and(is_user))
            && *self.one_call.get_or_init(|| self.is_of_one_call())
    }

    /// A branch has the answers of all its calls.
    fn is_of_one_call(&self) -> bool {
        let known: HashSet<_> =
            self.own.iter().filter_map(|at| Some(&self.chat.get(*at)?.key)).collect();
        let answers = self.list.iter().filter(|listed| listed.key.role == "assistant");
        answers.filter(|listed| !known.contains(&listed.key)).count() <= 1
    }
}

/// Whether a message of the chat is of a kind that passes.
fn passed(chat: &Chat, at: u64) -> bool {
    let Some(ChatMessage { key, kind, opening, .. }) = chat.get(at) else { return false };
    match kind {
        MessageKind::Other => matches!(key.role.as_str(), "custom" | "system"),
        MessageKind::User => chat.passing_kinds.begin(&key.role, *opening),
        MessageKind::Assistant | MessageKind::Result(_) => false,
    }
}

fn is_same(known: Option<&ChatMessage>, listed: &Listed) -> bool {
    known.is_some_and(|it| it.key.role == listed.key.role && it.digest == listed.said)
}
