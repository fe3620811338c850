//! Requests that went out: the request of the last call, how it was recorded, and what the host
//! showed of it.
//!
//! Rebuilt from the stored records after a restart. Must not write the store, look at files, or
//! decide what the model sees.

mod bill;
mod failed;
mod held;
mod layout;
mod losses;
mod notes;
mod payload;

use std::borrow::Cow;
use std::collections::HashMap;

pub(super) use self::bill::{Growth, changed_since_last, coming};
use self::failed::FailedCalls;
pub(super) use self::layout::{LayOut, NextRequest};
use self::losses::Losses;
use self::payload::Payloads;
use super::journal::Journal;
use super::recorded::recorded_slots;
use base::error::Result;
use base::object::Hash;
use context::host::HostMessage;
use context::tokens::Counter;
use context::view::{self, Edit, View, record_key};
use session::{ChatMessage, Event, Session, SlotEdit, SlotRecord};

/// The last request; see the module.
#[derive(Debug, Default)]
pub(super) struct Request {
    counter: Counter,
    /// The messages as they were last sent; empty after a restart.
    pub(super) view: View,
    /// The slots of the newest call record, as read from the store.
    recorded: Vec<SlotRecord>,
    /// For each slot of `recorded`, a mark that distinguishes its message from another one at the
    /// same position of the chat.
    recorded_marks: Vec<Option<Hash>>,
    /// The present text of folded messages that change on every call: nothing else holds it.
    pub(super) volatile: HashMap<u64, HostMessage>,
    payloads: Payloads,
    failed: FailedCalls,
    losses: Losses,
}

/// The host's list of one call: its first `skip` messages are those of the previous call, the rest
/// is here.
pub(super) struct ListTail<'a> {
    pub(super) skip: usize,
    pub(super) messages: &'a [HostMessage],
    /// Index of the first message that the host sends itself, unchanged: see
    /// [`CallInfo::kept_from`](super::CallInfo::kept_from).
    pub(super) kept_from: usize,
}

impl ListTail<'_> {
    /// The message at an index of the list, unless it is one of those skipped.
    pub(super) fn get(&self, index: usize) -> Option<&HostMessage> {
        index.checked_sub(self.skip).and_then(|index| self.messages.get(index))
    }
}

impl Request {
    /// Nothing was sent.
    pub(super) fn new(counter: Counter) -> Self {
        Self { counter, ..Self::default() }
    }

    /// Starts from the recorded events of a session. Records of sent requests that wait to be
    /// stored stay.
    pub(super) fn restart(&mut self, state: &Session, events: &[Event]) {
        self.view = View::default();
        self.volatile.clear();
        self.recorded = recorded_slots(events);
        self.recorded_marks = self.recorded.iter().map(|slot| mark(state, slot)).collect();
        self.payloads.restart(events);
        self.failed.drop_staged();
    }

    /// Events about sent requests, to be stored with the next commit.
    pub(super) fn waiting_events(&self) -> Vec<Event> {
        self.payloads.events()
    }

    /// Whether events about sent requests wait to be stored.
    pub(super) fn waits(&self) -> bool {
        self.failed.any() || self.payloads.any_wait()
    }

    /// Call after the waiting events were stored.
    pub(super) fn waiting_events_stored(&mut self) {
        self.payloads.clear_waiting();
    }

    /// Call after everything that waited, and everything staged, was stored.
    pub(super) fn committed(&mut self) {
        self.payloads.clear_waiting();
        self.failed.clear_staged();
    }

    /// A host message that did not cross because it is the same as at the previous call.
    pub(super) fn kept_message(&self, journal: &Journal, index: usize) -> Result<HostMessage> {
        let at = journal.state().chat().window[index];
        if journal.state().chat().get(at).is_some_and(ChatMessage::is_volatile) {
            let slot = self.view.at_host(index);
            if let Some(SlotRecord::Message { message, withheld }) = slot.map(|slot| &slot.record) {
                return Ok(HostMessage::from_stored(message, withheld.clone(), self.counter));
            }
            if let Some(message) = self.volatile.get(&at) {
                return Ok(message.clone());
            }
        }
        journal.message(at)
    }

    /// The message at an index of the window: as it crossed, else as it is kept. For one that was
    /// forgotten after it was stored, the stored remainder counts, because its record renders that
    /// again.
    pub(super) fn message_at<'a>(
        &self,
        journal: &Journal,
        list: &'a ListTail<'_>,
        index: usize,
    ) -> Result<Cow<'a, HostMessage>> {
        let at = journal.state().chat().window[index];
        let is_withheld = journal.state().chat().get(at).is_some_and(|known| known.withheld);
        match list.get(index) {
            Some(message) if message.withheld.is_none() || is_withheld => {
                Ok(Cow::Borrowed(message))
            }
            _ => self.kept_message(journal, index).map(Cow::Owned),
        }
    }

    /// Applies the edits that lead to the next request; returns them in their recorded form.
    ///
    /// `of_host`: number of messages in the host's list.
    pub(super) fn apply(&mut self, edits: &[Edit], of_host: usize) -> Vec<SlotEdit> {
        let recorded = self.recorded_edits(edits);
        self.view.apply(edits, of_host);
        recorded
    }

    /// Records the call for which the request was made.
    pub(super) fn sent(&mut self, call: u64) {
        self.view.set_call(call);
    }

    /// The edits relative to the newest record: after a restart the view begins anew, the records
    /// do not.
    fn recorded_edits(&mut self, edits: &[Edit]) -> Vec<SlotEdit> {
        if self.view.slots.is_empty() {
            let before = std::mem::take(&mut self.recorded);
            let after: Vec<SlotRecord> = edits
                .iter()
                .flat_map(|edit| &edit.insert)
                .map(|slot| slot.record.clone())
                .collect();
            return view::recorded(before.first(), view::replacements(&before, &after, record_key));
        }
        let first = self.view.slots.first().map(|slot| &slot.record);
        let edits = edits.iter().map(|edit| {
            let insert = edit.insert.iter().map(|slot| slot.record.clone()).collect();
            Edit { at: edit.at, remove: edit.remove, insert }
        });
        view::recorded(first, edits.collect())
    }

    /// How many leading slots of the first request after a restart are those of the previous
    /// request; `None` for later requests. The edits do not tell: records name messages of the chat
    /// by position, and another branch may have put others there.
    pub(super) fn resumed_slots(&self, state: &Session, edits: &[Edit]) -> Option<u64> {
        let slots = edits.iter().flat_map(|edit| &edit.insert).map(|slot| &slot.record);
        let before = self.recorded.iter().zip(&self.recorded_marks);
        let same = slots
            .zip(before)
            .take_while(|(slot, (before, known))| slot == before && mark(state, slot) == **known);
        self.view.slots.is_empty().then(|| same.count() as u64)
    }

    /// The contents with which messages were last sent, where they were not the host's, by
    /// position. For a session that restarts after files were moved: rendered anew, the contents
    /// would name those files by their new paths.
    fn recorded_contents(&self, state: &Session) -> HashMap<u64, String> {
        if !self.view.slots.is_empty() || !state.files().any_moved() {
            return HashMap::new();
        }
        let slots = self.recorded.iter().zip(&self.recorded_marks);
        let contents = slots.filter_map(|(slot, known)| match slot {
            SlotRecord::Chat { chat, content: Some(content), .. }
                if mark(state, slot) == *known =>
            {
                Some((*chat, content.clone()))
            }
            _ => None,
        });
        contents.collect()
    }

    /// The records of the slots that were last sent, with their tokens if known.
    pub(super) fn last_sent(&self) -> impl Iterator<Item = (&SlotRecord, Option<u64>)> {
        let is_restarted = self.view.slots.is_empty();
        let recorded = self.recorded.iter().filter(move |_| is_restarted);
        let sent = self.view.slots.iter().map(|slot| (&slot.record, Some(slot.tokens)));
        recorded.map(|record| (record, None)).chain(sent)
    }
}

/// A mark that distinguishes the message of a slot from another one at the same position of the
/// chat: its hash or, if it is shown with other content, its identity.
fn mark(state: &Session, slot: &SlotRecord) -> Option<Hash> {
    let SlotRecord::Chat { chat, content, .. } = slot else { return None };
    let message = state.chat().get(*chat)?;
    match content {
        None => Some(message.digest.clone()),
        Some(_) => Some(Hash::of(format!("{:?}", message.key))),
    }
}
