//! One call, in five stages: *hear* what happened since the last one, *match* the host's list with
//! the chat, *ingest* the new messages, *lay out* the request, *commit*.

use std::cell::RefCell;

use super::LiveSession;
use crate::intake::{Taken, count_tokens, restore_wholes};
use crate::journal::Activity;
use crate::request::{Growth, LayOut, ListTail, NextRequest, changed_since_last, coming};
use crate::{CallInfo, HostList, Notice, Transformed};
use base::error::Result;
use base::object::Hash;
use config::Layout;
use context::host::HostMessage;
use context::ledger::{Coming, host_calls};
use context::view::{self, Edit};
use session::{CallNote, CallRecord, Event, HostCall, SlotEdit};

/// A request that is laid out but not yet recorded.
pub(super) struct LaidOut {
    edits: Vec<Edit>,
    pub(super) prompt: Option<Hash>,
    recorded: Vec<SlotEdit>,
    bill: CallNote,
}

impl LiveSession {
    /// Takes the host's list before a call and returns the request.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a message is not JSON; errors of the store. After an error nothing of
    /// the call is stored and the host's own messages should go out.
    pub fn transform(&mut self, list: HostList, call: &CallInfo) -> Result<Transformed> {
        let _bounded = self.bounded();
        let HostList { since, skip, messages } = list;
        let mut messages = self.parse_list(since, messages)?;
        let heard = self.hear();
        // Nothing below sees text that must not be stored, not even the list kept for a failed
        // call.
        let withheld = self.restore_and_withhold(skip, &mut messages);
        let is_safe = withheld.is_ok();
        if let Err(error) = heard.and(withheld) {
            self.journal.doubt();
            if is_safe {
                self.request.keep_failed_list(self.journal.state(), skip, &messages);
            } else {
                self.request.drop_failed_list();
            }
            return Err(error);
        }
        count_tokens(&messages);
        self.ask_prompting(call);
        let messages = RefCell::new(messages);
        let mut result = self.attempt(|live| {
            if live.journal.has_refused() {
                live.restore_and_withhold(skip, &mut messages.borrow_mut())?;
            }
            if live.holds_another(since, skip) {
                return Ok(Transformed::Resend);
            }
            let kept_from = call.kept_from();
            live.run(&ListTail { skip, messages: &messages.borrow(), kept_from }, call)
        });
        if result.is_err() {
            self.journal.doubt();
            self.request.keep_failed_list(self.journal.state(), skip, &messages.borrow());
            self.reload_after_error(&result);
        } else {
            self.request.drop_failed_list();
        }
        if let Ok(Transformed::Edits { notices, .. }) = &mut result {
            self.hear_of_silence();
            notices.splice(0..0, std::mem::take(&mut self.waiting));
        }
        result
    }

    /// The messages from the host. If it knows of no request, the edits must start from an empty
    /// one.
    pub(super) fn parse_list(
        &mut self,
        since: Option<u64>,
        messages: Vec<String>,
    ) -> Result<Vec<HostMessage>> {
        let messages = HostMessage::parse_list(messages, self.options.counter)?;
        if since.is_none() && self.request.view.call.is_some() {
            self.journal.doubt();
        }
        Ok(messages)
    }

    /// Whether the session's request is another than the host names. The session holds none after
    /// an error, after a restart, and when it split off from another process; it is ahead of the
    /// host if an answer got lost.
    pub(super) fn holds_another(&self, since: Option<u64>, skip: usize) -> bool {
        let view = &self.request.view;
        since != view.call || skip > view.of_host
    }

    /// Ensures that nothing below sees text that must not be stored, nor our words in place of
    /// stored text, and that results say what was reported of their calls.
    pub(super) fn restore_and_withhold(
        &self,
        skip: usize,
        messages: &mut [HostMessage],
    ) -> Result<()> {
        restore_wholes(&self.journal, messages)?;
        self.say_ends(messages);
        self.withhold(skip, messages)
    }

    /// The stages after *hear*, as one unit of work that is redone if another process was faster.
    fn run(&mut self, list: &ListTail<'_>, call: &CallInfo) -> Result<Transformed> {
        let mut notices = Vec::new();
        let (taken, laid) = self.prepare(list, call, &mut notices)?;
        let LaidOut { edits, prompt, recorded, bill } = laid;
        self.record_call(recorded, taken.repeats, call, prompt, bill);
        self.commit(Activity::Active)?;
        let call = self.state().calls();
        self.is_opened_anew = false;
        self.request.sent(call);
        self.workspace.met.clear();
        Ok(Transformed::Edits { call, edits: view::instructions(&edits), notices })
    }

    /// *Hear*: what the tracker reported since the last call.
    fn hear(&mut self) -> Result<()> {
        self.reload_if_in_doubt()?;
        let moves = self.take_tracker_report();
        if let Some(id) = self.journal.newly_split_off()? {
            self.waiting.push(Notice::SessionSplit { id: id.to_string(), own: false });
        }
        for (from, to) in moves {
            if let Some((from, to)) = self.paths_of_move(&from, &to)? {
                self.file_moved(&from, &to)?;
            }
        }
        Ok(())
    }

    /// *Match*, *ingest*, *lay out*.
    pub(super) fn prepare(
        &mut self,
        list: &ListTail<'_>,
        call: &CallInfo,
        notices: &mut Vec<Notice>,
    ) -> Result<(Taken, LaidOut)> {
        if self.is_reconcile_due() {
            // The first call, unless that was done since the session was opened.
            self.check_files(&|_| {})?;
        }
        self.commit_failed_calls()?;
        let taken = self.take_list(list, notices)?;
        let laid = self.lay_out(list, &taken, call, notices)?;
        Ok((taken, laid))
    }

    /// *Match* and *ingest*.
    pub(super) fn take_list(
        &mut self,
        list: &ListTail<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Taken> {
        let from = self.state().chat().passing_tail().filter(|from| *from < list.skip);
        let Some(from) = from else { return self.take_list_from(list, notices) };
        // What passed in the last place stays if something follows it now.
        let kept = (from..list.skip).map(|index| self.request.kept_message(&self.journal, index));
        let mut messages = kept.collect::<Result<Vec<_>>>()?;
        messages.extend_from_slice(list.messages);
        self.take_list_from(&ListTail { skip: from, messages: &messages, ..*list }, notices)
    }

    fn take_list_from(&mut self, list: &ListTail<'_>, notices: &mut Vec<Notice>) -> Result<Taken> {
        let _remembering = self.disk.remembering();
        let found = self.match_list(list, notices)?;
        self.take_matched(list, &found, notices)
    }

    /// *Lay out*: looks at the files, renders what is new or changed, starts an epoch where one
    /// pays.
    fn lay_out(
        &mut self,
        list: &ListTail<'_>,
        taken: &Taken,
        call: &CallInfo,
        notices: &mut Vec<Notice>,
    ) -> Result<LaidOut> {
        let prompt = self.journal.stage_prompt(call.system_prompt.as_ref(), &call.tools)?;
        let coming = self.coming_with_host_calls(call, prompt.as_ref());
        let rewrite = taken.rewrite;
        let changed = changed_since_last(self.state(), list, rewrite);
        let epoch = self.state().epoch();
        let files = self.refresh(taken.known, taken.newest)?;
        for change in files {
            notices.extend(change.told(self.options.settings.layout));
            notices.extend(change.notices);
        }
        let mut layout = LayOut {
            journal: &mut self.journal,
            request: &self.request,
            options: &self.options,
            list,
            rewrite,
            known: taken.known,
            newest: taken.newest,
            forgotten_pins: Vec::new(),
        };
        let next = match self.options.settings.layout {
            Layout::Pools => layout.pools_edits(&coming)?,
            Layout::Log => layout.log_edits(call, &coming, &*self.chances)?,
        };
        let NextRequest { edits, notices: more, cold_from } = next;
        notices.extend(more);
        notices.extend(self.request.note_loss(
            self.journal.state(),
            list,
            rewrite,
            (&coming, cold_from),
        ));
        let state = self.journal.state();
        let resumed = self.request.resumed_slots(state, &edits);
        let recorded = self.request.apply(&edits, state.chat().window.len());
        let began = state.epoch() != epoch;
        let growth = Growth { edits: &recorded, began, changed, resumed, cold_from };
        let bill = self.request.bill_note(state, &coming, &growth);
        Ok(LaidOut { edits, prompt, recorded, bill })
    }

    /// What is known of the coming call. Enters the calls in the account that went out with the
    /// host's own messages meanwhile, because caches hold these now.
    fn coming_with_host_calls(&mut self, call: &CallInfo, prompt: Option<&Hash>) -> Coming {
        let coming = |live: &Self| coming(live.state(), &live.options, call, prompt);
        let expected = coming(self);
        let state = self.state();
        let mut calls = state.host_calls();
        // While the session is open, an answer without a call is one that the host made up. So it is
        // after a crash, unless a person wrote in between.
        let is_asked_since =
            |call: &HostCall| self.was_closed || state.has_asked_since(call.messages);
        calls.retain(|call| call.failed || (self.is_opened_anew && is_asked_since(call)));
        if calls.is_empty() {
            return expected;
        }
        self.journal.record(Event::HostCalls(host_calls(self.state(), &expected, calls)));
        coming(self)
    }

    /// `repeats`: whether the host asks again with the list of the previous call.
    fn record_call(
        &mut self,
        edits: Vec<SlotEdit>,
        repeats: bool,
        call: &CallInfo,
        system_prompt: Option<Hash>,
        bill: CallNote,
    ) {
        let state = self.journal.state();
        let retry_of = repeats.then(|| state.calls()).filter(|number| *number > 0);
        self.request.next_call(retry_of.is_some());
        let view = &self.request.view;
        let record = CallRecord {
            number: state.calls() + 1,
            retry_of,
            model: call.model.clone(),
            layout: self.options.settings.layout.as_str().to_owned(),
            epoch: state.epoch(),
            system_prompt,
            edits,
            hash: view.hash(),
            sent_tokens: view.tokens,
            plain_tokens: state.chat().window_tokens,
            context_window: call.context_window,
            bill,
            time: self.journal.store.now(),
        };
        self.journal.record(Event::Called(record));
    }
}
