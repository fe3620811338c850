//! What stands at each message of the window, and what decisions need to know about it.

use super::Session;
use crate::chat_place::{ChatPlace, Role};
use crate::excerpt::uncut_lines;
use crate::line_ranges::LineRange;
use crate::message::{MessageKind, ResultFact, Shows};
use crate::showings::Showing;
use crate::treatment::Treatment;

/// An output of at most this many tokens never counts as absent: its reference line says about as
/// much.
const SMALL_TOKENS: u64 = 60;

impl Session {
    /// What would stand at a message under a treatment.
    pub fn showing_as(&self, at: u64, treatment: &Treatment) -> Option<Showing> {
        let (object, version, ranges) = match (treatment, &self.result(at)?.shows) {
            (Treatment::Current { object, version, ranges, .. }, _) => {
                (object, version, ranges.clone())
            }
            (Treatment::Given, Shows::Activated { object, version, ranges, cut, .. }) => {
                let whole = ranges.iter().flat_map(|range| range.without(cut));
                (object, version, whole.collect())
            }
            (Treatment::Given, Shows::File { object, version, range }) => {
                (object, version, vec![*range])
            }
            (
                Treatment::Reread { parts },
                Shows::File { object, version, .. } | Shows::Activated { object, version, .. },
            ) => {
                let here = parts.iter().filter(|part| part.stands_at.is_none());
                (object, version, here.map(|part| part.range).collect())
            }
            (Treatment::Excerpt { pieces }, Shows::File { object, version, range }) => {
                let of_file = |lines: LineRange| lines.shifted(range.first - 1).intersect(*range);
                (object, version, uncut_lines(pieces).filter_map(of_file).collect())
            }
            _ => return None,
        };
        if ranges.is_empty() {
            return None;
        }
        let now = self.files().lines_now(object, version, &ranges);
        Some(Showing { at, object: object.clone(), version: version.clone(), ranges, now })
    }

    /// Recomputes what stands at a message.
    pub(super) fn show(&mut self, at: u64) {
        let showing = self.showing_as(at, self.treatment(at)).filter(|_| !self.folds.hide(at));
        if let Some(showing) = &showing {
            self.files.show(&showing.object, &showing.version);
        }
        self.showings.set(at, showing);
        self.written.set(at, self.written_at(at).filter(|_| !self.folds.hide(at)));
        self.absence.update(at, self.absent_tokens(at));
        self.pack(at);
    }

    /// What the call of a result wrote into a file as its whole text.
    fn written_at(&self, at: u64) -> Option<Showing> {
        let fact = self.result(at)?;
        let Shows::Change { object } = &fact.shows else { return None };
        let version = self.files.wrote(object, fact.object.as_ref()?)?.clone();
        Some(Showing { at, object: object.clone(), version, ranges: Vec::new(), now: Vec::new() })
    }

    /// Updates the packed record of a message.
    pub(super) fn pack(&mut self, at: u64) {
        let (Ok(index), Some(message)) = (usize::try_from(at), self.chat.get(at)) else { return };
        let fact = self.result(at);
        let role = match &message.kind {
            MessageKind::User => Role::User,
            MessageKind::Assistant => Role::Answer,
            MessageKind::Other if fact.is_none() => Role::Other,
            MessageKind::Result(_) | MessageKind::Other => Role::Result,
        };
        let is_output = fact.is_some_and(|fact| fact.is_output);
        let stands = *self.treatment(at) != Treatment::Reference;
        let (step, hidden) = (message.step, self.folds.hide(at));
        let place = ChatPlace { step, role, is_output, stands, hidden };
        if index >= self.places.len() {
            self.places.resize(index + 1, ChatPlace::default());
        }
        self.places[index] = place;
    }

    /// Tokens of a message that does not stand in full; `None` if it does or if nothing in it can
    /// be missed.
    pub(super) fn absent_tokens(&self, at: u64) -> Option<u64> {
        let message = self.chat.get(at)?;
        let is_hidden = self.folds.hide(at);
        let absent = match message.kind {
            MessageKind::Assistant => is_hidden,
            _ if self.result(at).is_some() => {
                // An excerpt does not count as absent: the needed lines may be among those shown.
                let collapsed = *self.treatment(at) == Treatment::Reference;
                (is_hidden || collapsed) && message.tokens > SMALL_TOKENS
            }
            _ => false,
        };
        absent.then_some(message.tokens)
    }

    /// Tokens of one of our own tools' results, plus those of the answer that made the call if this
    /// is the last of its results and all of them are ours. For a failed edit, those of our help.
    pub(super) fn own_tokens_of(&self, at: u64) -> u64 {
        let is_own = |at: &u64| self.result(*at).is_some_and(ResultFact::is_own);
        if !is_own(&at) {
            return self.notes.help_at(at);
        }
        let of = |at: u64| self.chat.get(at).map_or(0, |message| message.tokens);
        let results = (0..=at).rev().take_while(is_own).count();
        let call = (at + 1).checked_sub(results as u64 + 1);
        let alone = call
            .and_then(|call| self.chat.get(call))
            .filter(|call| call.is_answer() && call.key.calls.len() == results);
        of(at) + alone.map_or(0, |call| call.tokens)
    }
}
