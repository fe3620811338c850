//! What must stand: how it follows the files, and what of it stands in the window.

use super::Session;
use super::missed::ALL;
use super::notes::Note;
use crate::event::NotedText;
use crate::excerpt::Piece;
use crate::held::{Extent, HeldLines, Why};
use crate::index::Subject;
use crate::line_ranges::{LineRange, merge_ranges};
use crate::message::{MessageKind, ResultFact};
use crate::sets::ActiveView;
use crate::treatment::Treatment;
use base::object::{Hash, ObjectId};

/// A pin that ended without anybody asking for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The object.
    pub object: ObjectId,
    /// Why, in words that continue "because".
    pub why: &'static str,
}

impl Session {
    /// Lines that must stand from now on, of a version that the session knows.
    pub(super) fn hold(
        &mut self,
        (object, version, ranges): (&ObjectId, &Hash, &[LineRange]),
        is_whole: bool,
        tokens: u64,
        (why, by_person): (Why, bool),
    ) {
        let extent = match self.subject(object) {
            Some(Subject::File { version: latest, lines: Some(_), .. }) if latest == version => {
                if is_whole {
                    Extent::Whole
                } else {
                    Extent::Lines
                }
            }
            _ => Extent::Version,
        };
        let (object, version, ranges) = (object.clone(), version.clone(), ranges.to_vec());
        self.sets.hold(HeldLines { object, version, ranges, extent, tokens, why, by_person });
    }

    /// What a person or the model pinned.
    pub(super) fn pin(
        &mut self,
        what: (&ObjectId, &Hash, &[LineRange]),
        view: &ActiveView,
        tokens: u64,
        by_person: bool,
    ) {
        self.hold(what, *view == ActiveView::Whole, tokens, (Why::Pinned, by_person));
    }

    /// A file has a new version with this many lines: what is held of it are the same lines there.
    /// A pin whose lines are gone ends; instructions whose file is gone are not in force.
    pub(super) fn follow_held(&mut self, file: &ObjectId, version: &Hash, lines: Option<u64>) {
        let is_of_file = |held: &HeldLines| held.object == *file;
        let Some(lines) = lines else {
            self.sets.release(|held| is_of_file(held) && held.why != Why::Pinned);
            return;
        };
        let all = LineRange { first: 1, last: lines };
        let files = &self.files;
        for held in self.sets.held_mut().filter(|held| is_of_file(held)) {
            let now = match held.extent {
                Extent::Version => continue,
                Extent::Whole => vec![all],
                Extent::Lines => files.lines_now(file, &held.version, &held.ranges),
            };
            (held.version, held.ranges) = (version.clone(), merge_ranges(&now));
        }
        if self.sets.release(|held| is_of_file(held) && held.ranges.is_empty()) {
            self.end_pin(file, "its lines are gone from the file");
        }
    }

    /// Another text took the place of a result: what it showed of a file need not stand, for others
    /// do not want it seen, and a pinned output is the new text.
    pub(super) fn replace_held(&mut self, before: &ResultFact, now: Option<&ResultFact>) {
        let own = now.and_then(|fact| Some((fact.object.as_ref()?, fact.lines)));
        if let Some((object, lines)) = own
            && let Some(version) = self.index.get(object).map(|entry| entry.subject.version())
        {
            self.sets.retarget(object, version, lines);
        }
        if let Some(shown) = before.shown_object()
            && self.sets.release(|held| held.object == *shown)
        {
            self.end_pin(shown, "its text was replaced in the conversation");
        }
    }

    pub(super) fn end_pin(&mut self, object: &ObjectId, why: &'static str) {
        self.ended.push(Ended { object: object.clone(), why });
    }

    /// Pins that ended since the newest call without anybody asking for it.
    pub fn ended_pins(&self) -> &[Ended] {
        &self.ended
    }

    /// The pinned objects for which the newest request had no room.
    pub fn left_out(&self) -> &[ObjectId] {
        &self.left_out
    }

    /// Whether all that is pinned of an object stands in the window.
    pub fn pin_stands(&self, object: &ObjectId) -> bool {
        let mut held = self.sets.held.iter().filter(|held| held.object == *object);
        held.all(|held| held.why != Why::Pinned || self.missing(held).is_empty())
    }

    /// What of held lines does not stand in the window.
    pub fn missing(&self, held: &HeldLines) -> Vec<LineRange> {
        if self.are_in_a_message(held) {
            return Vec::new();
        }
        let standing = self.lines_standing(&held.object, &held.version);
        let missing = held.ranges.iter().flat_map(|range| range.without(&standing));
        let mut missing: Vec<LineRange> = missing.collect();
        // Hosts do not show the empty line after the last line end of a file.
        let last = held.ranges.last().map_or(0, |range| range.last);
        let all = held.extent == Extent::Whole && last > 1;
        missing.retain(|range| !(all && *range == LineRange { first: last, last }));
        missing
    }

    /// Whether a person's message of the window, or one of the host's own, has these instructions in
    /// its text.
    fn are_in_a_message(&self, held: &HeldLines) -> bool {
        let Why::Instructions { since } = held.why else { return false };
        let kind = self.chat.get(since).map(|message| &message.kind);
        matches!(kind, Some(MessageKind::User | MessageKind::Other))
            && self.chat.index_of(since).is_some()
            && self.result(since).is_none()
    }

    /// Lines of an object's version that stand in the window, in any message or note.
    fn lines_standing(&self, object: &ObjectId, version: &Hash) -> Vec<LineRange> {
        let subject = self.subject(object);
        let is_latest = subject.is_some_and(|subject| subject.version() == version);
        let of = |shown: &Hash, ranges: &[LineRange]| {
            if is_latest || shown == version {
                return self.files.lines_known(object, shown, ranges, version);
            }
            Vec::new()
        };
        let showings = self.showings(object);
        let mut lines: Vec<LineRange> =
            showings.flat_map(|showing| of(&showing.version, &showing.ranges)).collect();
        let noted = self.noted_texts().filter(|(_, text)| text.object == *object);
        lines.extend(noted.flat_map(|(_, text)| of(&text.version, &text.ranges)));
        match subject {
            Some(Subject::Toolcall { version: known, .. }) => {
                for at in self.places_of(object) {
                    lines.extend(self.own_lines(at, version, known));
                }
            }
            Some(subject @ Subject::Segment { is_left: false, .. })
                if is_latest && !self.is_segment_left(subject) =>
            {
                lines.push(ALL);
            }
            _ => {}
        }
        lines
    }

    /// Lines of a version of a call's output that stand at its result. `known`: the version with
    /// the result's own text.
    pub(super) fn own_lines(&self, at: u64, version: &Hash, known: &Hash) -> Vec<LineRange> {
        let Some(fact) = self.result(at) else { return Vec::new() };
        let treatment = self.treatment(at);
        if let Some(cut) = fact.cut.as_ref().filter(|cut| cut.text.as_ref() == Some(version)) {
            return if *treatment == Treatment::Given { cut.ranges() } else { Vec::new() };
        }
        match treatment {
            _ if known != version => Vec::new(),
            Treatment::Given => vec![LineRange { first: 1, last: fact.lines }],
            Treatment::Excerpt { pieces } => {
                let is_left =
                    |piece: &&Piece| matches!(piece, Piece::Between { .. } | Piece::Ends { .. });
                pieces.iter().filter(|piece| !is_left(piece)).map(Piece::lines).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Positions in the window of the results that show a call's own text.
    fn places_of<'a>(&'a self, toolcall: &'a ObjectId) -> impl Iterator<Item = u64> + 'a {
        let shown = self.chat.window.iter().copied().filter(|at| !self.is_hidden(*at));
        shown.filter(move |at| self.result(*at).is_some_and(|fact| fact.has_own_text_of(toolcall)))
    }

    /// Positions in the window of the messages that hold text of held lines, and of those whose
    /// notes do.
    pub fn places_held(&self, held: &HeldLines) -> (Vec<u64>, Vec<u64>) {
        let object = &held.object;
        let mut messages: Vec<u64> = self.showings(object).map(|showing| showing.at).collect();
        if matches!(self.subject(object), Some(Subject::Toolcall { .. })) {
            let stands = |at: &u64| *self.treatment(*at) != Treatment::Reference;
            messages.extend(self.places_of(object).filter(stands));
        }
        let noted = self.noted_texts().filter(|(_, text)| text.object == *object);
        (messages, noted.map(|(at, _)| at).collect())
    }

    /// The contents that notes show in the window, with the position of their message.
    pub fn noted_texts(&self) -> impl Iterator<Item = (u64, &NotedText)> {
        let notes = self.notes.by_place.iter();
        let notes = notes.flat_map(|(at, notes)| notes.iter().map(move |note| (*at, note)));
        let texts = notes.filter_map(|(at, note)| Some((at, note.shows.as_ref()?)));
        texts.filter(|(at, _)| self.is_in_front(*at))
    }

    /// Where lines of an object's version stand, in messages and in notes that outlive epochs: the
    /// position of the message, and the lines.
    pub fn standing_places<'a>(
        &'a self,
        object: &'a ObjectId,
        version: &'a Hash,
    ) -> impl Iterator<Item = (u64, LineRange)> + 'a {
        let showings = self.showings(object).filter(move |showing| showing.version == *version);
        let shown =
            showings.flat_map(|showing| showing.ranges.iter().map(|range| (showing.at, *range)));
        shown.chain(self.places_in_notes(object, version))
    }

    /// As [`Self::standing_places`], those in notes alone.
    pub fn places_in_notes<'a>(
        &'a self,
        object: &'a ObjectId,
        version: &'a Hash,
    ) -> impl Iterator<Item = (u64, LineRange)> + 'a {
        let noted = self.noted_texts().filter(move |(_, text)| {
            text.object == *object && text.version == *version && self.is_held(text)
        });
        noted.flat_map(|(at, text)| text.ranges.iter().map(move |range| (at, *range)))
    }

    /// Whether a note stays when an epoch starts: its content must stand, and is as it was noted.
    pub(super) fn must_stay(&self, note: &Note) -> bool {
        note.shows.as_ref().is_some_and(|shown| self.is_held(shown))
    }

    fn is_held(&self, shown: &NotedText) -> bool {
        self.sets.held.iter().any(|held| {
            let has =
                |range: &LineRange| shown.ranges.iter().any(|of| of.intersect(*range).is_some());
            held.object == shown.object
                && held.version == shown.version
                && held.ranges.iter().any(has)
        })
    }
}
