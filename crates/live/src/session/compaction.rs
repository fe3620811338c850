//! For a host that is about to compact: whether it should, and with which summary. The decision is
//! made in `context`.

use super::LiveSession;
use crate::CallInfo;
use crate::journal::{Activity, Segment};
use crate::request::{ListTail, coming};
use base::error::Result;
use config::scaled;
use context::host::HostMessage;
use context::host_compaction::{
    self, CompactionAnswer, HostCompaction, Leaves, Reason, Said, is_ours,
};
use context::ledger::RESERVED_TOKENS;
use context::window::most_tokens;
use context::{deeds, forms};
use session::MessageKind;

/// Number of newest results whose effects a summary lists.
const DEEDS: usize = 200;

impl LiveSession {
    /// Answers a host that is about to compact. Afterwards the whole next list has to cross.
    ///
    /// `messages`: its present list, each as JSON. `call`: what the next call would be made with.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a message is not JSON; errors of the store. The host should
    /// then compact.
    pub fn answer_compaction(
        &mut self,
        messages: Vec<String>,
        call: &CallInfo,
        asked: &HostCompaction,
    ) -> Result<CompactionAnswer> {
        let _bounded = self.bounded();
        let mut messages = HostMessage::parse_list(messages, self.options.counter)?;
        self.reload_if_in_doubt()?;
        self.restore_and_withhold(0, &mut messages)?;
        let kept_from = call.kept_from();
        let list = ListTail { skip: 0, messages: &messages, kept_from };
        match asked.reason {
            Reason::Manual => {
                self.stored(|live| live.take_unseen(&list))?;
                Ok(CompactionAnswer::Host)
            }
            // The host judges by its own list, and the next call may go out with that too.
            _ if self.request.has_failed() => Ok(CompactionAnswer::Host),
            Reason::Overflow if asked.retries => self.own_summary(&list, call, asked.kept_from),
            Reason::Threshold | Reason::Overflow => {
                let Some(window) = call.context_window else { return Ok(CompactionAnswer::Host) };
                let most = most_tokens(window, asked.reserved.unwrap_or(RESERVED_TOKENS));
                let cancels = self.next_tokens(&list, call)? <= most && self.may_cancel(most);
                Ok(if cancels { CompactionAnswer::Cancel } else { CompactionAnswer::Host })
            }
        }
    }

    /// Whether telling the host not to compact would help; records that it was told.
    fn may_cancel(&mut self, most: u64) -> bool {
        let (state, bill) = (self.state(), self.state().bill());
        let is_small = bill.last.as_ref().is_some_and(|last| last.bill.ours.total() <= most);
        let cancelled = self.cancelled.with(state.calls(), bill.reported.calls, is_small);
        self.cancelled = cancelled.unwrap_or_default();
        cancelled.is_some()
    }

    /// Tokens of the next request, in the provider's count. It is laid out as for a call, and
    /// everything is discarded again.
    fn next_tokens(&mut self, list: &ListTail<'_>, call: &CallInfo) -> Result<u64> {
        let reports = self.journal.staged_reports();
        let tokens = self.attempt(|live| {
            let (_, laid) = live.prepare(list, call, &mut Vec::new())?;
            let coming = coming(live.state(), &live.options, call, laid.prompt.as_ref());
            Ok(scaled(live.request.view.tokens + coming.fixed, coming.factor))
        });
        self.journal.doubt();
        self.start_anew(Self::reload, &reports)?;
        tokens
    }

    pub(super) fn take_unseen(&mut self, list: &ListTail<'_>) -> Result<()> {
        self.commit_failed_calls()?;
        let mut notices = Vec::new();
        self.take_list(list, &mut notices)?;
        self.waiting.extend(notices);
        Ok(())
    }

    /// Our own summary of everything before an index of the list. What it names is stored first.
    fn own_summary(
        &mut self,
        list: &ListTail<'_>,
        call: &CallInfo,
        kept_from: usize,
    ) -> Result<CompactionAnswer> {
        self.durably(|live| {
            live.take_unseen(list)?;
            let chat = live.state().chat();
            let gone = chat.passing.own_before(kept_from.min(chat.window.len()));
            let gone = chat.own_window[..gone].to_vec();
            let runs = live.runs_compacted(gone);
            if runs.is_empty() {
                return Ok(CompactionAnswer::Host);
            }
            let leaves = live.leaves(&runs)?;
            live.commit(Activity::Active)?;
            let summary = host_compaction::summary(&leaves, call.context_window);
            Ok(CompactionAnswer::Summary(summary))
        })
    }

    /// What a summary says about these runs of the chat.
    pub(super) fn leaves(&mut self, runs: &[(u64, u64)]) -> Result<Leaves> {
        let activate = self.state().own_tool("activate");
        let mut leaves = Leaves { activate, ..Leaves::default() };
        let mut words = Vec::new();
        for (first, last) in runs {
            let Segment { object, version, handle, turns } =
                self.journal.segment(*first..=*last, false)?;
            leaves.segments.push(forms::compacted_line(handle, turns, last + 1 - first));
            words.push((handle, self.journal.words_of(&object, &version)?.unwrap_or_default()));
        }
        let place = |at| {
            let places =
                words.iter().map(|(handle, words)| Some((*handle, words.lines_before(at)?)));
            places.flatten().next()
        };
        let state = self.state();
        let mut facts = Vec::new();
        for at in runs.iter().flat_map(|(first, last)| *first..=*last) {
            let Some(known) = state.chat().get(at).filter(|known| !known.withheld) else {
                continue;
            };
            match &known.kind {
                MessageKind::Result(fact) => facts.push(fact),
                MessageKind::User => {
                    let text = self.journal.message(at)?.text().into_owned();
                    let said = place(at).map(|place| Said { turn: known.turn, text, place });
                    leaves.said.extend(said);
                }
                MessageKind::Other if known.key.role == "compactionSummary" => {
                    let before = self.journal.message(at)?.summary();
                    leaves.summary = before.filter(|text| !is_ours(text)).or(leaves.summary);
                }
                MessageKind::Other | MessageKind::Assistant => {}
            }
        }
        let newest = facts.len().saturating_sub(DEEDS);
        leaves.deeds = deeds::deeds(state, facts[newest..].iter().copied());
        Ok(leaves)
    }
}
