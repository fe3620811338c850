//! The newest request of each side and what caches hold of all requests, kept up to date by events.

use super::Session;
use crate::caches::{CacheKey, Caches, CallTime, Prefix};
use crate::chat::Chat;
use crate::event::Rewrite;
use crate::prefixes::{PlainList, SentSlots};
use crate::record::CallRecord;

/// The requests of a session as caches see them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requests {
    /// The slots of our newest request.
    pub slots: SentSlots,
    /// The plain host's newest request.
    pub list: PlainList,
    /// What caches hold of our requests.
    pub ours: Caches,
    /// What caches would hold of the plain host's requests.
    pub plain: Caches,
    /// Whether the newest call has no answer yet.
    pub(super) is_open: bool,
    /// Whether the host's own messages went out since the newest recorded call.
    is_hosts: bool,
}

impl Requests {
    /// Whether the newest request is that of the newest recorded call, and not one with the host's
    /// own messages.
    pub fn is_newest_recorded(&self) -> bool {
        !self.is_hosts
    }

    /// Records a request with the host's own messages, and the plain host's.
    pub(super) fn host_sent(
        &mut self,
        (key, request): (CacheKey<'_>, &[Prefix]),
        (plain_key, plain): (CacheKey<'_>, &[Prefix]),
        now: CallTime,
    ) {
        self.is_hosts = true;
        self.ours.sent(key, now, request);
        self.plain.sent(plain_key, now, plain);
    }

    /// Records that the newest request's cache was used at this time.
    pub(super) fn touched(&mut self, time: Option<i64>) {
        self.ours.touched(time);
        self.plain.touched(time);
    }
}

/// Time stamp of the newest of some messages of the window that has one and does not pass: what
/// another extension puts in may say any time.
pub(super) fn newest_time(chat: &Chat, messages: &[u64]) -> Option<i64> {
    let own = messages.iter().rev().filter(|at| !chat.is_passing(**at));
    own.filter_map(|at| chat.get(*at)).find_map(|message| message.key.timestamp)
}

impl Session {
    /// The requests as caches see them.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Time stamp of the newest message of the chat that has one, in ms since 1970.
    pub fn newest_time(&self) -> Option<i64> {
        newest_time(&self.chat, &self.chat.own_window)
    }

    /// Records a sent request. The ledger already has its prices.
    pub(super) fn request_sent(&mut self, record: &CallRecord) {
        let lifetime_seconds =
            self.bill.prices.as_ref().and_then(|note| note.prices.lifetime_seconds);
        let now = CallTime { time: self.newest_time(), lifetime_seconds };
        let key =
            CacheKey { model: record.model.as_deref(), prompt: record.system_prompt.as_ref() };
        let Requests { slots, list, ours, plain, is_open, is_hosts } = &mut self.requests;
        *is_hosts = false;
        slots.apply(&record.edits, &self.chat);
        ours.sent(key, now, slots.prefixes());
        *is_open = true;
        if record.bill.extra {
            // The plain host would not make this call and so would make its next one sooner: its
            // cache stays alive meanwhile.
            plain.touched(now.time);
            return;
        }
        list.apply(&self.chat, self.bill.compaction, record.number);
        plain.sent(key, now, list.prefixes());
    }

    /// A message joined the chat.
    pub(super) fn request_answered(&mut self, at: u64) {
        let message = self.chat.get(at);
        let answer = message.filter(|message| message.is_answer());
        if let Some(answer) = answer.filter(|_| self.requests.is_open) {
            let time = answer.key.timestamp;
            self.requests.touched(time);
            self.requests.is_open = false;
        }
    }

    /// The text of a message of the chat changed.
    pub(super) fn request_edited(&mut self, at: u64) {
        self.requests.slots.edited(at);
        let index = self.chat.window.iter().position(|known| *known == at);
        let is_volatile = self.chat.get(at).is_some_and(crate::ChatMessage::is_volatile);
        if let Some(index) = index {
            self.requests.list.edited(index, is_volatile);
        }
    }

    /// Other messages pass, from this index of the host's list on.
    pub(super) fn request_passed(&mut self, first: usize) {
        self.requests.list.edited(first, !self.chat.passing.is_empty());
    }

    /// The host's list is about to be replaced.
    pub(super) fn request_cut(&mut self, how: Rewrite, chat_len: u64, window: &[u64]) {
        if matches!(how, Rewrite::Branch | Rewrite::Passing) {
            self.requests.slots.cut(chat_len);
        }
        let same = self.chat.window.iter().zip(window);
        let same = same.take_while(|(a, b)| a == b && **a < chat_len).count();
        self.requests.list.cut(same);
    }
}
