//! A session over time: each call with its window by kind of content, what happened between the
//! calls, and how each object was shown.
//!
//! One pass over the session's events. A slot is counted when it enters a request, so that a call
//! costs only what it changed. Must not decide anything, nor render a message.

mod kinds;
mod marks;
mod objects;

use std::collections::HashMap;
use std::ops::Range;

use self::kinds::Counted;
pub use self::kinds::TimelineKinds;
pub(super) use self::kinds::{CountedTexts, Counting};
use self::marks::marks_of;
pub use self::marks::{Mark, MarkKind};
use self::objects::Showing;
pub use self::objects::{ObjectLine, ShownRun};
use super::slots::replaced;
use crate::journal::Recording;
use base::error::Result;
use base::object::ObjectId;
use session::{CallRecord, Event, Session, SlotEdit};
use store::Store;

/// A session over time.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// Every call in order, including those that failed open.
    pub calls: Vec<CallPoint>,
    /// What happened, in order.
    pub marks: Vec<Mark>,
    /// The objects that the session met, in the order of meeting.
    pub objects: Vec<ObjectLine>,
}

/// A call.
#[derive(Debug, Clone, Default)]
pub struct CallPoint {
    /// Its number.
    pub number: u64,
    /// Its record, without the edits of the request; `None` for a call that failed open.
    pub record: Option<CallRecord>,
    /// Why it went out with the host's own messages.
    pub failed_open: Option<String>,
    /// Tokens of the request by kind of content.
    pub kinds: TimelineKinds,
    /// Messages of the request.
    pub messages: u64,
}

/// Reads a session over time.
///
/// # Errors
/// Errors of the store; `NOT_FOUND` if there is no such session.
pub fn timeline(store: &Store, session: &ObjectId) -> Result<Timeline> {
    let recording = Recording::of(store, session, &"as a session")?;
    let counting = Counting::new(store, &CountedTexts::default());
    let mut walk = TimelinePass::default();
    for event in &recording.events {
        let faults = walk.state.faults();
        let marks = marks_of(event, walk.state.calls(), walk.model(), &faults);
        walk.marks.extend(marks);
        walk.state.apply(event);
        match event {
            Event::Called(record) => walk.called(record, &counting)?,
            Event::Edited { at, .. } => walk.stale.push(*at..at.saturating_add(1)),
            Event::Rewritten { chat_len, .. } => walk.stale.push(*chat_len..u64::MAX),
            Event::FailedOpen { calls } => {
                let first = walk.state.calls() + 1 - calls.len() as u64;
                walk.calls.extend((first..).zip(calls).map(|(number, failed)| CallPoint {
                    number,
                    failed_open: Some(failed.reason.clone()),
                    ..CallPoint::default()
                }));
            }
            _ => {}
        }
    }
    Ok(walk.finish())
}

/// The state of the pass so far.
#[derive(Default)]
struct TimelinePass {
    state: Session,
    /// The newest request.
    slots: Vec<Counted>,
    kinds: TimelineKinds,
    /// Tokens of system prompt and tools, from the last call that changed them.
    prompt: u64,
    showing: HashMap<ObjectId, Showing>,
    /// Positions of the chat whose messages the host replaced since the newest request.
    stale: Vec<Range<u64>>,
    calls: Vec<CallPoint>,
    marks: Vec<Mark>,
}

impl TimelinePass {
    /// The model of the newest call that has a record.
    fn model(&self) -> Option<&str> {
        let record = self.calls.iter().rev().find_map(|call| call.record.as_ref());
        record?.model.as_deref()
    }

    fn called(&mut self, record: &CallRecord, counting: &Counting<'_>) -> Result<()> {
        let mut touched = Vec::new();
        for edit in &record.edits {
            self.edit(edit, counting, &mut touched)?;
        }
        for edit in self.replaced() {
            self.edit(&edit, counting, &mut touched)?;
        }
        for object in touched {
            if let Some(showing) = self.showing.get_mut(&object) {
                showing.turn_to(record.number);
            }
        }
        self.prompt = record.bill.fixed.unwrap_or(self.prompt);
        self.calls.push(CallPoint {
            number: record.number,
            record: Some(CallRecord { edits: Vec::new(), ..record.clone() }),
            failed_open: None,
            kinds: TimelineKinds { prompt: self.prompt, ..self.kinds },
            messages: self.slots.len() as u64,
        });
        Ok(())
    }

    /// The slots to count again: the host replaced their messages since the previous call.
    fn replaced(&mut self) -> Vec<SlotEdit> {
        let stale = std::mem::take(&mut self.stale);
        let is_stale = |position: u64| stale.iter().any(|range| range.contains(&position));
        let places = self.slots.iter().enumerate().take_while(|_| !stale.is_empty());
        let edit = |(at, slot): (usize, &Counted)| {
            slot.position().filter(|position| is_stale(*position))?;
            Some(SlotEdit { at: at as u64, remove: 1, insert: vec![slot.record.clone()?] })
        };
        places.filter_map(edit).collect()
    }

    fn edit(
        &mut self,
        edit: &SlotEdit,
        counting: &Counting<'_>,
        touched: &mut Vec<ObjectId>,
    ) -> Result<()> {
        let pool = self.slots.first().map(|slot| slot.pool.clone()).unwrap_or_default();
        let insert = edit.insert.iter().map(|slot| counting.count(slot, &self.state, &pool));
        let insert: Vec<Counted> = insert.collect::<Result<_>>()?;
        for slot in &insert {
            self.kinds.add(&slot.kinds);
            for (object, way) in &slot.shows {
                self.showing.entry(object.clone()).or_default().enter(*way);
                touched.push(object.clone());
            }
        }
        let replaced = replaced(edit, self.slots.len());
        for slot in self.slots.splice(replaced, insert) {
            self.kinds.subtract(&slot.kinds);
            for (object, way) in slot.shows {
                if let Some(showing) = self.showing.get_mut(&object) {
                    showing.leave(way);
                }
                touched.push(object);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Timeline {
        let last = self.calls.last().map_or(0, |call| call.number);
        let entries = self.state.index().entries.iter();
        let objects = entries.map(|entry| {
            let showing = self.showing.remove(&entry.id).unwrap_or_default();
            ObjectLine::new(entry, &self.state, showing.finish(last))
        });
        let objects = objects.collect();
        Timeline { calls: self.calls, marks: self.marks, objects }
    }
}
