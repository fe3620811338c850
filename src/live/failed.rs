//! Calls that went out with the host's own messages: what is known of them until they are recorded.

use super::LiveSession;
use crate::context::host::HostMessage;
use crate::context::view::{record_key, recorded, replacements};
use crate::error::Result;
use crate::object::Hash;
use crate::session::{Event, FailedCall, SlotEdit, SlotRecord, Withheld};

/// Failed calls that are not recorded yet.
#[derive(Debug, Default)]
pub(super) struct FailedCalls {
    calls: Vec<FailedCall>,
    /// The list of the newest call of `calls` whose list is known.
    newest: Vec<SlotRecord>,
    /// The list of a call that failed just now and is not yet reported.
    list: Option<Vec<SlotRecord>>,
}

impl FailedCalls {
    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        !self.calls.is_empty()
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.calls.len() as u64
    }
}

impl LiveSession {
    /// Notes that a call went out with the host's own messages; what is stored next says so.
    pub fn report_failed_call(&mut self, reason: &str) {
        let failed = &mut self.failed;
        let edits = failed.list.take().map(|list| {
            let edits = replacements(&failed.newest, &list, record_key);
            failed.newest = list;
            recorded(None, edits)
        });
        failed.calls.push(FailedCall { reason: reason.to_owned(), edits });
    }

    /// Keeps the list of a call that failed: `skip` messages as at the call before, and these.
    pub(super) fn keep_failed_list(&mut self, skip: usize, messages: &[HostMessage]) {
        let window = self.state.chat().window().iter().take(skip).enumerate();
        let known = window.map(|(index, at)| {
            // A message that changes on every call is stored as it was long ago.
            match self.view.at_host(index).map(|slot| &slot.record) {
                Some(volatile @ SlotRecord::Message { .. }) => volatile.clone(),
                _ => SlotRecord::Chat { chat: *at, content: None, folded: None },
            }
        });
        let new = messages.iter().map(|message| SlotRecord::Message {
            message: message.raw.clone(),
            withheld: message.withheld.clone(),
        });
        self.failed.list = Some(known.chain(new).collect());
    }

    /// Forgets the list of a call that failed and was never reported.
    pub(super) fn drop_failed_list(&mut self) {
        self.failed.list = None;
    }

    /// Stores what is known of failed calls, before anything else changes: their lists hold messages of the chat as it is.
    pub(super) fn record_failed_calls(&mut self) -> Result<()> {
        self.stage_failed_calls();
        if self.failed.any() { self.commit() } else { Ok(()) }
    }

    /// Failed calls are recorded with what is stored next; messages that the chat holds are named by their place.
    pub(super) fn stage_failed_calls(&mut self) {
        if !self.failed.any() {
            return;
        }
        let mut calls = self.failed.calls.clone();
        let edits = calls.iter_mut().filter_map(|call| call.edits.as_mut()).flatten();
        for SlotEdit { at, insert, .. } in edits {
            for (index, slot) in (*at..).zip(insert) {
                if let SlotRecord::Message { message, withheld } = slot
                    && let Some(chat) = self.place_of(index, message, withheld.as_ref())
                {
                    *slot = SlotRecord::Chat { chat, content: None, folded: None };
                }
            }
        }
        self.record(Event::FailedOpen { calls });
        self.staged.failed_calls = true;
    }

    /// Failed calls are stored.
    pub(super) fn settle_failed_calls(&mut self) {
        self.failed = FailedCalls::default();
    }

    /// Position of the message at an index of the window, if the chat holds it just so.
    fn place_of(&self, index: u64, message: &str, withheld: Option<&Withheld>) -> Option<u64> {
        let at = *self.state.chat().window().get(usize::try_from(index).ok()?)?;
        let known = self.state.chat().get(at)?;
        let digest = withheld.map_or_else(|| Hash::of(message), |withheld| withheld.digest.clone());
        (known.digest == digest).then_some(at)
    }
}
