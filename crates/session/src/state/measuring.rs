//! What the reports of providers tell of a session's messages, and of the calls that were billed by an
//! estimate of them.

use super::Session;
use crate::call_bill::{SUMMARY_TOKENS, Side};
use crate::call_note::PlainCompaction;
use crate::chat::ChatMessage;
use crate::measured::{New, ReportedRatios, Waiting, Weighed};
use crate::message::MessageKind;
use crate::record::CallRecord;
use crate::report::{ReportKind, Reported};
use config::{as_f64, scaled};

impl Session {
    /// How many tokens of the provider's the messages have.
    pub fn measured(&self) -> &ReportedRatios {
        &self.measured
    }

    /// The messages that no call had before the coming one.
    pub(super) fn new_messages(&self) -> Vec<New> {
        let newest = self.chat.window.iter().rev().copied().take_while(|at| self.is_new(*at));
        let new = |at: u64| {
            let message = self.chat.get(at)?;
            let is_result = matches!(message.kind, MessageKind::Result(_));
            Some(New { at, tokens: message.tokens, is_result })
        };
        newest.filter_map(new).collect()
    }

    /// A call was recorded; the ledger already has it. `new`: its new messages; `before`: the request
    /// before it.
    pub(super) fn measure_called(&mut self, record: &CallRecord, new: Vec<New>, before: Side) {
        let waiting = self.bill.last.as_ref().map(|last| {
            let (bill, note) = (&last.bill, &record.bill);
            let kept = note.kept.or(note.shared);
            let new_tokens = bill.ours.messages.saturating_sub(kept.unwrap_or(before.messages));
            // What stands again is as large as it was.
            let stood = match kept {
                None => before.total(),
                Some(_) => bill.ours.total().saturating_sub(scaled(new_tokens, bill.factor)),
            };
            let (call, model) = (record.number, record.model.clone());
            let (has_grown, counted) = (kept.is_none(), bill.counted());
            Waiting { call, model, stood, has_grown, counted, new_tokens, new }
        });
        self.measured.called(waiting);
    }

    /// A report that can be believed: from now on the call is billed by its size, and what was new in
    /// it is known for the plain host's request, too.
    pub(super) fn measure_reported(&mut self, reported: &Reported) {
        let (Some(call), ReportKind::Call) = (reported.call, reported.kind) else { return };
        let Some(last) = self.bill.last.as_ref().filter(|last| last.number == call) else { return };
        let factor = last.bill.factor;
        let is_first = !self.measured.knows(last.model.as_deref());
        let all = last.bill.plain.messages + last.bill.fixed.saturating_sub(last.bill.overhead);
        let new = self.measured.reported(call, reported.total());
        let more = if is_first {
            as_f64(all) * (self.measured.front(factor) - factor)
        } else {
            let plain = |new: &New| new.tokens.saturating_sub(self.own_tokens_of(new.at));
            let more =
                |new: &New| as_f64(plain(new)) * (self.measured.ratio(new.at, factor) - factor);
            new.iter().map(more).sum()
        };
        self.bill.measured(reported.total(), more);
        self.branch_measured();
    }

    /// The host's messages among the first `count` of the window, each with its ratio. `otherwise`:
    /// that of those that no report told of.
    pub fn weighed(&self, count: usize, otherwise: f64) -> Weighed {
        let listed = self.window().take(count);
        let ratio = |(at, message): (u64, &ChatMessage)| {
            (message.tokens, self.measured.ratio(at, otherwise))
        };
        Weighed(listed.map(ratio).collect())
    }

    /// The same without what the plain host would not have, from its compaction on.
    pub fn weighed_plain(
        &self,
        count: usize,
        compaction: Option<PlainCompaction>,
        otherwise: f64,
    ) -> Weighed {
        let from = compaction.map_or(0, |made| made.from);
        let summary = compaction.iter().map(|_| (SUMMARY_TOKENS, otherwise));
        let mut weighed: Vec<(u64, f64)> = summary.collect();
        for (at, message) in self.window().take(count).filter(|(at, _)| *at >= from) {
            weighed.push((message.tokens, self.measured.ratio(at, otherwise)));
            let mut own = self.own_tokens_of(at);
            // What is ours of a step stands with its last result.
            for (tokens, _) in weighed.iter_mut().rev() {
                let taken = own.min(*tokens);
                (*tokens, own) = (*tokens - taken, own - taken);
                if own == 0 {
                    break;
                }
            }
        }
        Weighed(weighed)
    }
}
