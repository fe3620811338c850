//! Finds calls in recorded sessions. Calls that are asked for in order are found in one pass over a
//! session's events. Must not render.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::slots::{Recorded, apply_edits};
use crate::journal::Recording;
use base::error::{Error, Result};
use base::object::ObjectId;
use session::{CallRecord, Event, FailedCall, Session, SlotRecord};
use store::Store;

/// A call as found in a session's events.
pub(super) struct FoundCall {
    /// The session in which it was made.
    pub(super) recording: Arc<Recording>,
    /// The session as it stood when the call went out.
    pub(super) state: Session,
    /// Number of the session's events up to and including the call's own.
    pub(super) until: usize,
    /// Its record; none for a call that failed open.
    pub(super) record: Option<CallRecord>,
    /// Why it failed open.
    pub(super) failure: Option<String>,
    pub(super) slots: Vec<Recorded>,
}

impl FoundCall {
    /// The same call as the plain host would have made it: the host's own list, without a record.
    pub(super) fn into_plain(self) -> Self {
        Self { record: None, failure: None, slots: window_slots(&self.state), ..self }
    }

    /// The session's events up to and including the call's own.
    pub(super) fn events(&self) -> &[Event] {
        &self.recording.events[..self.until]
    }

    /// What was reported of the call.
    pub(super) fn reports(&self) -> impl Iterator<Item = &Event> {
        let later = self.recording.events[self.until..].iter();
        let until_next = later.take_while(|event| !matches!(event, Event::Called(_)));
        until_next.filter(|event| matches!(event, Event::Reported(_)))
    }

    /// How each message is recorded, in order.
    pub(super) fn slots(&self) -> impl Iterator<Item = &SlotRecord> {
        self.slots.iter().map(|recorded| &recorded.slot)
    }
}

/// The host's list as it is, without messages that pass.
fn window_slots(state: &Session) -> Vec<Recorded> {
    let window = state.chat().own_window.iter();
    let slot = |at: &u64| SlotRecord::Chat { chat: *at, content: None, folded: None };
    window.map(|at| Recorded { slot: slot(at), is_redacted: false }).collect()
}

/// Finds calls of a session, and of those from which it forked.
pub(super) struct Finder<'a> {
    store: &'a Store,
    session: &'a ObjectId,
    walks: HashMap<ObjectId, CallSearch>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(store: &'a Store, session: &'a ObjectId) -> Self {
        Self { store, session, walks: HashMap::new() }
    }

    /// Finds a call by its number. Finding the call after the last one found takes almost no time.
    ///
    /// # Errors
    /// `NOT_FOUND` if the session has no such call; `FORGOTTEN` if the session that made it is
    /// forgotten; errors of the store.
    pub(super) fn find(&mut self, number: u64) -> Result<FoundCall> {
        let mut holder = self.session.clone();
        loop {
            let walk = match self.walks.entry(holder) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let at = format_args!("with call {number}");
                    let recording = Recording::of(self.store, place.key(), &at)?;
                    place.insert(CallSearch::new(recording))
                }
            };
            match inherited_from(&walk.recording.events, number) {
                Some(parent) => holder = parent.clone(),
                None => return walk.find(number),
            }
        }
    }
}

/// The session in which a call was made that this fork inherited.
fn inherited_from(events: &[Event], number: u64) -> Option<&ObjectId> {
    let forked =
        |event: &Event| matches!(event, Event::Opened(opened) if opened.forked_from.is_some());
    let place = events.iter().rposition(forked)?;
    let calls = events[..place].iter().fold(0, |calls, event| match event {
        Event::Called(record) => record.number,
        Event::FailedOpen { calls: failed } => calls + failed.len() as u64,
        _ => calls,
    });
    match &events[place] {
        Event::Opened(opened) if number <= calls => opened.forked_from.as_ref(),
        _ => None,
    }
}

/// A pass through the events of a session, up to the call found last.
struct CallSearch {
    recording: Arc<Recording>,
    /// Number of events passed; none of them belongs to the call found last.
    passed: usize,
    /// The newest call among the passed events, and its slots.
    calls: u64,
    slots: Vec<Recorded>,
    /// The session as it stood after the first `applied` events.
    state: Session,
    applied: usize,
}

impl CallSearch {
    fn new(recording: Arc<Recording>) -> Self {
        let (slots, state) = (Vec::new(), Session::default());
        Self { recording, passed: 0, calls: 0, slots, state, applied: 0 }
    }

    fn find(&mut self, number: u64) -> Result<FoundCall> {
        let recording = Arc::clone(&self.recording);
        if number <= self.calls {
            *self = Self::new(Arc::clone(&recording));
        }
        // Why the call failed open. If its messages are unknown, those of the next call stand in, and
        // behind the newest those that are known.
        let mut unknown = None;
        for at in self.passed..recording.events.len() {
            let is_redacted = recording.redacted[at];
            match &recording.events[at] {
                Event::Called(_) if unknown.is_some() => {
                    return Ok(self.found(at + 1, None, unknown, None));
                }
                Event::Called(record) if record.number == number => {
                    let mut slots = self.slots.clone();
                    apply_edits(&mut slots, &record.edits, is_redacted);
                    return Ok(self.found(at + 1, Some(record.clone()), None, Some(slots)));
                }
                Event::Called(record) => {
                    apply_edits(&mut self.slots, &record.edits, is_redacted);
                    (self.passed, self.calls) = (at + 1, record.number);
                }
                Event::FailedOpen { calls } => match self.failed(calls, number, is_redacted) {
                    Some((reason, Some(slots))) => {
                        return Ok(self.found(at + 1, None, Some(reason), Some(slots)));
                    }
                    Some((reason, None)) => unknown = Some(reason),
                    None if unknown.is_some() => {}
                    None => (self.passed, self.calls) = (at + 1, self.calls + calls.len() as u64),
                },
                _ => {}
            }
        }
        if unknown.is_some() {
            return Ok(self.found(recording.events.len(), None, unknown, None));
        }
        let session = recording.session.envelope.id.clone();
        Err(Error::NoCall { session, number, calls: self.calls })
    }

    /// The call with that number among those that failed open: the reason, and its slots if known.
    fn failed(
        &self,
        calls: &[FailedCall],
        number: u64,
        is_redacted: bool,
    ) -> Option<(String, Option<Vec<Recorded>>)> {
        let mut slots = Vec::new();
        for (number_of, failed) in (self.calls + 1..).zip(calls) {
            apply_edits(&mut slots, failed.edits.as_deref().unwrap_or_default(), is_redacted);
            if number_of == number {
                return Some((failed.reason.clone(), failed.edits.is_some().then_some(slots)));
            }
        }
        None
    }

    fn found(
        &mut self,
        until: usize,
        record: Option<CallRecord>,
        failure: Option<String>,
        slots: Option<Vec<Recorded>>,
    ) -> FoundCall {
        let recording = Arc::clone(&self.recording);
        recording.events[self.applied..self.passed]
            .iter()
            .for_each(|event| self.state.apply(event));
        self.applied = self.passed;
        let mut state = self.state.clone();
        recording.events[self.passed..until].iter().for_each(|event| state.apply(event));
        let slots = slots.unwrap_or_else(|| window_slots(&state));
        FoundCall { recording, state, until, record, failure, slots }
    }
}
