//! A turn that the host runs itself: the results that it shows, and its end. Decides by what `context` says.

use std::cell::RefCell;

use super::LiveSession;
use crate::context::host::HostMessage;
use crate::error::Result;
use crate::live::HostList;
use crate::live::intake::restore_wholes;
use crate::live::request::ListTail;
use crate::live::workspace::FinishedToolCall;
use crate::session::Event;

/// How a host is to show a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// With this content, JSON; `None`: as it is.
    Content(Option<String>),
    /// The session holds another request than [`HostList::since`] names, or none: call again with the whole list.
    Resend,
}

/// What became of a turn that the host says has ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// It is stored.
    Committed,
    /// It was stored before.
    Duplicate,
}

impl Commit {
    /// The word used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Duplicate => "duplicate",
        }
    }
}

impl LiveSession {
    /// Takes the result of a tool call, which the host is about to add to its list and sends itself: what the call did, as
    /// [`Self::record_tool_call`], and the whole result. Says how the host is to show it.
    ///
    /// `list`: the host's, whose last message makes the call. `message`: the message that the result will be, JSON.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the messages are no JSON array; whatever the store reports. The host then shows what it has.
    pub fn show_result(
        &mut self,
        list: &HostList<'_>,
        finished: &FinishedToolCall,
        message: &str,
    ) -> Result<Shown> {
        let _bounded = self.bounded();
        let HostList { since, skip, .. } = *list;
        let mut messages = HostMessage::parse_list(list.messages, self.options.counter)?;
        if since.is_none() && self.request.view().call().is_some() {
            self.journal.doubt();
        }
        self.reload_if_in_doubt()?;
        if since != self.request.view().call() || skip > self.request.view().of_host() {
            return Ok(Shown::Resend);
        }
        self.record_tool_call(finished)?;
        messages.push(HostMessage::parse(message, self.options.counter));
        self.restore_and_withhold(skip, &mut messages)?;
        let (list, result) = messages.split_at(messages.len() - 1);
        let list = ListTail { skip, messages: list, kept_from: 0 };
        self.durably(|live| {
            live.take_unseen(&list)?;
            let content = live.ingest().show(&result[0])?;
            live.commit_staged()?;
            Ok(Shown::Content(content))
        })
    }

    /// Stores the messages of a turn that has ended well behind what is known. The same key twice stores nothing.
    ///
    /// `messages`: those of the turn, a JSON array; the first is what the person wrote.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the messages are no JSON array; whatever the store reports: then nothing is stored, and it can be done
    /// again.
    pub fn commit_turn(&mut self, key: &str, messages: &str) -> Result<Commit> {
        let _bounded = self.bounded();
        let messages = HostMessage::parse_list(messages, self.options.counter)?;
        self.reload_if_in_doubt()?;
        if self.journal.state().has_committed(key) {
            return Ok(Commit::Duplicate);
        }
        let messages = RefCell::new(messages);
        self.restore_and_withhold(0, &mut messages.borrow_mut())?;
        self.durably(|live| {
            let messages = messages.borrow();
            let skip = live.begin_of_turn(&messages);
            live.take_unseen(&ListTail { skip, messages: &messages, kept_from: 0 })?;
            live.journal.record(Event::TurnCommitted { key: key.to_owned() });
            live.commit_staged()?;
            Ok(Commit::Committed)
        })
    }

    /// Index in the window of the first of these messages; the window's length if it is not known.
    fn begin_of_turn(&self, messages: &[HostMessage]) -> usize {
        let chat = self.journal.state().chat();
        let is_first = |at: &u64| {
            let known = chat.get(*at).zip(messages.first());
            known.is_some_and(|(known, first)| known.key == first.key)
        };
        chat.window().iter().rposition(is_first).unwrap_or(chat.window().len())
    }

    /// Nothing below sees text that is not to be stored, nor words of ours in the place of what the store has.
    pub(super) fn restore_and_withhold(
        &self,
        skip: usize,
        messages: &mut [HostMessage],
    ) -> Result<()> {
        restore_wholes(&self.journal, messages)?;
        self.withhold(skip, messages)
    }
}
