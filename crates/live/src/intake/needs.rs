//! What the model's answers needed of earlier outputs, recorded as events while the answers come
//! in.

use super::Ingest;
use crate::request::ListTail;
use base::error::Result;
use config::Layout;
use context::evidence::Needs;
use session::{ChatMessage, Event};

impl Ingest<'_> {
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
        for place in evidence.len()..self.journal.state().chat().own_window().len() {
            let state = self.journal.state();
            let at = state.chat().own_window()[place];
            let Some(index) = state.chat().index_of(at) else { continue };
            let volatile = state.chat().get(at).is_some_and(ChatMessage::is_volatile);
            let Needs { outputs, words } = match list.get(index) {
                _ if volatile => evidence.pass(),
                Some(message) => evidence.take(at, message),
                None => evidence.take(at, &self.request.kept_message(self.journal, index)?),
            };
            let state = self.journal.state();
            let is_gone = |(said, output): &&(u64, Option<u64>)| {
                state.is_absent(*said) && output.is_none_or(|output| state.is_absent(output))
            };
            let words = words.iter().filter(is_gone).count() as u64;
            if at >= known && (!outputs.is_empty() || words > 0) {
                self.journal.record(Event::Needed { at, outputs, words });
            }
        }
        Ok(())
    }
}
