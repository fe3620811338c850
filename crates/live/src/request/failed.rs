//! Calls that went out with the host's own messages: details kept until they are recorded.

use super::Request;
use crate::journal::Journal;
use base::object::Hash;
use context::host::HostMessage;
use context::view::{record_key, recorded, replacements};
use session::{Event, FailedCall, Session, SlotEdit, SlotRecord, Withheld};

/// Failed calls that are not recorded yet.
#[derive(Debug, Default)]
pub(super) struct FailedCalls {
    calls: Vec<FailedCall>,
    /// The list of the newest of `calls` whose list is known.
    newest: Vec<SlotRecord>,
    /// The list of a call that failed just now and is not yet reported.
    list: Option<Vec<SlotRecord>>,
    /// Whether the calls are staged.
    is_staged: bool,
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

    /// Discards staged records.
    pub(super) fn drop_staged(&mut self) {
        self.is_staged = false;
    }

    /// Forgets the calls if they were staged, since the staged records are stored now.
    pub(super) fn clear_staged(&mut self) {
        if self.is_staged {
            *self = Self::default();
        }
    }
}

impl Request {
    /// Records that a call went out with the host's own messages; the next commit stores it.
    pub(crate) fn record_failed_call(&mut self, reason: &str) {
        let failed = &mut self.failed;
        let edits = failed.list.take().map(|list| {
            let edits = replacements(&failed.newest, &list, record_key);
            failed.newest = list;
            recorded(None, edits)
        });
        failed.calls.push(FailedCall { reason: reason.to_owned(), edits });
    }

    /// Whether the newest call went out with the host's own messages.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.any()
    }

    /// Keeps the list of a failed call: `skip` messages as at the previous call, followed by
    /// `messages`.
    pub(crate) fn keep_failed_list(
        &mut self,
        state: &Session,
        skip: usize,
        messages: &[HostMessage],
    ) {
        let window = state.chat().window.iter().take(skip).enumerate();
        let known = window.map(|(index, at)| {
            // The stored form of a message that changes on every call is long outdated.
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

    /// Drops the list of a failed call that was never reported.
    pub(crate) fn drop_failed_list(&mut self) {
        self.failed.list = None;
    }

    /// Stages the failed calls; returns whether there were any. Must be committed before the chat
    /// changes, because messages in the chat are named by their position.
    pub(crate) fn stage_failed_calls(&mut self, journal: &mut Journal) -> bool {
        if !self.failed.any() {
            return false;
        }
        let mut calls = self.failed.calls.clone();
        let edits = calls.iter_mut().filter_map(|call| call.edits.as_mut()).flatten();
        for SlotEdit { at, insert, .. } in edits {
            for (index, slot) in (*at..).zip(insert) {
                if let SlotRecord::Message { message, withheld } = slot
                    && let Some(chat) =
                        position_of(journal.state(), index, message, withheld.as_ref())
                {
                    *slot = SlotRecord::Chat { chat, content: None, folded: None };
                }
            }
        }
        journal.record(Event::FailedOpen { calls });
        self.failed.is_staged = true;
        true
    }
}

/// Position of the message at an index of the window, if the chat holds it unchanged.
fn position_of(
    state: &Session,
    index: u64,
    message: &str,
    withheld: Option<&Withheld>,
) -> Option<u64> {
    let at = *state.chat().window.get(usize::try_from(index).ok()?)?;
    let known = state.chat().get(at)?;
    let digest = withheld.map_or_else(|| Hash::of(message), |withheld| withheld.digest.clone());
    (known.digest == digest).then_some(at)
}
