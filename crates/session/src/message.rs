//! What the session knows about a message: its identity, its kind, and what a tool result shows.
//! Plain data.

use serde::{Deserialize, Serialize};

use super::is_default;
use super::line_ranges::{LineRange, counted, merge_ranges};
use base::object::{Hash, ObjectId};

/// Digits of a [`RequestKey`].
const REQUEST_DIGITS: usize = 16;

/// Identity of a message, apart from its position. The same key at the same position is the same
/// message, whatever its text: another extension may change or redact it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MessageKey {
    /// The host's role name.
    pub role: String,
    /// The host's time stamp in ms, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// IDs of the tool calls that the message makes, or of the one that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

impl MessageKey {
    /// Whether another extension of the host may have put the message into its list.
    pub fn may_pass(&self) -> bool {
        matches!(self.role.as_str(), "user" | "custom" | "system")
    }
}

/// The kind of a message, as far as the session cares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "every second message is a result: boxes would cost more"
)]
pub enum MessageKind {
    /// Typed by a person or sent by rpc. Starts a turn, unless it steers the running one.
    User,
    /// An answer of the model. Starts a step.
    Assistant,
    /// The result of a tool call.
    Result(ResultFact),
    /// Anything else. Passes through untouched.
    Other,
}

/// What the session knows about a tool result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ResultFact {
    /// Object of the call; `None` for our own tools, whose calls make none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectId>,
    /// Tool name.
    pub tool: String,
    /// Identifies tool and arguments: equal for identical requests.
    pub request: RequestKey,
    /// Whether the call succeeded. For an `activate` of an output: whether the call that made the
    /// output did.
    pub ok: bool,
    /// Exit code, if the tool reports one. For an `activate` of an output: that of the call that
    /// made the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// Whether the text reports failures though the exit code is 0, which is that of another command
    /// of the line: `cargo test | tail`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_failure: bool,
    /// Number of lines of its text, split on `\n`; the last line may be empty.
    pub lines: u64,
    /// Whether its last line is the empty one after the last line end, which nobody counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_line: bool,
    /// The last line that says something, cut to 80 characters.
    pub last: String,
    /// Which part of the whole this is, if the host cut the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Whether a reference line can replace it: the store holds its text and the images that leave
    /// with it.
    #[serde(rename = "plain")]
    pub is_output: bool,
    /// Tokens of the blocks that stay when a line replaces the text; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_tokens: Option<u64>,
    /// Number of images that leave with the text. `activate` brings them back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub images: u64,
    /// Tokens of the call's arguments that a fold line would omit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub argument_tokens: u64,
    /// The kind of its text.
    #[serde(default, skip_serializing_if = "is_default")]
    pub class: OutputClass,
    /// Whether another extension's tool has a name of ours, see [`OWN_TOOLS`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Where the output stands in a message that is no result of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// What it shows.
    pub shows: Shows,
}

/// The part of a message's text that is an output: the rest of the message stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Within {
    /// Which of the message's texts it is in, from 0.
    pub text: usize,
    /// Where it begins there, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// What the host shows of an output that it cut. Lines are numbered as in the whole output. Earlier
/// releases stored this only if the store holds the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// SHA-256 of the whole text, by which the store finds it; `None` if it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Hash>,
    /// Number of its lines.
    pub lines: u64,
    /// See [`ResultFact::ends_line`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_line: bool,
    /// Number of lines of the whole before the first one shown.
    pub before: u64,
    /// Characters of that one that are not shown, before those that are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub characters: u64,
    /// The lines of the whole that are shown; `None` if the first one is shown in part or the
    /// middle is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<LineRange>,
    /// Where the middle is missing, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
}

impl Cut {
    /// The lines of the whole that are shown, except those from which the middle is missing: one
    /// line may be all of the output.
    pub fn ranges(&self) -> Vec<LineRange> {
        let Some(Gap { above, line, resumes }) = self.gap else {
            return self.shown.into_iter().collect();
        };
        let head = LineRange { first: 1, last: line.saturating_sub(above.saturating_add(1)) };
        let tail = LineRange { first: resumes.saturating_add(1), last: self.lines };
        merge_ranges(&[head, tail])
    }

    /// The numbers of the shown lines.
    pub fn numbering(&self) -> Numbering {
        Numbering { before: self.before, characters: self.characters, gap: self.gap }
    }
}

/// Where the middle of an output is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Lines of the host's own above the first line of the output.
    pub above: u64,
    /// The line in which the middle is missing, as numbered by the host.
    pub line: u64,
    /// The line of the whole that continues after the gap; its end is shown.
    pub resumes: u64,
}

/// Maps the lines that the host shows to their numbers in the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Numbering {
    /// Number of lines before the first one.
    pub before: u64,
    /// Characters of the first one before those that it has here.
    pub characters: u64,
    /// Where the middle is missing, if it is.
    pub gap: Option<Gap>,
}

impl Numbering {
    /// The numbering of lines that follow `before` others.
    pub fn after(before: u64) -> Self {
        Self { before, ..Self::default() }
    }

    /// The original lines of a range of shown lines. The host's own lines count as the first line.
    pub fn place(self, range: LineRange) -> LineRange {
        let Some(Gap { above, line, resumes }) = self.gap else {
            return range.shifted(self.before);
        };
        let start = |shown: u64| shown.saturating_sub(above).max(1);
        let end = |shown: u64| resumes + shown.saturating_sub(line);
        LineRange {
            first: if range.first <= line { start(range.first) } else { end(range.first) },
            last: if range.last < line { start(range.last) } else { end(range.last) },
        }
    }

    /// As [`Self::place`], without the lines that are missing in between.
    pub fn places(self, range: LineRange) -> Vec<LineRange> {
        let whole = self.place(range);
        let Some(Gap { above, line, resumes }) =
            self.gap.filter(|gap| range.first <= gap.line && gap.line <= range.last)
        else {
            return vec![whole];
        };
        let broken = line.saturating_sub(above).max(1);
        let head = LineRange { first: whole.first, last: broken };
        let tail = LineRange { first: resumes, last: whole.last };
        merge_ranges(&[head, tail])
    }

    /// Characters in the original line before those of a shown line.
    pub fn characters_before(self, shown: u64) -> u64 {
        if shown == 1 { self.characters } else { 0 }
    }

    /// The original line of a shown line.
    pub fn line(self, shown: u64) -> u64 {
        self.place(LineRange { first: shown, last: shown }).first
    }
}

/// Identifies what a tool was asked: the first 16 digits of a SHA-256. Hashes do not compress, so
/// they cost disk space, and 64 bits are enough to tell the calls of one session apart. Earlier
/// releases stored all 64 digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct RequestKey(String);

impl RequestKey {
    /// The key of a request, given as canonical JSON.
    pub fn of(request: impl AsRef<[u8]>) -> Self {
        Hash::of(request).as_str().to_owned().into()
    }
}

impl From<String> for RequestKey {
    fn from(digits: String) -> Self {
        Self(digits.chars().take(REQUEST_DIGITS).collect())
    }
}

impl ResultFact {
    /// Whether one of our own tools made it, which the plain host does not have.
    pub fn is_own(&self) -> bool {
        !self.foreign && is_own_tool(&self.tool)
    }

    /// The object whose lines it shows, if not its own call's.
    pub fn shown_object(&self) -> Option<&ObjectId> {
        match &self.shows {
            Shows::File { object, .. } | Shows::Activated { object, .. } => Some(object),
            Shows::Own | Shows::Change { .. } => None,
        }
    }

    /// Number of lines of its text, or of the whole if the host cut it, as people count them.
    pub fn counted_lines(&self) -> u64 {
        let (lines, ends_line) = match &self.cut {
            Some(cut) => (cut.lines, cut.ends_line),
            None => (self.lines, self.ends_line),
        };
        lines - u64::from(ends_line && lines > 1)
    }

    /// Number of lines that are stored, if the host cut the output and kept no whole.
    pub fn kept_lines(&self) -> Option<u64> {
        let cut = self.cut.as_ref().filter(|cut| cut.text.is_none())?;
        Some(cut.ranges().iter().map(|range| range.len()).sum())
    }

    /// The lines of its text, or of the whole if the host cut it, that it shows in any part.
    pub fn shown_lines(&self) -> Vec<LineRange> {
        let Some(cut) = &self.cut else { return vec![LineRange { first: 1, last: self.lines }] };
        let mut shown = cut.ranges();
        if shown.is_empty() {
            let (text, whole) = ((1, self.lines).into(), (1, cut.lines).into());
            let placed = cut.numbering().places(text).into_iter();
            shown.extend(placed.filter_map(|range| range.intersect(whole)));
        }
        shown
    }

    /// Whether it shows text that is the output of the call with this object.
    pub(super) fn has_own_text_of(&self, toolcall: &ObjectId) -> bool {
        self.shows == Shows::Own && self.object.as_ref() == Some(toolcall)
    }

    /// Lines that it shows, as people count them.
    pub fn counted(&self, ranges: &[LineRange]) -> Vec<LineRange> {
        counted(ranges, self.ends_line)
    }

    /// The object whose text it shows: [`Self::shown_object`], else its own call's.
    pub fn text_of(&self) -> Option<&ObjectId> {
        self.shown_object().or(self.object.as_ref())
    }
}

/// The tools that a host has only because of us. Their calls make no object, and the plain host
/// would not make them.
pub const OWN_TOOLS: [&str; 4] = ["activate", "deactivate", "pin", "unpin"];

/// What precedes their names in a session in which another extension has a tool of such a name.
pub const OWN_PREFIX: &str = "palimpsest_";

/// Whether a tool has the name of one of ours, with our prefix or without.
pub fn is_own_tool(tool: &str) -> bool {
    OWN_TOOLS.contains(&tool.strip_prefix(OWN_PREFIX).unwrap_or(tool))
}

/// The kind of a tool result's text. It affects how likely the text is needed again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputClass {
    /// Lines of a file, whichever tool showed them.
    Read,
    /// Names of files.
    Listing,
    /// Anything else.
    #[default]
    Other,
}

/// What a tool result shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shows", rename_all = "snake_case")]
pub enum Shows {
    /// Its own text.
    #[default]
    Own,
    /// Lines of a file's version, exactly.
    File {
        /// The file.
        object: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
        /// The lines.
        range: LineRange,
    },
    /// The report of a change that the model made to a file.
    Change {
        /// The file.
        object: ObjectId,
    },
    /// Lines of an activated object.
    Activated {
        /// The object.
        object: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
        /// The lines.
        ranges: Vec<LineRange>,
        /// Those of them that are shown in part.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut: Vec<LineRange>,
        /// The other objects that were activated by the same call, and shown behind it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<Activation>,
    },
}

/// Lines of an object that a call activated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activation {
    /// The object.
    pub object: ObjectId,
    /// `content_hash` of the version.
    pub version: Hash,
    /// The lines.
    pub ranges: Vec<LineRange>,
    /// Those of them that are shown in part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<LineRange>,
    /// SHA-256 of the call's answer, if that is more than a heading and whole lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Hash>,
}

impl Activation {
    /// What the result of its call shows. `also`: what was activated behind it.
    pub fn shows(&self, also: &[Self]) -> Shows {
        let Self { object, version, ranges, cut, .. } = self.clone();
        Shows::Activated { object, version, ranges, cut, also: also.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_key_stored_with_all_digits_equals_a_new_one() {
        let now = RequestKey::of("ls");
        let json = serde_json::to_string(&now).unwrap();
        assert_eq!(json.len(), REQUEST_DIGITS + 2);
        for stored in [json, serde_json::to_string(&Hash::of("ls")).unwrap()] {
            assert_eq!(serde_json::from_str::<RequestKey>(&stored).unwrap(), now);
        }
        assert_ne!(RequestKey::of("ls -l"), now);
    }
}
