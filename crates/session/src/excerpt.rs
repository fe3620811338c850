//! The pieces of a partly shown output, in the order of its lines, and how they are stored. Plain
//! data.

use serde::{Deserialize, Serialize};

use super::line_ranges::LineRange;

/// A run of lines of a partly shown output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// Lines that are shown.
    Shown {
        /// The lines.
        shown: LineRange,
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
    /// Lines that stand verbatim in another message of the window. Their replacement quotes the
    /// first of them that says something.
    Standing {
        /// The lines.
        standing: LineRange,
        /// Position of that message.
        at: u64,
        /// Number of the first of them there, as a line of the file or output that the message
        /// shows.
        first: u64,
    },
}

impl Piece {
    /// The lines of the output.
    pub fn lines(&self) -> LineRange {
        match self {
            Self::Shown { shown: lines }
            | Self::Ends { ends: lines, .. }
            | Self::Between { between: lines, .. }
            | Self::Standing { standing: lines, .. } => *lines,
        }
    }

    fn lines_mut(&mut self) -> &mut LineRange {
        match self {
            Self::Shown { shown: lines }
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
    let uncut = pieces.iter().filter(|piece| matches!(piece, Piece::Shown { .. }));
    uncut.map(Piece::lines)
}

/// Joins adjacent pieces of the same form, and drops empty ones.
pub fn join_pieces(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces.into_iter().filter(|piece| !piece.lines().is_empty()) {
        match (joined.last_mut(), &piece) {
            (Some(Piece::Shown { shown }), Piece::Shown { shown: next })
                if shown.last.saturating_add(1) == next.first =>
            {
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
                Some(Piece::Standing { standing, at, first }),
                Piece::Standing { standing: next, at: next_at, first: next_first },
            ) if standing.last.saturating_add(1) == next.first
                && at == next_at
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

#[cfg(test)]
mod tests {
    use super::super::treatment::Treatment;
    use super::*;

    fn range(first: u64, last: u64) -> LineRange {
        LineRange { first, last }
    }

    #[test]
    fn pieces_are_stored_in_few_bytes_and_read_back() {
        let pieces = vec![
            Piece::Shown { shown: range(1, 9) },
            Piece::Between { between: range(10, 80), of: None },
            Piece::Standing { standing: range(81, 111), at: 12, first: 40 },
            Piece::Shown { shown: range(112, 120) },
            Piece::Ends { ends: range(121, 121), chars: 400 },
        ];
        let treatment = Treatment::Excerpt { pieces };
        let json = serde_json::to_string(&treatment).unwrap();
        insta::assert_snapshot!(json, @r#"{"as":"excerpt","pieces":[{"shown":[1,9]},{"between":[10,80]},{"standing":[81,111],"at":12,"first":40},{"shown":[112,120]},{"ends":[121,121],"chars":400}]}"#);
        assert_eq!(serde_json::from_str::<Treatment>(&json).unwrap(), treatment);
    }
}
