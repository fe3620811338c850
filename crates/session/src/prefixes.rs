//! The prefixes of each side's newest request, as [`Caches`](super::caches::Caches) compares them.
//! A fold of the session's events, so they are the same after a restart. A new call changes them
//! only from its first different message on.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::caches::Prefix;
use super::call_bill::SUMMARY_TOKENS;
use super::call_note::PlainCompaction;
use super::chat::{Chat, ChatMessage};
use super::message::MessageKind;
use super::passing::said;
use super::record::{SlotEdit, SlotRecord};

/// A number for a value. It is the same in every run of one build and is never stored.
pub fn number_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The prefix extended by one message.
pub fn extended(prefix: Prefix, message: u64) -> Prefix {
    number_of((prefix, message))
}

/// The slots of our newest request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentSlots {
    slots: Vec<SlotMark>,
    prefixes: Vec<Prefix>,
    /// Number of slots at the front whose messages are unchanged since they were sent.
    same: usize,
}

/// What distinguishes one slot from another.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SlotMark {
    /// A message of the chat as the host gave it.
    Given(u64),
    /// A message of the chat with other content: its position, and a number for the content.
    Changed(u64, u64),
    /// Anything else.
    Other(u64),
}

impl SentSlots {
    /// The slots of a whole request.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a SlotRecord>, chat: &Chat) -> Self {
        let slots = records.into_iter().map(|record| SlotMark::new(record, None)).collect();
        let mut sent = Self { slots, ..Self::default() };
        sent.count(0, chat);
        sent
    }

    /// The prefixes of the request.
    pub fn prefixes(&self) -> &[Prefix] {
        &self.prefixes
    }

    /// Those up to the last of the host's messages at the front that are unchanged since.
    pub fn unchanged(&self) -> &[Prefix] {
        let last = self.slots[..self.same].iter().rposition(|slot| slot.chat().is_some());
        &self.prefixes[..last.map_or(0, |last| last + 1)]
    }

    /// Applies the edits that a call records.
    pub fn apply(&mut self, edits: &[SlotEdit], chat: &Chat) {
        let pool = self.slots.first().copied();
        let mut first = self.same.min(self.slots.len());
        for edit in edits {
            let (at, remove) = (index(edit.at).min(self.slots.len()), index(edit.remove));
            let end = at.saturating_add(remove).min(self.slots.len());
            let insert = edit.insert.iter().map(|record| SlotMark::new(record, pool));
            drop(self.slots.splice(at..end, insert));
            first = first.min(at);
        }
        self.count(first, chat);
    }

    /// The text of a message of the chat changed.
    pub(super) fn edited(&mut self, at: u64) {
        self.stands_until(|chat| chat == at);
    }

    /// The chat keeps this many messages; others replace the rest.
    pub(super) fn cut(&mut self, chat_len: u64) {
        self.stands_until(|chat| chat >= chat_len);
    }

    fn stands_until(&mut self, is_other: impl Fn(u64) -> bool) {
        let is_other = |slot: &SlotMark| slot.chat().is_some_and(&is_other);
        let first = self.slots.iter().position(is_other);
        self.same = first.map_or(self.same, |first| self.same.min(first));
    }

    fn count(&mut self, first: usize, chat: &Chat) {
        self.prefixes.truncate(first);
        let mut prefix = self.prefixes.last().copied().unwrap_or_default();
        self.prefixes.extend(self.slots[first..].iter().map(|slot| {
            prefix = extended(prefix, slot.number(chat));
            prefix
        }));
        self.same = self.slots.len();
    }
}

impl SlotMark {
    /// `pool`: the previous first slot, whose lines the metadata pool continues.
    fn new(record: &SlotRecord, pool: Option<Self>) -> Self {
        match record {
            SlotRecord::Chat { chat, content: None, folded: None } => Self::Given(*chat),
            SlotRecord::Chat { chat, content, folded } => {
                Self::Changed(*chat, number_of((content, folded)))
            }
            SlotRecord::Pool { pool_keep, pool_add, time } => {
                let pool = match pool {
                    Some(Self::Other(pool)) => pool,
                    _ => 0,
                };
                Self::Other(number_of((pool, pool_keep, pool_add, time)))
            }
            SlotRecord::Active { active, version, ranges, time } => {
                let ranges: Vec<_> = ranges.iter().map(|range| (range.first, range.last)).collect();
                Self::Other(number_of((active, version, ranges, time)))
            }
            // Providers see no time stamps.
            SlotRecord::Message { message, .. } => Self::Other(number_of(said(message))),
        }
    }

    fn chat(&self) -> Option<u64> {
        match self {
            Self::Given(chat) | Self::Changed(chat, _) => Some(*chat),
            Self::Other(_) => None,
        }
    }

    fn number(&self, chat: &Chat) -> u64 {
        match self {
            Self::Given(at) => number_of(chat.get(*at).map(|message| &message.digest)),
            Self::Changed(at, content) => match chat.get(*at) {
                // What the host has there does not go out.
                Some(ChatMessage { key, kind: MessageKind::Result(_), .. }) => {
                    number_of((&key.role, &key.calls, content))
                }
                message => number_of((message.map(|message| &message.digest), content)),
            },
            Self::Other(number) => *number,
        }
    }
}

/// The plain host's newest request: its own list without our tools, and a summary before it once it
/// has compacted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlainList {
    prefixes: Vec<Prefix>,
    compaction: Option<PlainCompaction>,
    /// Number of messages of the host's list.
    len: usize,
    /// Number of messages at the front of the host's list that are unchanged since they were sent.
    same: usize,
    /// Whether any message is known to change on every call.
    any_volatile: bool,
}

impl PlainList {
    /// The prefixes of the request.
    pub fn prefixes(&self) -> &[Prefix] {
        &self.prefixes
    }

    /// Updates to the host's list at a call. `compaction`: the plain host's compaction then in
    /// effect. `call`: number of the call.
    pub fn apply(&mut self, chat: &Chat, compaction: Option<PlainCompaction>, call: u64) {
        let window = &chat.window;
        if self.compaction != compaction {
            (self.compaction, self.same) = (compaction, 0);
        }
        let mut first = self.same.min(window.len());
        if self.any_volatile {
            let is_volatile = |at: &u64| chat.get(*at).is_some_and(ChatMessage::is_volatile);
            first = window.iter().position(is_volatile).unwrap_or(first).min(first);
        }
        if first == 0 {
            let summary = compaction.map(|made| number_of((made.from, made.dropped)));
            self.prefixes = summary.into_iter().collect();
        } else if first < self.len {
            let before = (0..first).filter(|index| self.sends(chat, *index)).count();
            self.prefixes.truncate(usize::from(compaction.is_some()) + before);
        }
        for (index, at) in window.iter().enumerate().skip(first) {
            let Some(message) = chat.get(*at).filter(|_| self.sends(chat, index)) else { continue };
            let prefix = self.prefixes.last().copied().unwrap_or_default();
            self.prefixes.push(extended(prefix, number(chat, message, *at, call)));
        }
        (self.len, self.same) = (window.len(), window.len());
    }

    /// The prefixes of the request that the first messages of the host's list make.
    pub fn front(&self, chat: &Chat, count: usize) -> &[Prefix] {
        let sent = (0..count).filter(|index| self.sends(chat, *index)).count();
        let summary = usize::from(self.compaction.is_some());
        &self.prefixes[..self.prefixes.len().min(summary + sent)]
    }

    /// Tokens of the first `count` messages.
    pub fn tokens(&self, chat: &Chat, count: usize) -> u64 {
        let window = &chat.window;
        let summary = usize::from(self.compaction.is_some()).min(count);
        let sent = (0..window.len()).filter(|index| self.sends(chat, *index)).take(count - summary);
        let tokens = sent.filter_map(|index| Some(chat.get(window[index])?.tokens)).sum::<u64>();
        tokens + summary as u64 * SUMMARY_TOKENS
    }

    /// The text of the message at an index of the host's list changed.
    pub(super) fn edited(&mut self, index: usize, is_volatile: bool) {
        self.same = self.same.min(index);
        self.any_volatile |= is_volatile;
    }

    /// The host's list holds other messages from an index on.
    pub(super) fn cut(&mut self, index: usize) {
        self.same = self.same.min(index);
    }

    /// Whether the plain host sends the message at an index of the list.
    fn sends(&self, chat: &Chat, index: usize) -> bool {
        let of = |index: usize| chat.get(*chat.window.get(index)?);
        let Some(message) = of(index) else { return false };
        let is_dropped = |compaction: PlainCompaction| chat.window[index] < compaction.from;
        let asks_us = || {
            let calls = message.key.calls.len();
            message.is_answer()
                && calls > 0
                && (1..=calls).all(|next| of(index + next).is_some_and(is_own_result))
        };
        !self.compaction.is_some_and(is_dropped) && !is_own_result(message) && !asks_us()
    }
}

/// A number for a message. A message of the chat that changes on every call gets a new number in
/// each.
fn number(chat: &Chat, message: &ChatMessage, at: u64, call: u64) -> u64 {
    if message.is_volatile() && !chat.is_passing(at) {
        number_of((at, call))
    } else {
        number_of(&message.digest)
    }
}

fn is_own_result(message: &ChatMessage) -> bool {
    matches!(&message.kind, MessageKind::Result(fact) if fact.is_own())
}

fn index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
