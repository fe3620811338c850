//! The provider's request as the host shows it before it goes out: adds one more cache breakpoint,
//! and records the request.
//!
//! The first request after a call belongs to that call. Hosts replay requests to keep the cache
//! warm; a replay is not a call and is not recorded. If another extension changed the messages after
//! us, the record holds them as they went out, except for text that must not be stored.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Request;
use crate::recorded::{apply_edits, slots_of};
use base::error::Result;
use base::object::{Hash, canonical_json};
use context::host::HostMessage;
use context::payload::{self, RequestText};
use context::tokens::Counter;
use context::view::{record_key, recorded, replacements};
use session::{Event, PayloadRecord, Session, SlotRecord, WithheldReason};

/// What is known of sent requests.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    /// Records that are not stored yet.
    waiting: Vec<PayloadRecord>,
    /// The newest call whose request was seen, and the SHA-256 of its messages.
    newest: Option<(u64, Hash)>,
    /// Whether the newest call repeats the previous one: then its request may equal the previous
    /// one's.
    repeats: bool,
    /// The messages of the newest record that holds any.
    list: Vec<SlotRecord>,
}

impl Payloads {
    /// Whether there are records that are not stored yet.
    pub(super) fn any_wait(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The events to store.
    pub(super) fn events(&self) -> Vec<Event> {
        self.waiting.iter().cloned().map(Event::Payload).collect()
    }

    /// Call after the waiting records were stored.
    pub(super) fn clear_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Builds the list from the stored events; waiting records come after them.
    pub(super) fn restart(&mut self, events: &[Event]) {
        let stored = events.iter().filter_map(|event| match event {
            Event::Payload(record) => Some(record),
            _ => None,
        });
        let mut list = Vec::new();
        for record in stored.chain(&self.waiting) {
            apply_edits(&mut list, record.edits.as_deref().unwrap_or_default(), false);
        }
        self.list = slots_of(list);
    }

    /// Whether a request belongs to a call that has none yet.
    fn is_new(&self, call: u64, failed: bool, messages: &Hash) -> bool {
        let Some((known, before)) = &self.newest else { return true };
        call > *known && (self.repeats || failed || before != messages)
    }
}

impl Request {
    /// Call before a call goes out. `repeats`: whether it repeats the previous one.
    pub(crate) fn next_call(&mut self, repeats: bool) {
        self.payloads.repeats = repeats;
    }

    /// Records a provider's request with the newest call; returns whether its messages differ from
    /// ours.
    ///
    /// `is_excluded`: whether a message says about itself that it comes from an excluded file.
    pub(crate) fn note_payload(
        &mut self,
        state: &Session,
        request: &Value,
        is_excluded: impl Fn(&HostMessage) -> bool,
    ) -> Result<bool> {
        let call = state.calls() + self.failed.count();
        let list = payload::messages(request);
        let messages = Hash::of(serde_json::to_string(&list).unwrap_or_default());
        if call == 0 || !self.payloads.is_new(call, self.failed.any(), &messages) {
            return Ok(false);
        }
        let changed = list.filter(|list| !self.failed.any() && self.was_changed(list));
        let edits = changed.map(|list| {
            let list = self.payload_slots(state, list, is_excluded);
            let edits = recorded(None, replacements(&self.payloads.list, &list, record_key));
            self.payloads.list = list;
            edits
        });
        let hash = Hash::of(canonical_json(request)?);
        let is_changed = edits.is_some();
        self.payloads.waiting.push(PayloadRecord { call, hash, edits });
        self.payloads.newest = Some((call, messages));
        Ok(is_changed)
    }

    /// Whether a request's messages differ from those of the view. After a restart there is none to
    /// compare with.
    fn was_changed(&self, list: &[Value]) -> bool {
        let ours: Vec<RequestText> =
            self.view.slots.iter().filter_map(|slot| slot.said.clone()).collect();
        let theirs: Vec<RequestText> = list.iter().flat_map(payload::said_in).collect();
        !self.view.slots.is_empty() && !payload::says_the_same(&ours, &theirs)
    }

    /// A request's messages as they are recorded. If text of this window must not be stored, only
    /// messages whose text is stored anyway are kept in full; of others only hash and length.
    fn payload_slots(
        &self,
        state: &Session,
        list: &[Value],
        is_excluded: impl Fn(&HostMessage) -> bool,
    ) -> Vec<SlotRecord> {
        let ours: HashSet<RequestText> =
            self.view.slots.iter().filter_map(|slot| slot.said.clone()).collect();
        let hides = state.window().any(|(_, message)| message.withheld);
        let slot = |message: &Value| {
            let said = payload::said_in(message);
            let is_ours =
                !said.is_empty() && said.iter().all(|said| said.is_known() && ours.contains(said));
            let raw = message.to_string();
            if !is_ours && (hides || is_excluded(&as_result(message))) {
                let host = HostMessage::parse(&raw, Counter::default());
                let host = host.withhold(WithheldReason::Excluded, Vec::new());
                return SlotRecord::Message { message: host.raw, withheld: host.withheld };
            }
            SlotRecord::Message { message: raw, withheld: None }
        };
        list.iter().map(slot).collect()
    }
}

/// A message of a provider's request as a tool result with its whole JSON as text, line by line.
fn as_result(message: &Value) -> HostMessage {
    let content = json!([{ "type": "text", "text": message.to_string().replace("\\n", "\n") }]);
    let result = json!({ "role": "toolResult", "content": content }).to_string();
    HostMessage::parse(&result, Counter::Characters)
}
