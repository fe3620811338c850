//! A turn that the host runs itself: the results that it shows, and its end. Decisions are made in
//! `context`.

use serde::Serialize;

use serde_json::Value;

use super::LiveSession;
use crate::HostList;
use crate::request::ListTail;
use crate::workspace::FinishedToolCall;
use base::error::Result;
use context::host::HostMessage;
use session::Event;

/// How a host is to show a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunningShown {
    /// With this content, JSON; `None`: unchanged.
    Content(Option<String>),
    /// The session holds another request than [`HostList::since`] names, or none: call again with
    /// the whole list.
    Resend,
}

/// Result of committing a turn that ended well, as the host reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Commit {
    /// It is stored.
    Committed,
    /// It was stored before.
    Duplicate,
}

impl LiveSession {
    /// Takes in the result of a tool call that the host is about to add to its list and sends
    /// itself: the effects of the call, as [`Self::record_tool_call`], and the full result. Returns
    /// how the host should show it.
    ///
    /// `list`: the host's, whose last message makes the call. `args`: arguments with which the tool
    /// ran. `message`: the future message of the result, as JSON.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a message is not JSON; errors of the store. The host then shows what it
    /// has.
    pub fn show_result(
        &mut self,
        list: HostList,
        args: Value,
        message: String,
    ) -> Result<RunningShown> {
        let _bounded = self.bounded();
        let HostList { since, skip, messages } = list;
        let mut messages = self.parse_list(since, messages)?;
        self.reload_if_in_doubt()?;
        if self.holds_another(since, skip) {
            return Ok(RunningShown::Resend);
        }
        let message = HostMessage::parse(message, self.options.counter);
        self.record_tool_call(&FinishedToolCall {
            call: message.key.calls.first().cloned().unwrap_or_default(),
            tool: message.tool.clone().unwrap_or_default(),
            args,
            is_error: message.has_failed(),
            text: message.text().into_owned(),
        })?;
        messages.push(message);
        self.restore_and_withhold(skip, &mut messages)?;
        let (before, result) = messages.split_at(messages.len() - 1);
        let list = ListTail { skip, messages: before, kept_from: 0 };
        self.stored(|live| {
            live.take_unseen(&list)?;
            Ok(RunningShown::Content(live.shown_content(&result[0])?))
        })
    }

    /// Stores the messages of a turn that ended well after the known ones. The same key twice
    /// stores nothing.
    ///
    /// `messages`: those of the turn, each as JSON; the first is what the person wrote.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a message is not JSON; errors of the store: nothing is stored
    /// then, and it can be retried.
    pub fn commit_turn(&mut self, key: &str, messages: Vec<String>) -> Result<Commit> {
        let _bounded = self.bounded();
        let mut messages = HostMessage::parse_list(messages, self.options.counter)?;
        self.reload_if_in_doubt()?;
        if self.state().has_committed(key) {
            return Ok(Commit::Duplicate);
        }
        self.restore_and_withhold(0, &mut messages)?;
        self.durably(|live| {
            let (is_newest, known) = live.known_of_turn(&messages);
            // Known messages are as in the host's list, where others may have changed them.
            let kept_from = if live.state().has_kept() { 0 } else { usize::MAX };
            // If other messages already follow the turn, the host's next list has it as it is.
            if known < messages.len() && is_newest {
                let skip = live.state().chat().window.len();
                live.take_unseen(&ListTail { skip, messages: &messages[known..], kept_from })?;
                live.journal.record(Event::TurnCommitted { key: key.to_owned() });
                live.commit_staged()?;
            }
            Ok(Commit::Committed)
        })
    }

    /// Whether no messages follow the turn's known ones, and how many of it are known.
    fn known_of_turn(&self, messages: &[HostMessage]) -> (bool, usize) {
        let chat = self.state().chat();
        let is = |at: u64, message: &HostMessage| {
            chat.get(at).is_some_and(|known| known.key == message.key)
        };
        let window = &chat.own_window;
        let first = messages.first();
        let place = window.iter().rposition(|at| first.is_some_and(|first| is(*at, first)));
        let place = place.unwrap_or(window.len());
        let known = window[place..].iter().zip(messages);
        let known = known.take_while(|(at, message)| is(**at, message)).count();
        (place + known == window.len(), known)
    }
}
