//! Which needs of what had left the window show in what the model does: it asks, reads again, runs
//! a command again. Needs that show in what it writes come as events.

use super::Session;
use crate::event::Treatment;
use crate::excerpt::uncut_lines;
use crate::faults::FaultKind;
use crate::index::Subject;
use crate::lines::LineRange;
use crate::message::{Cut, MessageKind, ResultFact, Shows};
use crate::showings::Showing;
use base::object::ObjectId;

/// Lines of an object that some message had shown and that left with it.
#[derive(Default)]
struct Left {
    /// As numbered in the latest version.
    lines: Vec<LineRange>,
    /// Whether there were others, which the latest version does not have any more.
    gone: bool,
}

impl Session {
    /// Whether any of these lines of an object had left the window: a message showed them, and none
    /// does now. For a segment, whether any of its messages had.
    pub fn had_left(&self, object: &ObjectId, ranges: &[LineRange]) -> bool {
        if let Some(Subject::Segment { first, last, .. }) =
            self.index.get(object).map(|entry| &entry.subject)
        {
            let stands = |at: u64| self.chat.index_of(at).is_some() && self.stands_whole(at);
            return !(*first..=*last).all(stands);
        }
        let (left, standing) = (self.left_of(object), self.standing_of(object));
        let asked =
            |line: &LineRange| ranges.iter().filter_map(|range| range.intersect(*line)).collect();
        let mut wanted = left.lines.iter().flat_map(|line| -> Vec<LineRange> { asked(line) });
        wanted.any(|line| !line.without(&standing).is_empty()) || (left.gone && standing.is_empty())
    }

    /// Whether the window holds a message only as a line, or not at all because it was folded.
    pub fn is_absent(&self, at: u64) -> bool {
        self.absence.is_absent(at)
    }

    /// Counts the faults that a new result shows.
    pub(super) fn note_missed(&mut self, at: u64, fact: &ResultFact) {
        let tokens = self.chat.get(at).map_or(0, |message| message.tokens);
        let kind = match &fact.shows {
            _ if !self.is_new(at) || self.was_asked_without_us(at) => None,
            Shows::File { object, range, .. } => {
                self.had_left(object, &[*range]).then_some(FaultKind::Reread)
            }
            Shows::Own => self.is_repeated(at, fact).then_some(FaultKind::Repeated),
            Shows::Change { .. } | Shows::Activated { .. } => None,
        };
        self.absence.result(fact.is_own());
        if let Some(kind) = kind {
            self.absence.missed(kind, tokens);
        }
    }

    /// Whether the host's own messages went out when the model asked for a result: all of them stood.
    fn was_asked_without_us(&self, at: u64) -> bool {
        let is_answer = |at: &u64| {
            self.chat.get(*at).is_some_and(|it| matches!(it.kind, MessageKind::Assistant))
        };
        (0..at).rev().find(is_answer).is_some_and(|asked| self.branches.is_unasked(asked))
    }

    /// Whether a command was run before, and what it said had left since. After a change it may be
    /// run for its new output.
    fn is_repeated(&self, at: u64, fact: &ResultFact) -> bool {
        let is_same = |at: &u64| self.result(*at).is_some_and(|it| it.request == fact.request);
        if fact.is_own() || !self.shortened().any(|gone| is_same(&gone)) {
            return false;
        }
        let Some(gone) = (0..at).rev().find(is_same) else { return false };
        let known = self.chat.get(gone).zip(self.result(gone));
        known.is_some_and(|(message, before)| {
            let says = |fact: &ResultFact| (fact.lines, fact.exit, fact.last.clone());
            let is_edited = self.edited.values().any(|step| *step > message.step);
            !self.stands_whole(gone) && (!is_edited || says(before) == says(fact))
        })
    }

    /// The messages that stand in part or not at all.
    fn shortened(&self) -> impl Iterator<Item = u64> {
        let is_part = |(_, how): &(&u64, &Treatment)| {
            matches!(how, Treatment::Excerpt { .. } | Treatment::Reread { .. })
        };
        let parts = self.treatments.iter().filter(is_part).map(|(at, _)| *at);
        self.absence.places().chain(parts)
    }

    fn stands_whole(&self, at: u64) -> bool {
        !self.is_hidden(at) && *self.treatment(at) == Treatment::Given
    }

    /// What messages had shown of an object that do not show all of it any more.
    pub fn former_showings(&self, object: &ObjectId) -> impl Iterator<Item = Showing> {
        let shows = |at: &u64| self.result(*at).is_some_and(|it| it.shown_object() == Some(object));
        let former = self.shortened().filter(shows);
        former.filter_map(|at| self.showing_as(at, &Treatment::Given))
    }

    /// The lines of an object that left with the messages that had shown them.
    fn left_of(&self, object: &ObjectId) -> Left {
        let mut left = Left::default();
        for showing in self.former_showings(object) {
            left.gone |= showing.now.is_empty();
            left.lines.extend(showing.now);
        }
        let own = self.shortened().filter_map(|at| self.result(at));
        let own =
            own.filter(|fact| fact.shows == Shows::Own && fact.object.as_ref() == Some(object));
        left.lines.extend(own.map(|fact| LineRange { first: 1, last: whole_lines(fact) }));
        left
    }

    /// The lines of an object that stand.
    fn standing_of(&self, object: &ObjectId) -> Vec<LineRange> {
        let mut standing: Vec<LineRange> =
            self.showings(object).flat_map(|showing| showing.now.iter().copied()).collect();
        let noted = self.noted_texts().filter(|(_, text)| text.object == *object);
        standing.extend(noted.flat_map(|(_, text)| text.ranges.iter().copied()));
        for at in self.shortened().filter(|at| !self.is_hidden(*at)) {
            let own = self.result(at).filter(|fact| fact.object.as_ref() == Some(object));
            let Some((fact, Treatment::Excerpt { pieces })) =
                own.map(|fact| (fact, self.treatment(at)))
            else {
                continue;
            };
            let numbering = fact.cut.as_ref().map(Cut::numbering);
            let place = |lines| numbering.unwrap_or_default().place(lines);
            standing.extend(uncut_lines(pieces).map(place));
        }
        standing
    }
}

fn whole_lines(fact: &ResultFact) -> u64 {
    fact.cut.as_ref().map_or(fact.lines, |cut| cut.lines)
}
