//! What the model's answers needed of earlier outputs, recorded as events while the answers come
//! in.

use std::borrow::Cow;

use crate::LiveSession;
use crate::request::ListTail;
use base::error::Result;
use config::Layout;
use context::evidence::AnswerNeeds;
use context::host::HostMessage;
use session::{ChatMessage, Event, MessageKind, NEWEST_STEPS, Session};

impl LiveSession {
    /// Goes over the messages of the window that were not checked yet: those that crossed, or all
    /// of them after the list was rewritten, a text changed or the session was opened again. Needs
    /// of messages that were known before this call are already recorded.
    ///
    /// `known`: messages of the chat that were known before this call and still are.
    pub(super) fn record_needs(&mut self, list: &ListTail<'_>, known: u64) -> Result<()> {
        if self.options.settings.layout != Layout::Log {
            return Ok(());
        }
        let evidence = &mut self.intake.evidence;
        for place in evidence.len()..self.journal.state().chat().own_window.len() {
            let state = self.journal.state();
            let at = state.chat().own_window[place];
            let Some(index) = state.chat().index_of(at) else { continue };
            let volatile = state.chat().get(at).is_some_and(ChatMessage::is_volatile);
            let AnswerNeeds { outputs, words } = match list.get(index) {
                _ if volatile => evidence.pass(),
                Some(message) => evidence.take(at, message, held(state, at, message).as_deref()),
                None => {
                    let message = self.request.kept_message(&self.journal, index)?;
                    evidence.take(at, &message, held(state, at, &message).as_deref())
                }
            };
            let state = self.journal.state();
            let is_gone = |(said, output): &&(u64, Option<u64>)| {
                state.is_absent(*said) && output.is_none_or(|output| state.is_absent(output))
            };
            let now = state.place(at).step;
            let is_own = |said: &u64| {
                let message = state.chat().get(*said);
                message.is_some_and(|message| {
                    matches!(message.kind, MessageKind::Assistant)
                        && message.step + NEWEST_STEPS < now
                })
            };
            let mut said: Vec<u64> = words.iter().map(|(said, _)| *said).filter(is_own).collect();
            said.dedup();
            let words = words.iter().filter(is_gone).count() as u64;
            if at >= known && !(outputs.is_empty() && said.is_empty() && words == 0) {
                self.journal.record(Event::Needed { at, outputs, words, said });
            }
        }
        Ok(())
    }
}

/// The output that a message holds, unless it is a result.
fn held<'a>(state: &Session, at: u64, message: &'a HostMessage) -> Option<Cow<'a, str>> {
    let fact = state.result(at).filter(|fact| fact.within.is_some())?;
    Some(message.output(fact))
}
