//! Which needs of what had left the window show in what the model does: it asks, reads again, runs
//! a command again. Needs that show in what it writes come as events.

use super::Session;
use crate::chat::ChatMessage;
use crate::faults::FaultKind;
use crate::index::Subject;
use crate::line_ranges::LineRange;
use crate::message::{Activation, ResultFact, Shows};
use crate::showings::Showing;
use crate::treatment::Treatment;
use base::object::{Hash, ObjectId};

/// All lines of a text.
pub(super) const ALL: LineRange = LineRange { first: 1, last: u64::MAX };

/// The version by which lines of an object are compared.
#[derive(Clone, Copy)]
struct Among<'a> {
    object: &'a ObjectId,
    version: &'a Hash,
}

impl Session {
    /// Whether any of these lines of an object's version had left the window: a message showed
    /// them, and no message or note does now. For a segment, whether any of its messages had.
    pub fn had_left(&self, object: &ObjectId, version: &Hash, ranges: &[LineRange]) -> bool {
        let Some(entry) = self.index.get(object) else { return false };
        let mut among = Among { object, version: entry.subject.version() };
        let mut asked = self.lines_among(among, version, ranges);
        if asked.is_empty() {
            // The latest version does not have them any more.
            among.version = version;
            asked = ranges.to_vec();
        }
        let left = self.left_of(among);
        let wanted = left.iter().flat_map(|line| asked.iter().filter_map(|it| it.intersect(*line)));
        let mut wanted = wanted.peekable();
        // What stands takes a walk through the window, and mostly nothing had left.
        if wanted.peek().is_none() {
            return false;
        }
        let standing = self.standing_of(among);
        wanted.any(|line| !line.without(&standing).is_empty())
    }

    /// As [`Self::had_left`], for any lines of an object; of a deleted file those that it had.
    pub fn has_left(&self, object: &ObjectId) -> bool {
        let Some(entry) = self.index.get(object) else { return false };
        if let Subject::File { lines: None, .. } = &entry.subject {
            let mut former = self.former_showings(object);
            return former.any(|it| self.had_left(object, &it.version, &it.ranges));
        }
        self.had_left(object, entry.subject.version(), &[ALL])
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
            Shows::File { object, version, range } => {
                self.had_left(object, version, &[*range]).then_some(FaultKind::Reread)
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
        let is_answer = |at: &u64| self.chat.get(*at).is_some_and(ChatMessage::is_answer);
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
            self.text_had_left(gone, before) && (!is_edited || says(before) == says(fact))
        })
    }

    /// Whether any of the text of a result had left.
    fn text_had_left(&self, at: u64, fact: &ResultFact) -> bool {
        match (&fact.shows, &fact.object) {
            (Shows::File { object, version, range }, _) => {
                self.had_left(object, version, &[*range])
            }
            (Shows::Own, Some(object)) => self.has_left(object),
            _ => self.is_hidden(at) || *self.treatment(at) != Treatment::Given,
        }
    }

    /// The messages that stand in part or not at all.
    fn shortened(&self) -> impl Iterator<Item = u64> {
        let is_part = |(_, how): &(&u64, &Treatment)| {
            matches!(how, Treatment::Excerpt { .. } | Treatment::Reread { .. })
        };
        let parts = self.treatments.iter().filter(is_part).map(|(at, _)| *at);
        self.absence.places().chain(parts)
    }

    /// What messages had shown of an object that do not show all of it any more.
    pub fn former_showings(&self, object: &ObjectId) -> impl Iterator<Item = Showing> {
        let shows = |at: &u64| self.result(*at).is_some_and(|it| it.shown_object() == Some(object));
        let former = self.shortened().filter(shows);
        former.filter_map(|at| self.showing_as(at, &Treatment::Given))
    }

    /// Where lines of a version are in the one by which they are compared, in the whole of an output
    /// that the host cut; empty if it does not have them.
    fn lines_among(
        &self,
        among: Among<'_>,
        version: &Hash,
        ranges: &[LineRange],
    ) -> Vec<LineRange> {
        let Among { object, version: among } = among;
        let latest = self.subject(object);
        if let Some(Subject::File { .. }) = latest {
            return self.files.lines_known(object, version, ranges, among);
        }
        let is_latest = latest.is_some_and(|latest| latest.version() == among);
        let fact = self.fact_of(object).filter(|_| is_latest);
        match fact.and_then(|fact| Some((fact, fact.cut.as_ref()?))) {
            Some((_, cut)) if cut.text.as_ref() == Some(version) => ranges.to_vec(),
            Some((fact, cut)) if version == among => {
                let text = LineRange { first: 1, last: fact.lines };
                let of_text = ranges.iter().filter_map(|range| range.intersect(text));
                let of_whole = of_text.map(|range| cut.numbering().place(range));
                let shown = fact.shown_lines();
                of_whole
                    .flat_map(|it| shown.iter().filter_map(move |of| it.intersect(*of)))
                    .collect()
            }
            _ if version == among => ranges.to_vec(),
            _ => Vec::new(),
        }
    }

    /// The lines of an object that left with the messages that had shown them. A session of thousands
    /// of results asks at each of them: one walk.
    fn left_of(&self, of: Among<'_>) -> Vec<LineRange> {
        let among = |version: &Hash, ranges: &[LineRange]| self.lines_among(of, version, ranges);
        let subject = self.subject(of.object);
        let mut left = Vec::new();
        for at in self.shortened() {
            let Some(fact) = self.result(at) else { continue };
            if fact.shown_object() == Some(of.object) {
                let former = self.showing_as(at, &Treatment::Given);
                left.extend(former.iter().flat_map(|it| among(&it.version, &it.ranges)));
            } else if let Some(subject) = subject.filter(|_| fact.has_own_text_of(of.object)) {
                left.extend(among(subject.version(), &[LineRange { first: 1, last: fact.lines }]));
            }
            left.extend(self.shown_beside(at, of));
        }
        if subject.is_some_and(|subject| self.is_segment_left(subject)) {
            left.push(ALL);
        }
        left
    }

    /// The lines of an object that stand, in messages and notes.
    fn standing_of(&self, of: Among<'_>) -> Vec<LineRange> {
        let object = of.object;
        let among = |version: &Hash, ranges: &[LineRange]| self.lines_among(of, version, ranges);
        let showings = self.showings(object);
        let mut standing: Vec<LineRange> =
            showings.flat_map(|showing| among(&showing.version, &showing.ranges)).collect();
        let noted = self.noted_texts().filter(|(_, text)| text.object == *object);
        standing.extend(noted.flat_map(|(_, text)| among(&text.version, &text.ranges)));
        let Some(entry) = self.index.get(object) else { return standing };
        let version = entry.subject.version();
        for at in self.chat.own_window.iter().copied() {
            let Some(fact) = self.result(at) else { continue };
            let (is_own, is_activated) =
                (fact.has_own_text_of(object), matches!(fact.shows, Shows::Activated { .. }));
            if !(is_own || is_activated) || self.is_hidden(at) {
                continue;
            }
            if is_own {
                standing.extend(among(version, &self.own_lines(at, version, version)));
            }
            if is_activated && *self.treatment(at) == Treatment::Given {
                standing.extend(self.shown_beside(at, of));
            }
        }
        standing
    }

    /// The lines of an object that a result shows which shows another one first.
    fn shown_beside(&self, at: u64, among: Among<'_>) -> Vec<LineRange> {
        let Some(Shows::Activated { also, .. }) = self.result(at).map(|fact| &fact.shows) else {
            return Vec::new();
        };
        let of_object = also.iter().filter(|activation| activation.object == *among.object);
        let lines = of_object.flat_map(|Activation { version, ranges, cut, .. }| {
            let whole: Vec<_> = ranges.iter().flat_map(|range| range.without(cut)).collect();
            self.lines_among(among, version, &whole)
        });
        lines.collect()
    }

    /// Whether a message of a segment left the window.
    pub(super) fn is_segment_left(&self, subject: &Subject) -> bool {
        let Subject::Segment { first, last, .. } = subject else { return false };
        !(*first..=*last).all(|at| self.is_in_front(at))
    }
}
