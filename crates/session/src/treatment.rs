//! How messages are shown, as events store it. Plain data.

use serde::{Deserialize, Serialize};
use strum::EnumDiscriminants;

use super::excerpt::{Piece, uncut_lines};
use super::line_ranges::LineRange;
use base::object::{Hash, ObjectId};

/// How a message is shown. An object that several messages show counts as shown in the way that is
/// listed first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, EnumDiscriminants)]
#[serde(tag = "as", rename_all = "snake_case")]
#[strum_discriminants(name(Way), derive(PartialOrd, Ord, Serialize))]
#[strum_discriminants(serde(rename_all = "snake_case"))]
pub enum Treatment {
    /// As the host gave it.
    Given,
    /// The current text of a file. It follows the host's own text if that is not text of the file
    /// (`edit`, `write`).
    Current {
        /// The file.
        object: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
        /// The lines.
        ranges: Vec<LineRange>,
        /// Whether the host's text stays in front of the lines.
        after_host: bool,
    },
    /// In part: some lines are shown, some only counted, some stand in another message.
    Excerpt {
        /// All lines of the output, in order.
        pieces: Vec<Piece>,
    },
    /// A read of lines that partly stand in the window already.
    Reread {
        /// The requested lines, in order.
        parts: Vec<ReadPart>,
    },
    /// A reference line in place of the content.
    Reference,
}

impl Treatment {
    /// How many of the message's lines are shown, of how many; `None` where it shows others.
    pub fn lines_shown(&self) -> Option<(u64, u64)> {
        match self {
            Self::Given => Some((1, 1)),
            Self::Reference => Some((0, 1)),
            Self::Excerpt { pieces } => {
                Some((lines(uncut_lines(pieces)), lines(pieces.iter().map(Piece::lines))))
            }
            Self::Reread { parts } => {
                let here = parts.iter().filter(|part| part.stands_at.is_none());
                let here = here.map(|part| part.range);
                Some((lines(here), lines(parts.iter().map(|part| part.range))))
            }
            Self::Current { .. } => None,
        }
    }
}

fn lines(ranges: impl Iterator<Item = LineRange>) -> u64 {
    ranges.map(LineRange::len).sum()
}

/// Adjacent whole steps replaced by one line at the user message before them (`log`). A fold that
/// covers older folds replaces them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    /// Position of the first message: the answer that starts the first step.
    pub first: u64,
    /// Position of the last message: a tool result.
    pub last: u64,
    /// The line.
    pub line: String,
}

/// One part of a read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPart {
    /// The lines.
    pub range: LineRange,
    /// Position of the message in which the lines stand; `None` if they are shown here.
    pub stands_at: Option<u64>,
}
