//! Brings back what must stand and does not: the newest message shows it as a note, if there is
//! room. A person is told of a pin that has none.
//!
//! Must not look at files.

use super::layout::LayOut;
use crate::Notice;
use crate::intake::newest_for_notes;
use base::error::{Error, Result};
use base::object::{Handle, HandleKind, ObjectId, quote};
use context::forms;
use context::held::Budgets;
use context::log_layout::{Texts, counted_of, headed_lines};
use context::view::Slot;
use context::window::Marks;
use session::{Ended, Event, HeldLines, LineRange, Note, NotedText, SlotRecord, Subject, Why};

/// A pinned object that has no room.
pub(super) struct LeftOut {
    pub(super) object: ObjectId,
    pub(super) tokens: u64,
    /// Whether it may have that many tokens of the window, once these are free.
    pub(super) may_stand: bool,
}

impl LayOut<'_> {
    /// Notes in the newest message what must stand and does not; returns the pins that have no
    /// room.
    ///
    /// `room`: tokens that the request may still take. `anew`: whether it is written anew, so that a
    /// known message may carry notes.
    pub(super) fn bring_back(
        &mut self,
        marks: Option<&Marks>,
        mut room: u64,
        anew: bool,
    ) -> Result<Vec<LeftOut>> {
        let carrier = self.carrier(anew);
        let mut budgets = Budgets::of(marks, self.options.settings.instruction_tokens);
        let mut left_out = Vec::new();
        let newest_first: Vec<HeldLines> =
            self.journal.state().sets().held.iter().rev().cloned().collect();
        for held in newest_first {
            let missing = self.journal.state().missing(&held);
            if missing.is_empty() {
                // What stands takes its share, if it has one.
                let _ = budgets.take(held.why, held.tokens);
                continue;
            }
            let mut left = budgets;
            if held.why != Why::Pinned && left.take(held.why, held.tokens).is_none() {
                continue;
            }
            let Some(note) = self.note_of(&held, missing)? else {
                if held.why == Why::Pinned {
                    self.end_pin(&held.object);
                }
                continue;
            };
            let tokens = self.options.counter.count(&note.0);
            let mut after = budgets;
            let may_stand = after.take(held.why, tokens.max(held.tokens)).is_some();
            let fits = may_stand && tokens <= room;
            if fits {
                budgets = after;
            }
            match carrier.filter(|_| fits) {
                Some(at) => {
                    room -= tokens;
                    let (text, shows) = (note.0, Some(note.1));
                    self.journal.record(Event::noted(at, Note { shows, ..Note::of(text, tokens) }));
                }
                // Where nothing can carry it, it waits for the next message.
                None if fits && !self.is_left_out(&held.object) => {}
                None if held.why == Why::Pinned => {
                    left_out.push(LeftOut { object: held.object, tokens, may_stand });
                }
                None => {}
            }
        }
        Ok(left_out)
    }

    /// Position of the message that carries what must stand. `anew`: whether it may be a known one.
    pub(super) fn carrier(&self, anew: bool) -> Option<u64> {
        let known = || newest_for_notes(self.journal.state(), 0, self.list.kept_from);
        self.newest.or_else(|| known().filter(|_| anew))
    }

    /// The pins of which these slots do not show everything (`pools`).
    pub(super) fn pins_without(&self, slots: &[Slot]) -> Vec<LeftOut> {
        let pins = self.journal.state().sets().held.iter().filter(|held| held.why == Why::Pinned);
        let shows = |slot: &Slot, held: &HeldLines| match &slot.record {
            SlotRecord::Active { active, ranges, .. } if *active == held.object => {
                ranges.is_empty() || held.ranges.iter().all(|of| of.without(ranges).is_empty())
            }
            _ => false,
        };
        let left = pins.filter(|held| !slots.iter().any(|slot| shows(slot, held)));
        left.map(|held| LeftOut {
            object: held.object.clone(),
            tokens: held.tokens,
            may_stand: false,
        })
        .collect()
    }

    /// The note with missing lines of what must stand; `None` if the store no longer holds them.
    fn note_of(
        &self,
        held: &HeldLines,
        ranges: Vec<LineRange>,
    ) -> Result<Option<(String, NotedText)>> {
        let (object, version) = (held.object.clone(), held.version.clone());
        let text = match self.journal.text(&object, &version) {
            Ok(text) => text,
            Err(Error::NotFound { .. } | Error::Forgotten { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some((handle, name)) = self.name_of(held)? else { return Ok(None) };
        let (counted, all) = counted_of(&text, &ranges);
        let heading = forms::activated_line(handle, &name, &counted, all);
        let text = headed_lines(&heading, &text, &ranges);
        Ok(Some((text, NotedText { object, version, ranges })))
    }

    /// Handle and name of what must stand, in our words.
    fn name_of(&self, held: &HeldLines) -> Result<Option<(Handle, String)>> {
        let state = self.journal.state();
        let Some(entry) = state.index().of_version(&held.object, &held.version) else {
            return Ok(None);
        };
        let mut name = quote::name(&forms::name_of(state, &entry.subject)).into_owned();
        match &entry.subject {
            Subject::File { lines: None, .. } => name.push_str(forms::LAST_VERSION),
            Subject::File { version, .. } if *version != held.version => {
                name.push_str(" (not the latest version)");
            }
            _ => {}
        }
        if entry.handle.kind == HandleKind::File
            && let Some(store) = self.journal.store.elsewhere(&held.object)?
        {
            name.push_str(&forms::from_elsewhere(&store));
        }
        Ok(Some((entry.handle, name)))
    }

    /// Tokens of the pins for which room is to be made: those that wait for the first time.
    pub(super) fn awaited_tokens(&self, left_out: &[LeftOut]) -> u64 {
        let new = left_out.iter().filter(|pin| pin.may_stand && !self.is_left_out(&pin.object));
        new.map(|pin| pin.tokens).sum()
    }

    fn is_left_out(&self, object: &ObjectId) -> bool {
        self.journal.state().left_out().contains(object)
    }

    fn end_pin(&mut self, object: &ObjectId) {
        self.journal.record(Event::Unpinned { object: object.clone() });
        self.forgotten_pins.push(object.clone());
    }

    /// Records which pins the request has no room for. Returns what a person must be told of pins.
    pub(super) fn tell_of_pins(&mut self, left_out: Vec<LeftOut>) -> Vec<Notice> {
        let state = self.journal.state();
        let mut notices = Vec::new();
        for LeftOut { object, tokens, .. } in &left_out {
            if let Some((handle, name)) =
                self.shown_name(object).filter(|_| !self.is_left_out(object))
            {
                notices.push(Notice::PinLeftOut { handle, name, tokens: *tokens });
            }
        }
        let forgotten = self.forgotten_pins.iter().map(|object| (object, "its text was forgotten"));
        let ended = state.ended_pins().iter().map(|Ended { object, why }| (object, *why));
        for (object, why) in ended.chain(forgotten) {
            if let Some((handle, name)) = self.shown_name(object) {
                notices.push(Notice::PinEnded { handle, name, why: why.to_owned() });
            }
        }
        let objects: Vec<ObjectId> = left_out.into_iter().map(|pin| pin.object).collect();
        if objects != state.left_out() {
            self.journal.record(Event::LeftOut { objects });
        }
        notices
    }

    /// Handle and name of an object, for a person.
    fn shown_name(&self, object: &ObjectId) -> Option<(String, String)> {
        let state = self.journal.state();
        let entry = state.index().get(object)?;
        let name = forms::name_of(state, &entry.subject).into_owned();
        Some((entry.handle.to_string(), name))
    }
}
