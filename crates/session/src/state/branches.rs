//! The branches of the conversation: which calls were made on the present one, and which answers no
//! recorded call had asked for. Messages are told apart by their identity, whatever their texts
//! are.

use std::collections::HashSet;

use serde::Serialize;

use super::Session;
use crate::chat::{ChatMessage, LeftWindow};
use crate::dollars;
use crate::event::Rewrite;
use crate::message::MessageKind;
use crate::prefixes::{extended, number_of};

/// Sums of calls that were made on branches which the person left since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftSums {
    /// Number of calls.
    pub calls: u64,
    /// Our cost.
    pub cost: f64,
    /// The plain host's.
    pub plain_cost: f64,
    /// `cost` in US dollars, as far as prices are known.
    pub dollars: f64,
    /// `plain_cost` in US dollars.
    pub plain_dollars: f64,
}

/// The branches of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Branches {
    /// For each message of the window that does not pass, a number that identifies the messages up to it. Messages of
    /// the host or its extensions do not count: some are there for one call only.
    prefixes: Vec<u64>,
    /// The lists with which calls were recorded, as such numbers.
    asked: HashSet<u64>,
    calls: Vec<BranchCall>,
    /// Answers that no recorded call had asked for, by position, and not yet in the account.
    pub(super) unasked: Vec<u64>,
    /// Calls that failed open, and not yet in the account: the number of messages of each, if known.
    pub(super) failed: Vec<Option<u64>>,
    /// Time of the newest message at the newest call that does not pass.
    since: Option<i64>,
}

/// A recorded call.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BranchCall {
    list: u64,
    cost: f64,
    plain_cost: f64,
    /// US dollars per uncached input token; 0 if unknown.
    rate: f64,
    is_left: bool,
}

impl Branches {
    /// Identifies the first messages of the window.
    pub(super) fn first(&self, count: usize) -> u64 {
        count.checked_sub(1).and_then(|last| self.prefixes.get(last)).copied().unwrap_or_default()
    }

    fn is_new(&self, message: &ChatMessage) -> bool {
        match (message.key.timestamp, self.since) {
            (Some(time), Some(since)) => time > since,
            _ => true,
        }
    }

    /// Whether an answer came to none of our calls.
    pub(super) fn is_unasked(&self, at: u64) -> bool {
        self.unasked.contains(&at)
    }

    /// Of each call, whether it was made on a branch that was left.
    pub(super) fn is_left(&self) -> Vec<bool> {
        self.calls.iter().map(|call| call.is_left).collect()
    }

    fn all(&self) -> u64 {
        self.first(self.prefixes.len())
    }

    fn push(&mut self, message: Option<&ChatMessage>) {
        let prefix = self.all();
        let said = message.filter(|message| !matches!(message.kind, MessageKind::Other));
        let prefix = said.map_or(prefix, |said| extended(prefix, number_of(&said.key)));
        self.prefixes.push(prefix);
    }
}

impl Session {
    /// Sums of the calls on branches that were left.
    pub fn left_sums(&self) -> LeftSums {
        let mut sums = LeftSums::default();
        for call in self.branches.calls.iter().filter(|call| call.is_left) {
            sums.calls += 1;
            sums.cost += call.cost;
            sums.plain_cost += call.plain_cost;
            sums.dollars += call.cost * call.rate;
            sums.plain_dollars += call.plain_cost * call.rate;
        }
        sums
    }

    /// Whether a message came after the newest call, and not from a branch that was left before.
    pub(super) fn is_new(&self, at: u64) -> bool {
        self.chat.get(at).is_some_and(|message| self.branches.is_new(message))
    }

    /// A message joined the chat and the window.
    pub(super) fn branch_grew(&mut self, at: u64) {
        let list = self.branches.all();
        let message = self.chat.get(at);
        self.branches.push(message);
        let Some(answer) = message.filter(|it| it.is_answer()) else { return };
        let is_new = self.branches.is_new(answer);
        let is_asked = self.requests.is_open || self.branches.asked.contains(&list);
        if self.calls > 0 && is_new && !is_asked {
            self.branches.unasked.push(at);
        }
    }

    /// The host's list was replaced. `back`: the window to which the person went back, if the chat
    /// has kept all that came since.
    pub(super) fn branch_changed(&mut self, how: Rewrite, back: Option<&LeftWindow>) {
        let mut before = std::mem::take(&mut self.branches.prefixes);
        if let Some(back) = back {
            for at in &back.own {
                self.branches.push(self.chat.get(*at));
            }
            before = std::mem::take(&mut self.branches.prefixes);
            let was_left = back.is_left.iter().copied().chain(std::iter::repeat(true));
            for (call, was_left) in self.branches.calls.iter_mut().zip(was_left) {
                call.is_left = was_left;
            }
        }
        let before: HashSet<u64> = before.into_iter().collect();
        for at in &self.chat.own_window {
            self.branches.push(self.chat.get(*at));
        }
        let len = self.chat.len();
        self.branches.unasked.retain(|at| *at < len);
        if how == Rewrite::Branch {
            let now: HashSet<u64> = self.branches.prefixes.iter().copied().collect();
            // No answer to the newest call comes on this branch.
            self.requests.is_open &=
                self.branches.calls.last().is_some_and(|call| now.contains(&call.list));
            for call in &mut self.branches.calls {
                call.is_left |= before.contains(&call.list) && !now.contains(&call.list);
            }
        }
    }

    /// The newest call was billed anew.
    pub(super) fn branch_measured(&mut self) {
        let newest = self.branches.calls.last_mut().zip(self.bill.last.as_ref());
        if let Some((call, last)) = newest {
            (call.cost, call.plain_cost) = (last.bill.ours.cost, last.bill.plain.cost);
        }
    }

    /// A call was recorded; the ledger already has it.
    pub(super) fn branch_called(&mut self) {
        let since = self.newest_time();
        let branches = &mut self.branches;
        let list = branches.all();
        branches.since = since;
        branches.asked.insert(list);
        branches.unasked.clear();
        branches.failed.clear();
        if branches.calls.iter().any(|call| call.is_left) {
            let now: HashSet<u64> = branches.prefixes.iter().copied().collect();
            for call in &mut branches.calls {
                call.is_left &= !now.contains(&call.list);
            }
        }
        let Some(bill) = self.bill.last.as_ref().map(|last| &last.bill) else { return };
        branches.calls.push(BranchCall {
            list,
            cost: bill.ours.cost,
            plain_cost: bill.plain.cost,
            rate: self.bill.prices.as_ref().and_then(dollars::rate).unwrap_or_default(),
            is_left: false,
        });
    }
}
