//! Calls that went out with the host's own messages: they failed open, or were made while
//! Palimpsest was off. Their answers show that they were made, and the host's list what was sent.
//! Nothing of these calls crossed, so that what they cost is worked out from the list.

use std::collections::VecDeque;

use super::Session;
use super::requests::newest_time;
use crate::caches::{CacheKey, CallTime};
use crate::call_bill::{BillTerms, Front, Side, plain_tokens};
use crate::host_call::{HostCall, HostCalls, HostSides};
use crate::measured::Weighed;
use crate::message::MessageKind;
use crate::prefixes::SentSlots;
use crate::record::{FailedCall, SlotRecord};
use config::scaled;

impl Session {
    /// The calls that went out with the host's own messages since the newest one in the account.
    ///
    /// Those that failed come first: where it was turned off, that was after them. A failed call
    /// whose list is not known is taken for that of the next answer, or for the present one.
    pub fn host_calls(&self) -> Vec<HostCall> {
        let unasked = self.branches.unasked.iter().filter_map(|at| self.chat.index_of(*at));
        let mut lists: VecDeque<u64> = unasked.map(|index| index as u64).collect();
        let whole = self.chat.window.len() as u64;
        let mut calls = Vec::new();
        for known in &self.branches.failed {
            let messages = known.or_else(|| lists.front().copied()).unwrap_or(whole).min(whole);
            lists.retain(|list| *list != messages);
            calls.push(HostCall { messages, failed: true });
        }
        // Before the first call nobody had turned it off.
        lists.retain(|_| self.sent.is_some());
        calls.extend(lists.into_iter().map(|messages| HostCall { messages, failed: false }));
        calls
    }

    /// Whether a person wrote since the newest call among the first messages of the window.
    pub fn has_asked_since(&self, messages: u64) -> bool {
        let count = usize::try_from(messages).unwrap_or(usize::MAX);
        let mut said = self.window().take(count);
        said.any(|(at, message)| matches!(message.kind, MessageKind::User) && self.is_new(at))
    }

    /// Calls failed open. Each list is told by how it differs from the one before.
    pub(super) fn note_failed(&mut self, failed: &[FailedCall]) {
        let mut messages = 0_u64;
        for call in failed {
            for edit in call.edits.iter().flatten() {
                messages = messages.saturating_sub(edit.remove) + edit.insert.len() as u64;
            }
            self.branches.failed.push(call.edits.as_ref().map(|_| messages));
        }
        self.calls += failed.len() as u64;
    }

    /// Enters them in the account, and what they left in the caches.
    pub(super) fn enter_host_calls(&mut self, calls: &HostCalls) {
        self.branches.unasked.clear();
        self.branches.failed.clear();
        if calls.prices.is_some() {
            self.bill.prices.clone_from(&calls.prices);
        }
        for call in &calls.calls {
            self.enter_host_call(calls, *call);
        }
    }

    fn enter_host_call(&mut self, around: &HostCalls, call: HostCall) -> Option<()> {
        let window = &self.chat.window;
        let count = usize::try_from(call.messages).unwrap_or(usize::MAX).min(window.len());
        let list = &window[..count];
        let known = || list.iter().filter_map(|at| self.chat.get(*at));
        let prices = self.bill.prices.as_ref()?.prices.clone();
        let time = newest_time(&self.chat, list);
        let now = CallTime { time, lifetime_seconds: prices.lifetime_seconds };
        let factor = around.factor.unwrap_or(1.0);
        let plain_fixed = around.fixed.saturating_sub(around.overhead);
        let (model, prompt) = (around.model.as_deref(), around.prompt.as_ref());
        let plain_key = CacheKey { model, prompt };
        // Without us the system prompt is another one.
        let key = if call.failed { plain_key } else { CacheKey { model, prompt: None } };
        let fixed = if call.failed { around.fixed } else { plain_fixed };
        let sum = |count: usize| known().take(count).map(|message| message.tokens).sum::<u64>();

        let given = |at: &u64| SlotRecord::Chat { chat: *at, content: None, folded: None };
        let records: Vec<SlotRecord> = list.iter().map(given).collect();
        let slots = SentSlots::of(&records, &self.chat);
        let held = self.requests.ours.held(key, now, prices.reuse, slots.prefixes());
        let terms = |warm: bool| BillTerms { prices: &prices, warm, factor };
        let front = |cached: u64| Front { shared: None, cached: Some(cached) };
        let sum_held = sum(held.unwrap_or(0));
        let mut ours = terms(held.is_some()).side(fixed, sum(count), front(sum_held), 0);
        let is_held = held.is_some();

        let own: u64 = list.iter().map(|at| self.own_tokens_of(*at)).sum();
        let compaction = self.plain_compaction().filter(|made| list.contains(&made.from));
        let mut plain_list = self.requests.list.clone();
        plain_list.apply(&self.chat, compaction, self.calls);
        let prefixes = plain_list.front(&self.chat, count).to_vec();
        let held = self.requests.plain.held(plain_key, now, prices.reuse, &prefixes);
        let cached = plain_list.tokens(&self.chat, held.unwrap_or(0));
        let messages = plain_tokens(sum(count) - own, compaction);
        let mut plain = terms(held.is_some()).side(plain_fixed, messages, front(cached), 0);
        if self.measured.knows(model) {
            let side = |side: Side, weighed: &Weighed, fixed: u64, cached: Option<u64>| {
                let fixed = scaled(fixed, self.measured.front(factor));
                let cached = cached.map_or(0, |cached| fixed + weighed.front(cached));
                Side::measured(side.messages, fixed + weighed.all(), cached, &prices)
            };
            let weighed = self.weighed_plain(count, compaction, factor);
            plain = side(plain, &weighed, plain_fixed, held.map(|_| cached));
            ours = side(ours, &self.weighed(count, factor), fixed, is_held.then_some(sum_held));
        }

        let answer = window[count..].iter().find(|at| !self.chat.is_passing(**at));
        let answered = answer.map(|at| newest_time(&self.chat, &[*at]));
        self.bill.host_called(&HostSides { ours, plain, failed: call.failed });
        // Without an answer nobody knows whether the provider took it.
        if let Some(time) = answered {
            self.requests.host_sent((key, slots.prefixes()), (plain_key, &prefixes), now);
            self.requests.touched(time.or(now.time));
        }
        Some(())
    }
}
