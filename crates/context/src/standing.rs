//! Which lines stand at which message, and how to repair references to them when an epoch changes
//! that message. Pure. Must not choose what collapses.

use std::collections::{BTreeMap, BTreeSet};

use super::first_sight::{as_parts, split_activated, split_read};
use super::lines_index::MIN_BLOCK_LINES;
use base::object::{Hash, ObjectId};
use session::{
    LineRange, Piece, ReadPart, Session, Showing, Shows, Subject, Treatment, join_pieces,
    uncut_lines,
};

/// The lines that stand at a message under a treatment: lines of the file or object that it shows,
/// else of its own text. `None` if no other message may refer to any line there; lines shown cut do
/// not count.
pub fn standing(session: &Session, at: u64, treatment: &Treatment) -> Option<Showing> {
    let message = session.chat().get(at)?;
    let fact = session.result(at)?;
    // A text that changed once may change again at any time, so nothing may refer to it.
    if message.withheld || message.changes > 0 {
        return None;
    }
    if let Some(showing) = session.showing_as(at, treatment) {
        return Some(showing);
    }
    let object = fact.object.as_ref().filter(|_| fact.is_output && fact.shows == Shows::Own)?;
    let Subject::Toolcall { version, .. } = session.subject(object)? else {
        return None;
    };
    let ranges: Vec<LineRange> = match treatment {
        Treatment::Given => vec![LineRange { first: 1, last: fact.lines }],
        Treatment::Excerpt { pieces } => uncut_lines(pieces).collect(),
        _ => return None,
    };
    let (object, version) = (object.clone(), version.clone());
    (!ranges.is_empty()).then(|| Showing { at, object, version, now: ranges.clone(), ranges })
}

/// Repairs the messages that refer to lines in a message changed by an epoch. If such a message is
/// in `stays`, it shows the lines itself or says where they stand now; otherwise it collapses too.
///
/// `changes`: the epoch's treatments, by position in the chat. Repairs are added to it.
pub fn repair_references(
    session: &Session,
    stays: &BTreeSet<u64>,
    changes: &mut BTreeMap<u64, Treatment>,
) {
    let anew: BTreeSet<ObjectId> = changes
        .values()
        .filter_map(|change| match change {
            Treatment::Current { object, .. } => Some(object.clone()),
            _ => None,
        })
        .collect();
    let mut above = Above::default();
    for (at, _) in session.shown_window() {
        let Some(fact) = session.result(at) else { continue };
        let treatment = changes.get(&at).unwrap_or_else(|| session.treatment(at));
        let change = match (treatment, &fact.shows) {
            (
                Treatment::Reread { parts },
                Shows::File { object, version, .. } | Shows::Activated { object, version, .. },
            ) => {
                let places = above.places_of(session, at, object, version);
                let stand = parts.iter().all(|part| still_stands(part, &places));
                (!stand).then(|| match &fact.shows {
                    _ if !stays.contains(&at) || anew.contains(object) => Treatment::Reference,
                    Shows::File { range, .. } => as_parts(split_read(*range, &places)),
                    Shows::Activated { ranges, .. } => as_parts(split_activated(ranges, &places)),
                    Shows::Own | Shows::Change { .. } => Treatment::Given,
                })
            }
            (Treatment::Excerpt { pieces }, _) if !above.hold_all(session, pieces) => {
                Some(if stays.contains(&at) {
                    above.repaired(session, at, pieces)
                } else {
                    Treatment::Reference
                })
            }
            _ => None,
        };
        changes.extend(change.map(|change| (at, change)));
        let treatment = changes.get(&at).unwrap_or_else(|| session.treatment(at));
        above.all.extend(standing(session, at, treatment).map(|standing| (at, standing)));
    }
}

/// Whether a part of a read is shown here, or still stands in the message it refers to.
fn still_stands(part: &ReadPart, places: &[(u64, LineRange)]) -> bool {
    let Some(place) = part.stands_at else { return true };
    let there = places.iter().filter(|(at, _)| *at == place).map(|(_, range)| *range);
    part.range.without(&there.collect::<Vec<_>>()).is_empty()
}

/// What stands before the current message once the epoch has begun.
#[derive(Default)]
struct Above {
    /// All lines, by position of the message.
    all: BTreeMap<u64, Showing>,
    /// Lines that an excerpt now shows itself.
    moved: Vec<Moved>,
}

/// Lines that an excerpt shows itself because they are gone from where they stood.
struct Moved {
    from: u64,
    lines: LineRange,
    to: u64,
    first: u64,
}

impl Above {
    /// Whether all lines that an excerpt refers to still stand.
    fn hold_all(&self, session: &Session, pieces: &[Piece]) -> bool {
        let mut places = pieces.iter().filter_map(Piece::stands_at);
        places.all(|(place, there)| self.holds(session, place, there))
    }

    /// Where lines of an object's version stand before a message: the position of each message, and
    /// the lines.
    fn places_of(
        &self,
        session: &Session,
        at: u64,
        object: &ObjectId,
        version: &Hash,
    ) -> Vec<(u64, LineRange)> {
        let same = self.all.values().filter(|now| (&now.object, &now.version) == (object, version));
        let shown = same.flat_map(|now| now.ranges.iter().map(|range| (now.at, *range)));
        let noted = session.places_in_notes(object, version);
        shown.chain(noted.filter(|(place, _)| *place < at)).collect()
    }

    /// Repairs an excerpt that refers to missing lines.
    fn repaired(&mut self, session: &Session, at: u64, pieces: &[Piece]) -> Treatment {
        let mut repaired = Vec::with_capacity(pieces.len());
        let mut moved = Vec::new();
        for piece in pieces {
            match piece.stands_at() {
                Some((place, there)) if !self.holds(session, place, there) => {
                    let parts = self.elsewhere(session, at, piece.lines(), place, there);
                    let shown = parts.iter().filter(|part| matches!(part, Piece::Shown { .. }));
                    moved.extend(shown.map(|part| {
                        let lines = part.lines();
                        let first = there.first + lines.first - piece.lines().first;
                        let last = first + lines.len() - 1;
                        let (from, lines_there) = (place, LineRange { first, last });
                        Moved { from, lines: lines_there, to: at, first: lines.first }
                    }));
                    repaired.extend(parts);
                }
                _ => repaired.push(*piece),
            }
        }
        self.moved.extend(moved);
        let repaired = join_pieces(repaired);
        let is_whole = matches!(repaired.as_slice(), [Piece::Shown { .. }]);
        if is_whole { Treatment::Given } else { Treatment::Excerpt { pieces: repaired } }
    }

    /// Whether lines that a message showed before the epoch still stand there.
    fn holds(&self, session: &Session, place: u64, there: LineRange) -> bool {
        let before = standing(session, place, session.treatment(place));
        before.zip(self.all.get(&place)).is_some_and(|(before, now)| {
            before.object == now.object
                && before.version == now.version
                && there.without(&now.ranges).is_empty()
        })
    }

    /// Pieces for the lines that stood as `there` at message `place`: where they stand now, else
    /// the lines themselves.
    fn elsewhere(
        &self,
        session: &Session,
        at: u64,
        lines: LineRange,
        place: u64,
        there: LineRange,
    ) -> Vec<Piece> {
        let shown = |lines| Piece::Shown { shown: lines };
        let here = |range: LineRange| {
            let first = lines.first + range.first - there.first;
            LineRange { first, last: first + range.len() - 1 }
        };
        let mut missing = vec![there];
        let mut pieces = Vec::new();
        for (to, known, first) in self.places(session, at, place) {
            for part in missing.clone().into_iter().filter_map(|range| range.intersect(known)) {
                if part.len() >= MIN_BLOCK_LINES as u64 {
                    let first = first + part.first - known.first;
                    pieces.push(Piece::Standing { standing: here(part), at: to, first });
                    missing = missing.iter().flat_map(|range| range.without(&[part])).collect();
                }
            }
        }
        pieces.extend(missing.into_iter().map(|range| shown(here(range))));
        pieces.sort_by_key(Piece::lines);
        pieces
    }

    /// Where lines that a message showed before the epoch stand now, in messages before `at`:
    /// position of the message, the lines, and the number of the first of them there.
    fn places(&self, session: &Session, at: u64, place: u64) -> Vec<(u64, LineRange, u64)> {
        let moved = self.moved.iter().filter(|moved| moved.from == place);
        let mut places: Vec<(u64, LineRange, u64)> =
            moved.map(|moved| (moved.to, moved.lines, moved.first)).collect();
        if let Some(before) = standing(session, place, session.treatment(place)) {
            let same = self
                .all
                .values()
                .filter(|now| now.object == before.object && now.version == before.version);
            places.extend(
                same.flat_map(|now| now.ranges.iter().map(|range| (now.at, *range, range.first))),
            );
        }
        places.retain(|(to, ..)| *to < at);
        places
    }
}
