//! What a message is, for the session: its identity, its kind, and what a tool result shows. Plain data.

use serde::{Deserialize, Serialize};

use super::lines::LineRange;
use crate::object::{Hash, ObjectId};

/// Digits of a [`RequestKey`].
const REQUEST_DIGITS: usize = 16;

/// Identity of a message apart from its place: the same key at the same place is the same message, whatever its text
/// (DESIGN.md section 2: role, timestamp, call IDs, position).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MessageKey {
    /// The host's role name.
    pub role: String,
    /// The host's time stamp in ms, where it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// IDs of the calls that the message makes, or of the one that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

/// What kind of message it is, as far as the session cares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "every second message is a result: boxes would cost more"
)]
pub enum MessageKind {
    /// Typed by a person (or sent by rpc); starts a turn, unless it steers one that still runs.
    User,
    /// Answer of the model; starts a step.
    Assistant,
    /// Result of a tool call.
    Result(ResultFact),
    /// Anything else: passes through untouched.
    Other,
}

/// What a tool result is, for the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultFact {
    /// Object of the call; `None` for context tools, which make none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectId>,
    /// Tool name.
    pub tool: String,
    /// Tool and arguments: equal for identical requests.
    pub request: RequestKey,
    /// Whether the call came out well.
    pub ok: bool,
    /// Exit code, for tools that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// Lines of its text (split on `\n`, as everywhere: a last line may be empty).
    pub lines: u64,
    /// Last line that is not blank, cut to 80 characters.
    pub last: String,
    /// Whether it is one text block (and not images or several blocks) that the store holds.
    pub plain: bool,
    /// Tokens of the call's arguments that a line for it would not show.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub argument_tokens: u64,
    /// What kind of text it is.
    #[serde(default, skip_serializing_if = "OutputClass::is_other")]
    pub class: OutputClass,
    /// What it shows.
    pub shows: Shows,
}

/// What a tool was asked: the first 16 digits of a SHA-256. A hash takes its full size on disk, for nothing compresses it, and
/// among the calls of one session 64 bits do not meet by chance. Earlier releases stored all 64 digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct RequestKey(String);

impl RequestKey {
    /// The key of a request's canonical JSON.
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
    /// Whether it is the result of one of our own tools, which the plain host has not.
    pub fn is_own(&self) -> bool {
        is_own_tool(&self.tool)
    }

    /// A fact for tests: a plain result of `bash` with an object named `object`.
    #[cfg(test)]
    pub(crate) fn for_tests(object: &str) -> Self {
        Self {
            object: Some(ObjectId::new(object)),
            tool: "bash".into(),
            request: RequestKey::of(object),
            ok: true,
            exit: Some(0),
            lines: 1,
            last: String::new(),
            plain: true,
            argument_tokens: 0,
            class: OutputClass::Other,
            shows: Shows::Own,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether a tool is one of ours: its calls make no object, and the plain host has none.
pub fn is_own_tool(tool: &str) -> bool {
    matches!(tool, "activate" | "deactivate" | "pin" | "unpin")
}

/// What kind of text a tool result is, as far as its chance to be needed again goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputClass {
    /// Lines of a file, by whatever tool.
    Read,
    /// Names of files.
    Listing,
    /// Anything else.
    #[default]
    Other,
}

impl OutputClass {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    fn is_other(&self) -> bool {
        *self == Self::Other
    }
}

/// What a tool result shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shows", rename_all = "snake_case")]
pub enum Shows {
    /// Its own text.
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
    /// That a file was changed by the model.
    Change {
        /// The file.
        object: ObjectId,
    },
    /// Lines of an object that was activated.
    Activated {
        /// The object.
        object: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
        /// The lines.
        ranges: Vec<LineRange>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_was_stored_whole_equals_the_same_one_made_now() {
        let now = RequestKey::of("ls");
        let json = serde_json::to_string(&now).unwrap();
        assert_eq!(json.len(), REQUEST_DIGITS + 2);
        for stored in [json, serde_json::to_string(&Hash::of("ls")).unwrap()] {
            assert_eq!(serde_json::from_str::<RequestKey>(&stored).unwrap(), now);
        }
        assert_ne!(RequestKey::of("ls -l"), now);
    }
}
