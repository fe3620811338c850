//! The pieces of a partly shown output, in the order of its lines, and how they are stored. Plain
//! data.

use serde::{Deserialize, Serialize};

use super::lines::LineRange;

/// Characters to which previews of earlier releases cut a line.
const EARLIER_CHARS: u64 = 400;
/// Line numbers above this count from the end. Earlier releases stored previews without the number
/// of lines.
const FROM_END: u64 = u64::MAX / 2;

/// A run of lines of a partly shown output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// Lines that are shown.
    Shown {
        /// The lines.
        shown: LineRange,
        /// In previews of earlier releases: longer lines are cut to this many characters, half at
        /// each end. `None`: lines are not cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chars: Option<u64>,
    },
    /// Long lines of which the ends are shown.
    Ends {
        /// The lines.
        ends: LineRange,
        /// Characters shown of each, half at each end.
        chars: u64,
    },
    /// Lines that are left out and counted.
    Between {
        /// The lines.
        between: LineRange,
        /// The number of all lines of the output, where it is told here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<u64>,
    },
    /// Lines that stand verbatim in another message of the window.
    Standing {
        /// The lines.
        standing: LineRange,
        /// Position of that message.
        at: u64,
        /// Number of the first of them there, as a line of the file or output that the message
        /// shows.
        first: u64,
        /// Whether their replacement quotes the first of them that says something. Earlier releases
        /// only gave numbers.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quoted: bool,
        /// Whether the quote has no escapes and control characters. Earlier releases spelt them out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        plain: bool,
    },
}

impl Piece {
    /// The lines of the output.
    pub fn lines(&self) -> LineRange {
        match self {
            Self::Shown { shown: lines, .. }
            | Self::Ends { ends: lines, .. }
            | Self::Between { between: lines, .. }
            | Self::Standing { standing: lines, .. } => *lines,
        }
    }

    fn lines_mut(&mut self) -> &mut LineRange {
        match self {
            Self::Shown { shown: lines, .. }
            | Self::Ends { ends: lines, .. }
            | Self::Between { between: lines, .. }
            | Self::Standing { standing: lines, .. } => lines,
        }
    }

    /// Where the lines stand: the position of the message, and the lines of the object that it
    /// shows.
    pub fn stands_at(&self) -> Option<(u64, LineRange)> {
        match self {
            Self::Standing { standing, at, first, .. } => {
                let last = (first + standing.len()).saturating_sub(1);
                Some((*at, LineRange { first: *first, last }))
            }
            Self::Shown { .. } | Self::Ends { .. } | Self::Between { .. } => None,
        }
    }
}

/// The lines shown uncut. Other messages may refer to them.
pub fn uncut_lines(pieces: &[Piece]) -> impl Iterator<Item = LineRange> {
    let uncut = pieces.iter().filter(|piece| matches!(piece, Piece::Shown { chars: None, .. }));
    uncut.map(Piece::lines)
}

/// Joins adjacent pieces of the same form, and drops empty ones.
pub fn join_pieces(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces.into_iter().filter(|piece| !piece.lines().is_empty()) {
        match (joined.last_mut(), &piece) {
            (
                Some(Piece::Shown { shown, chars }),
                Piece::Shown { shown: next, chars: next_chars },
            ) if shown.last.saturating_add(1) == next.first && chars == next_chars => {
                shown.last = next.last;
            }
            (Some(Piece::Ends { ends, chars }), Piece::Ends { ends: next, chars: next_chars })
                if ends.last.saturating_add(1) == next.first && chars == next_chars =>
            {
                ends.last = next.last;
            }
            (Some(Piece::Between { between, .. }), Piece::Between { between: next, of: None })
                if between.last.saturating_add(1) == next.first =>
            {
                between.last = next.last;
            }
            (
                Some(Piece::Standing { standing, at, first, quoted, plain }),
                Piece::Standing {
                    standing: next,
                    at: next_at,
                    first: next_first,
                    quoted: next_quoted,
                    plain: next_plain,
                },
            ) if standing.last.saturating_add(1) == next.first
                && at == next_at
                && (*quoted, *plain) == (*next_quoted, *next_plain)
                && *first + standing.len() == *next_first =>
            {
                standing.last = next.last;
            }
            _ => joined.push(piece),
        }
    }
    joined
}

/// The pieces of an output that ends with a line feed, as people count lines: behind it none begins.
pub fn counted_pieces(pieces: &[Piece]) -> Vec<Piece> {
    let mut counted = pieces.to_vec();
    if let Some(last) = counted.last_mut() {
        let lines = last.lines_mut();
        lines.last = lines.last.saturating_sub(1);
    }
    join_pieces(counted)
}

/// Replaces line numbers counted from the end, as earlier releases stored them, with real ones.
/// `total`: lines of the output.
pub(super) fn resolve_early_lines(pieces: &mut Vec<Piece>, total: u64) {
    let known = |line: u64| {
        if line < FROM_END { line } else { total.saturating_add(1).saturating_sub(u64::MAX - line) }
    };
    let is_early = |piece: &Piece| piece.lines().last >= FROM_END;
    if !pieces.iter().any(is_early) {
        return;
    }
    let mut next = 1;
    for piece in pieces.iter_mut() {
        let lines = piece.lines_mut();
        // The head and tail of a short output may overlap.
        lines.first = known(lines.first).max(next);
        lines.last = known(lines.last).min(total);
        next = next.max(lines.last.saturating_add(1));
    }
    *pieces = join_pieces(std::mem::take(pieces));
}

/// Stored form: the pieces, or the head and tail that earlier releases stored instead.
pub(super) mod stored {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{EARLIER_CHARS, LineRange, Piece};

    #[derive(Serialize)]
    struct Pieces<'a> {
        pieces: &'a [Piece],
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Pieces { pieces: Vec<Piece> },
        Preview { head: u64, tail: u64 },
    }

    pub(in super::super) fn serialize<S: Serializer>(
        pieces: &[Piece],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Pieces { pieces }.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Piece>, D::Error> {
        let chars = Some(EARLIER_CHARS);
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Pieces { pieces } => pieces,
            Stored::Preview { head, tail } => vec![
                Piece::Shown { shown: LineRange { first: 1, last: head }, chars },
                Piece::Between {
                    between: LineRange { first: head + 1, last: u64::MAX - 1 - tail },
                    of: None,
                },
                Piece::Shown {
                    shown: LineRange { first: u64::MAX - tail, last: u64::MAX - 1 },
                    chars,
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::super::message::{MessageKey, MessageKind, ResultFact};
    use super::super::state::Session;
    use super::super::treatment::Treatment;
    use super::*;
    use base::object::Hash;

    fn range(first: u64, last: u64) -> LineRange {
        LineRange { first, last }
    }

    #[test]
    fn pieces_are_stored_in_few_bytes_and_read_back() {
        let pieces = vec![
            Piece::Shown { shown: range(1, 9), chars: Some(400) },
            Piece::Between { between: range(10, 80), of: None },
            Piece::Standing {
                standing: range(81, 111),
                at: 12,
                first: 40,
                quoted: false,
                plain: false,
            },
            Piece::Standing {
                standing: range(112, 119),
                at: 7,
                first: 1,
                quoted: true,
                plain: true,
            },
            Piece::Shown { shown: range(120, 120), chars: None },
            Piece::Ends { ends: range(121, 121), chars: 400 },
        ];
        let treatment = Treatment::Excerpt { pieces };
        let json = serde_json::to_string(&treatment).unwrap();
        insta::assert_snapshot!(json, @r#"{"as":"excerpt","pieces":[{"shown":[1,9],"chars":400},{"between":[10,80]},{"standing":[81,111],"at":12,"first":40},{"standing":[112,119],"at":7,"first":1,"quoted":true,"plain":true},{"shown":[120,120]},{"ends":[121,121],"chars":400}]}"#);
        assert_eq!(serde_json::from_str::<Treatment>(&json).unwrap(), treatment);
    }

    #[test]
    fn old_previews_become_pieces_that_cover_every_line_once() {
        for (head, tail, total, expected) in [
            (2, 3, 1_400, vec![(1, 2), (3, 1_397), (1_398, 1_400)]),
            (1, 0, 1, vec![(1, 1)]),
            (0, 4, 10, vec![(1, 6), (7, 10)]),
            (5, 5, 8, vec![(1, 8)]),
            (9, 0, 8, vec![(1, 8)]),
        ] {
            let json = format!(r#"{{"as":"preview","head":{head},"tail":{tail}}}"#);
            let Treatment::Excerpt { mut pieces } = serde_json::from_str(&json).unwrap() else {
                panic!("{json} is an excerpt now")
            };
            resolve_early_lines(&mut pieces, total);
            let lines: Vec<(u64, u64)> = pieces.iter().map(|piece| piece.lines().into()).collect();
            assert_eq!(lines, expected, "{json} of {total} lines");
        }
    }

    #[test]
    fn a_session_of_an_earlier_release_shows_the_same_lines() {
        let fact = ResultFact { lines: 1_400, ..ResultFact::for_tests("t") };
        let message = Event::Message {
            key: MessageKey { role: "toolResult".into(), timestamp: None, calls: Vec::new() },
            digest: Hash::of(""),
            kind: MessageKind::Result(fact),
            tokens: 9_000,
            withheld: false,
            kept: false,
            ours: 0,
            opening: None,
        };
        let stored = r#"{"event":"treated","at":0,"treatment":{"as":"preview","head":2,"tail":3}}"#;
        let session = Session::replay(&[message, serde_json::from_str(stored).unwrap()]);
        let chars = Some(400);
        let pieces = vec![
            Piece::Shown { shown: range(1, 2), chars },
            Piece::Between { between: range(3, 1_397), of: None },
            Piece::Shown { shown: range(1_398, 1_400), chars },
        ];
        assert_eq!(*session.treatment(0), Treatment::Excerpt { pieces });
    }
}
