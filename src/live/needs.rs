//! What the model's answers needed of earlier outputs, noted as events while the answers come in.

use super::LiveSession;
use crate::context::host::HostMessage;
use crate::error::Result;
use crate::session::{ChatMessage, Event};
use crate::settings::Layout;

impl LiveSession {
    /// Takes in the messages of the window that are not yet: those that crossed, and all of them after the list was rewritten,
    /// a text changed or the session was opened again. Needs of messages that were known before this call are noted already.
    ///
    /// `skip`: index in the window of the first message of `crossed`. `known`: messages of the chat that were known before
    /// this call and still are.
    pub(super) fn note_needs(
        &mut self,
        skip: usize,
        crossed: &[HostMessage],
        known: u64,
    ) -> Result<()> {
        if self.settings.layout != Layout::Log {
            return Ok(());
        }
        for index in self.evidence.len()..self.state.chat().window().len() {
            let at = self.state.chat().window()[index];
            let volatile = self.state.chat().get(at).is_some_and(ChatMessage::is_volatile);
            let given = index.checked_sub(skip).and_then(|index| crossed.get(index));
            let outputs = match given {
                _ if volatile => self.evidence.pass(),
                Some(message) => self.evidence.take(at, message),
                None => self.evidence.take(at, &self.kept_message(index)?),
            };
            if at >= known && !outputs.is_empty() {
                self.record(Event::Needed { at, outputs });
            }
        }
        Ok(())
    }
}
